"""Parsers of risky formats run in the cell: the server's process opens none of them, however small the blob."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from blobs import Blobs, Settings
from blobs.reading.registry import Registry
from tests.material import FIXTURES, manifest

LIGHT = {"binary", "csv", "diff", "json", "json-sequence", "markdown", "ndjson", "text", "toml"}
"""Our own code over text, and the standard library's TOML; everything else is read in a cell, however small it is."""

PARSERS = {
    "PIL",
    "backports.zstd",
    "duckdb",
    "fastavro",
    "lxml",
    "pyarrow.orc",
    "pyarrow.parquet",
    "pypdf",
    "pypdfium2",
    "python_calamine",
    "tinytag",
}
"""What parses or unpacks what somebody else has made, and is loaded when that begins.

Arrow's reader of CSV is not among them, which types the columns of a small table, nor PyYAML's scanner in pure Python.
"""


def test_only_readers_of_text_are_light():
    """A reader that is added is risky until it is named here."""
    assert {each.name for each in Registry().plug_ins() if each.is_light and each.is_built_in} == LIGHT


def test_the_server_loads_no_parser():
    """A service that was given every fixture, and asked for its items, has loaded none of these libraries.

    In a process of its own: this one has loaded them all.
    """
    code = f"""
import json, sys
before = set(sys.modules)
from blobs import Blobs
from pathlib import Path
with Blobs.open(":memory:") as blobs:
    types = {{}}
    for path in sorted(Path({str(FIXTURES / "files")!r}).iterdir()):
        chat = blobs.conversation()
        types[path.name] = chat.attach(path.read_bytes())["type"]
        chat.call("blob_read", {{"blob": "blob1"}})
        chat.call("blob_search", {{"blob": "blob1", "pattern": "o"}})
    print(json.dumps([types, sorted(set(sys.modules) - before)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    types, loaded = json.loads(done.stdout)
    assert len(types) == len(manifest())
    assert types["members.zip"] == "application/zip"
    assert types["people.parquet"] == "application/vnd.apache.parquet"
    assert PARSERS & set(loaded) == set()


def test_a_plug_in_runs_in_the_cell_whatever_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """That it calls itself light is no reason to run it in the server's process, nor that its blob is small."""
    code = """
import os
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence


class WhereView(BaseView):
    unit, count = "records", 1

    def items(self, span):
        yield from [os.environ.get("WHERE", "in the cell")][span.start : span.stop]


class WhereReader:
    name = "where"
    media_types = ("text/x-where",)
    is_light = True

    def sniff(self, sample):
        return Confidence(100, "text/x-where") if sample.head.startswith(b"WHERE") else Confidence.NO

    def open(self, source):
        return WhereView()
"""
    monkeypatch.setenv("WHERE", "in the server's process")
    readers = tmp_path / "readers"
    readers.mkdir()
    (readers / "where.py").write_text(code, encoding="utf-8")
    with Blobs.open(Settings(store=":memory:", readers_dir=str(readers))) as blobs:
        chat = blobs.conversation()
        assert chat.attach(b"WHERE")["type"] == "text/x-where"
        assert chat.call("blob_read", {"blob": "blob1"})["data"]["items"] == ["in the cell"]
        assert chat.call("blob_search", {"blob": "blob1", "pattern": "in the cell"})["data"]["found"] == 1
