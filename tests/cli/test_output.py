"""What is printed: safe in pipes, whole as JSON, harmless on a terminal."""

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import blobs, environment
from tests.cli.conftest import ORDERS, Desk

HOSTILE = "one \x1b]0;owned\x07 \x1b[31mred\x1b[0m\r\ntwo\x9b31m\n"
PROGRESS_ENDS = "\r\x1b[K"
"""Our own: where the work took long enough to be reported on, its line is taken back."""


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """A pipeline of a shell in which `blobs` is the command."""
    script = f'set -o pipefail; blobs() {{ {shlex.quote(sys.executable)} -m blobs.cli "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, cwd=cwd, env=environment(), timeout=60, check=False
    )


def on_a_terminal(*arguments: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> tuple[int, str]:
    """Exit code and all that a terminal would show of standard output and error."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "blobs.cli", *arguments]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=stdin, cwd=cwd, env=environment())
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    return process.wait(timeout=60), shown.decode("utf-8", "replace")


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A file of many lines."""
    (tmp_path / "long.txt").write_text("".join(f"line {n} {'x' * 50}\n" for n in range(3_000)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", ["cat long.txt", "read long.txt", "read long.txt --json", "ls --store ."])
def test_a_closed_pipe_ends_quietly(long: Path, command: str) -> None:
    """Whoever has read enough is no error, and nothing is said about it."""
    if "ls" in command:
        assert shell("blobs put long.txt --store .", long).returncode == 0
    done = shell(f"blobs {command} | head -c1", long)
    assert len(done.stdout) == 1
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_is_never_cut(tmp_path: Path) -> None:
    """A large listing of a store arrives whole through a pipe."""
    files = [tmp_path / f"{n}.txt" for n in range(400)]
    for n, file in enumerate(files):
        file.write_text(str(n), encoding="utf-8")
    done = blobs("put", "--json", *files, "--store", tmp_path / "st")
    assert len(done.stdout.splitlines()) == 400
    listed = shell("blobs ls --store st --json | cat", tmp_path)
    assert len(listed.stdout) > 40_000
    assert len(json.loads(listed.stdout)["blobs"]) == 400


@pytest.mark.parametrize("command", ["inspect", "read", "search", "cat"])
def test_a_terminal_is_not_steered(tmp_path: Path, command: str) -> None:
    """Escapes of foreign content are left out, the text between them stays."""
    (tmp_path / "hostile.log").write_text(HOSTILE, encoding="utf-8", newline="")
    arguments = [command, "hostile.log", *(["one"] if command == "search" else [])]
    code, shown = on_a_terminal(*arguments, cwd=tmp_path)
    assert code == 0
    assert "red" in shown
    assert "owned" not in shown
    assert not {"\x1b", "\x9b", "\x07"} & set(shown.replace(PROGRESS_ENDS, ""))


def test_a_hostile_file_name_is_harmless_too(tmp_path: Path) -> None:
    """Names are foreign text as well, also in errors."""
    code, shown = on_a_terminal("inspect", "x\x1b]0;owned\x07y", cwd=tmp_path)
    assert code == 3
    assert "\x1b" not in shown


def test_binary_bytes_are_kept_off_a_terminal(tmp_path: Path) -> None:
    """cat writes anything into a pipe, but only text to a terminal."""
    (tmp_path / "b").write_bytes(b"\x00\x01\x02")
    code, shown = on_a_terminal("cat", "b", cwd=tmp_path)
    assert code == 2
    assert "\x01" not in shown
    assert shell("blobs cat b | cat", tmp_path).stdout == b"\x00\x01\x02"


def test_people_read_an_aligned_table(desk: Desk) -> None:
    """Rows under their columns, then what the answer covers and the command that goes on."""
    done = blobs("read", "orders.csv", "--count", "2", cwd=desk.folder)
    assert done.stdout.decode().splitlines() == [
        "id  zip    total",
        "──  ─────  ─────",
        "1   00123  10.50",
        "2   00456  20.00",
        "",
        "rows 0 to 1 of 3",
        "next: blobs read orders.csv --start=2 --count=2",
    ]


def test_the_next_commands_lead_to_the_end(long: Path) -> None:
    """Each command that an answer names works, and together they give every line."""
    seen: list[str] = []
    command = "blobs read long.txt"
    for _ in range(200):
        done = shell(command, long)
        lines = done.stdout.decode().splitlines()
        seen += [line for line in lines if line.startswith("line ")]
        if not lines[-1].startswith("next: "):
            break
        command = lines[-1].removeprefix("next: ")
    assert seen == [f"line {n} {'x' * 50}" for n in range(3_000)]


def test_a_search_says_what_it_searched(desk: Desk) -> None:
    """A search without a match tells that the whole was searched."""
    done = blobs("search", "orders.csv", "not there", cwd=desk.folder)
    assert done.returncode == 0
    assert b"0 matches in 3 rows" in done.stdout


def test_progress_is_for_a_terminals_error_stream(tmp_path: Path) -> None:
    """Long work through a pipe says nothing beside its answer."""
    (tmp_path / "a.csv").write_bytes(ORDERS)
    done = blobs("py", "a.csv", "import time; time.sleep(1.5); 7", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (b"7\n", b"")


@pytest.mark.parametrize("arguments", [["--help"], ["sql", "--help"], ["--version"]])
def test_help_is_no_error(arguments: list[str]) -> None:
    """Help and version go to standard output."""
    done = blobs(*arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"blob" in done.stdout
