"""put, ls and cat; and that looking leaves nothing behind."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.command import blobs
from tests.cli.conftest import ORDERS, Desk


def test_put_prints_references(tmp_path: Path) -> None:
    """Each file has its reference on a line of its own, and cat gives it back."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    done = blobs("put", "--json", "a.csv", "b.bin", "-", "--store", "st", cwd=tmp_path, stdin=b"from a pipe")
    assert done.returncode == 0, done.stderr
    references = [json.loads(line) for line in done.stdout.splitlines()]
    contents = [b"a,b\n1,2\n", bytes(range(256)), b"from a pipe"]
    assert [each["$blob"] for each in references] == [f"sha256:{hashlib.sha256(c).hexdigest()}" for c in contents]
    assert [each["size"] for each in references] == [8, 256, 11]
    assert references[0]["type"] == "text/csv"
    for reference, content in zip(references, contents, strict=True):
        assert blobs("cat", reference["$blob"], "--store", "st", cwd=tmp_path).stdout == content


def test_put_takes_a_type(tmp_path: Path) -> None:
    """--type is the type in the reference."""
    (tmp_path / "x").write_bytes(b"x")
    done = blobs("put", "x", "--json", "--type", "text/x-mine", "--store", "st", cwd=tmp_path)
    assert json.loads(done.stdout)["type"] == "text/x-mine"


def test_ls_lists_everything(desk: Desk) -> None:
    """Blobs by digest and conversations by id; the store may be named by BLOBS_STORE too."""
    for done in (
        blobs("ls", "--json", "--store", desk.store),
        blobs("ls", "--json", env={"BLOBS_STORE": str(desk.store)}),
    ):
        listed = json.loads(done.stdout)
        assert desk.digest in [each["digest"] for each in listed["blobs"]]
        assert [each["id"] for each in listed["conversations"]] == ["chat-42"]
    assert desk.digest.encode() in blobs("ls", "--store", desk.store).stdout


@pytest.mark.parametrize(
    ("asked", "given"),
    [("0-0", ORDERS[:1]), ("10-", ORDERS[10:]), ("-4", ORDERS[-4:]), ("50-9999", ORDERS[50:]), ("-9999", ORDERS)],
)
def test_ranges_are_those_of_http(desk: Desk, asked: str, given: bytes) -> None:
    """Both ends are included, an open end reaches to the end, and a suffix counts from there."""
    assert blobs("cat", desk.digest, f"--range={asked}", "--store", desk.store).stdout == given


@pytest.mark.parametrize("asked", ["", "-", "x-1", "5-4", "1-2-3"])
def test_malformed_ranges_are_refused(desk: Desk, asked: str) -> None:
    """What is no range is the caller's fault."""
    done = blobs("cat", desk.digest, f"--range={asked}", "--store", desk.store)
    assert (done.returncode, done.stdout) == (2, b"")


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    """Commands over files and standard input make no store, and no file in the temporary folder."""
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work" / "a.csv").write_bytes(ORDERS)
    env = {"TMPDIR": str(tmp_path / "tmp")}
    for arguments in (
        ["inspect", "a.csv"],
        ["inspect", "-"],
        ["read", "a.csv"],
        ["search", "-", "1"],
        ["cat", "a.csv"],
    ):
        done = blobs(*arguments, cwd=tmp_path / "work", stdin=ORDERS, env=env)
        assert done.returncode == 0, done.stderr
    assert [each.name for each in (tmp_path / "work").iterdir()] == ["a.csv"]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("target", [f"sha256:{'0' * 64}", "chat-1/blob1", "chat-1"])
@pytest.mark.parametrize("command", ["inspect", "read", "cat"])
def test_an_absent_store_is_not_made(tmp_path: Path, command: str, target: str) -> None:
    """Whoever asks for what must lie in a store that is not there gets `not found`, and no store."""
    done = blobs(command, target, "--store", "absent", cwd=tmp_path)
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []


def test_inspecting_a_file_does_not_store_it(desk: Desk, tmp_path: Path) -> None:
    """Even where a store is named, inspect only looks."""
    (tmp_path / "new.txt").write_text("new", encoding="utf-8")
    before = blobs("ls", "--json", "--store", desk.store).stdout
    assert blobs("inspect", tmp_path / "new.txt", "--store", desk.store).returncode == 0
    assert blobs("ls", "--json", "--store", desk.store).stdout == before


def test_asking_records_no_conversation(desk: Desk) -> None:
    """read and search leave the conversations of a store as they were."""
    blobs("read", "chat-42/blob2", "--store", desk.store)
    blobs("search", desk.digest, "1", "--store", desk.store)
    listed = json.loads(blobs("ls", "--json", "--store", desk.store).stdout)
    assert [each["id"] for each in listed["conversations"]] == ["chat-42"]


def test_output_is_the_whole_result(desk: Desk, tmp_path: Path) -> None:
    """--output writes a file in the format that its name says, not cut to an answer."""
    (tmp_path / "n.txt").write_text("".join(f"{n}\n" for n in range(30_000)), encoding="utf-8")
    done = blobs("sql", "n.txt", "select line::bigint * 2 as twice from blob1", "-o", "twice.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = "twice\n" + "".join(f"{2 * n}\n" for n in range(30_000))
    assert (tmp_path / "twice.csv").read_text(encoding="utf-8").replace("\r\n", "\n") == expected
