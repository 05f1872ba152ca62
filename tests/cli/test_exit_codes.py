"""Exit codes say whose fault it was, in one line on standard error."""

from pathlib import Path

import pytest

from tests.cli.command import blobs
from tests.cli.conftest import Desk


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, []),
        (2, ["frob"]),
        (2, ["read"]),
        (2, ["inspect", "sha256:abc"]),
        (2, ["inspect", "."]),
        (2, ["put", "."]),
        (2, ["tools", "--dialect", "klingon"]),
        (2, ["read", "orders.csv", "--columns", "nope"]),
        (2, ["read", "orders.csv", "--start", "99"]),
        (2, ["read", "orders.csv", "--count", "0"]),
        (2, ["search", "orders.csv", "(", "--regex"]),
        (2, ["sql", "-", "-", "select 1"]),
        (2, ["read", "orders.csv", "--config", "nowhere.toml"]),
        (3, ["inspect", "nothing.csv"]),
        (3, ["inspect", "./nothing"]),
        (3, ["inspect", "orders.csv/blob1"]),
        (3, ["inspect", "dump.json/blob9", "--store", "store"]),
        (3, ["read", "chat-42/blob9", "--store", "store"]),
        (3, ["read", "chat-9/blob1", "--store", "store"]),
        (3, ["cat", f"sha256:{'0' * 64}", "--store", "store"]),
        (3, ["put", "nothing.csv", "--store", "store"]),
        (4, ["cat", "orders.csv", "--range", "9999-"]),
        (6, ["put", "orders.csv", "--store", "orders.csv"]),
    ],
)
def test_whose_fault_it_was(desk: Desk, code: int, arguments: list[str]) -> None:
    """2 the caller's, 3 not found, 4 over a limit, 6 the store; no traceback, nothing on standard output."""
    done = blobs(*arguments, cwd=desk.folder)
    assert done.returncode == code, done.stderr
    assert done.stdout == b""
    assert done.stderr.startswith(b"blobs: ")
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_faults_of_code_are_told_with_their_line(desk: Desk) -> None:
    """Bad SQL and bad Python are the caller's, with what is wrong; --json holds the refusal itself."""
    done = blobs("sql", "orders.csv", "selec 1", cwd=desk.folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"selec" in done.stderr
    program = blobs("py", "--json", "orders.csv", "x = 1\n1 / 0", cwd=desk.folder)
    assert program.returncode == 2
    assert program.stdout.startswith(b'{"ok":false,"message":')
    assert b"ZeroDivisionError" in program.stdout
    assert program.stderr == b""


def test_a_call_that_does_not_end_is_over_a_limit(desk: Desk) -> None:
    """4 where the time is up; the limit is a setting like any other."""
    done = blobs("py", "orders.csv", "while True: pass", cwd=desk.folder, env={"BLOBS_CALL_MS_MAX": "1000"})
    assert done.returncode == 4, done.stderr


def test_a_blob_over_its_limit_is_refused(desk: Desk) -> None:
    """4 where a file is larger than a blob may be."""
    done = blobs("inspect", "orders.csv", cwd=desk.folder, env={"BLOBS_BLOB_BYTES_MAX": "10"})
    assert done.returncode == 4


def test_unknown_settings_are_errors(desk: Desk) -> None:
    """A variable or a line of the file that means nothing is told, not passed over."""
    assert blobs("inspect", "orders.csv", cwd=desk.folder, env={"BLOBS_STOER": "x"}).returncode == 2
    (desk.folder / "settings.toml").write_text("inline_bytes_max = 'much'\n", encoding="utf-8")
    done = blobs("inspect", "orders.csv", "--config", "settings.toml", cwd=desk.folder)
    assert done.returncode == 2
    assert b"inline_bytes_max" in done.stderr


def test_settings_reach_the_command(desk: Desk) -> None:
    """A limit from the settings file holds; a variable wins over it."""
    (desk.folder / "small.toml").write_text("preview_bytes_max = 100\n", encoding="utf-8")
    small = blobs("inspect", "orders.csv", "--json", "--config", "small.toml", cwd=desk.folder)
    assert b"99999" not in small.stdout
    env = {"BLOBS_PREVIEW_BYTES_MAX": "2048"}
    large = blobs("inspect", "orders.csv", "--json", "--config", "small.toml", cwd=desk.folder, env=env)
    assert b"99999" in large.stdout


def test_an_internal_error_is_one_line(desk: Desk, tmp_path: Path) -> None:
    """What nobody foresaw ends with 1 and no traceback, unless BLOBS_DEBUG asks for it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import blobs.cli.inspecting as it\n"
        "def _broken(args): raise ZeroDivisionError('unforeseen')\n"
        "it._inspect = _broken\n",
        encoding="utf-8",
    )
    env = {"PYTHONPATH": str(tmp_path)}
    done = blobs("inspect", "orders.csv", cwd=desk.folder, env=env)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"internal error" in done.stderr
    assert b"unforeseen" not in done.stderr
    traced = blobs("inspect", "orders.csv", cwd=desk.folder, env={**env, "BLOBS_DEBUG": "1"})
    assert traced.returncode == 1
    assert b"unforeseen" in traced.stderr
