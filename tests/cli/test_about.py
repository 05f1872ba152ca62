"""tools, readers, doctor, and commands of others."""

import json
from pathlib import Path

import pytest

from tests.cli.command import blobs


@pytest.mark.parametrize(
    ("dialect", "key"),
    [("anthropic", "input_schema"), ("openai", "parameters"), ("mcp", "inputSchema"), ("plain", "schema")],
)
def test_tools_are_published(dialect: str, key: str) -> None:
    """The three tools in the dialect of a service, as JSON in either form."""
    done = blobs("tools", "--dialect", dialect, "--json")
    assert done.returncode == 0, done.stderr
    tools = json.loads(done.stdout)
    assert [each["name"] for each in tools] == ["blob_read", "blob_search", "blob_code"]
    assert all(each[key]["additionalProperties"] is False for each in tools)


def test_readers_are_listed_with_those_set_aside(tmp_path: Path) -> None:
    """Built-in readers, one from a folder named by a relative path, and a broken one with its cause."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "good.py").write_text(
        "from blobs.reading.base_view import BaseView\n"
        "from blobs.reading.reader import Confidence\n"
        "class View(BaseView):\n"
        "    unit, count = 'stars', 1\n"
        "    def items(self, span): return iter(['*'][span.start:span.stop])\n"
        "class StarReader:\n"
        "    name, media_types = 'star', ('text/x-star',)\n"
        "    def sniff(self, sample):\n"
        "        return Confidence(100, 'text/x-star') if sample.head == b'*' else Confidence.NO\n"
        "    def open(self, source): return View()\n",
        encoding="utf-8",
    )
    (tmp_path / "mine" / "bad.py").write_text("1 / 0\n", encoding="utf-8")
    done = blobs("readers", "--json", "--readers", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    listed = {each["name"]: each for each in json.loads(done.stdout)}
    assert {"csv", "json", "text", "binary", "parquet", "pdf"} <= set(listed)
    assert listed["star"]["types"] == ["text/x-star"]
    assert "ZeroDivisionError" in listed["bad"]["problem"]
    (tmp_path / "x").write_bytes(b"*")
    used = blobs("inspect", "x", "--json", "--readers", "mine", cwd=tmp_path)
    assert json.loads(used.stdout)["reader"] == "star"


def test_doctor_tells_what_the_host_gives(tmp_path: Path) -> None:
    """The tier of the sandbox decides the exit code; asking makes no store."""
    done = blobs("doctor", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    runs_python = found["sandbox"]["runs_untrusted"] or "python" in found["sandbox"]["stand_ins"]
    assert done.returncode == (0 if runs_python else 7)
    assert found["store"] == {"folder": ".blobs", "exists": False}
    assert found["tokens"] == "exact"
    assert list(tmp_path.iterdir()) == []


def test_a_broken_command_stops_no_other(tmp_path: Path) -> None:
    """A command of somebody else's that cannot be loaded says so when it is called, and only then."""
    info = tmp_path / "broken_command-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-command\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[blobs.commands]\nfrob = nowhere_at_all:register\n", encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path)}
    assert blobs("--help", env=env).returncode == 0
    done = blobs("frob", "--anything", env=env)
    assert done.returncode == 2
    assert b"nowhere_at_all" in done.stderr
