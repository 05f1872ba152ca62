"""Every command on every kind of target."""

import hashlib
import json

import pytest

from tests.cli.command import blobs
from tests.cli.conftest import ORDERS, Desk

KINDS = ("file", "stdin", "digest", "conversation", "dump")


def target_of(desk: Desk, kind: str) -> tuple[list[str], bytes]:
    """The arguments that name the orders in this way, and what standard input holds."""
    store = ["--store", str(desk.store)]
    match kind:
        case "file":
            return [str(desk.folder / "orders.csv")], b""
        case "stdin":
            return ["-"], ORDERS
        case "digest":
            return [desk.digest, *store], b""
        case "conversation":
            return ["chat-42/blob2", *store], b""
        case _:
            return [f"{desk.folder}/dump.json/blob2", *store], b""


@pytest.mark.parametrize("kind", KINDS)
def test_inspect_tells_what_it_is(desk: Desk, kind: str) -> None:
    """Type, size, digest, items, columns and preview are the same however the blob is named."""
    target, stdin = target_of(desk, kind)
    done = blobs("inspect", "--json", *target, stdin=stdin, cwd=desk.folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["type"] == "text/csv"
    assert found["size"] == len(ORDERS)
    assert found["digest"] == f"sha256:{hashlib.sha256(ORDERS).hexdigest()}"
    assert (found["reader"], found["unit"], found["items"]) == ("csv", "rows", 3)
    assert found["columns"] == ["id BIGINT", "zip VARCHAR", "total DECIMAL(18,2)"]
    assert found["preview"]["first"][0] == ["1", "00123", "10.50"]


@pytest.mark.parametrize("kind", KINDS)
def test_read_gives_the_tools_answer(desk: Desk, kind: str) -> None:
    """The JSON is the answer of blob_read itself, values as they are written."""
    target, stdin = target_of(desk, kind)
    done = blobs("read", "--json", *target, "--start", "1", "--count", "1", "--columns", "zip,id", stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "ok": True,
        "data": {
            "blob": "blob1",
            "unit": "rows",
            "start": 1,
            "count": 1,
            "total": 3,
            "columns": ["zip", "id"],
            "items": [["00456", "2"]],
            "complete": False,
            "next": {"blob": "blob1", "start": 2, "count": 1, "columns": ["zip", "id"]},
        },
    }


@pytest.mark.parametrize("kind", KINDS)
def test_search_finds(desk: Desk, kind: str) -> None:
    """A search names the item and counts all matches."""
    target, stdin = target_of(desk, kind)
    done = blobs("search", "--json", *target, "004?5", "--regex", stdin=stdin)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    assert (data["found"], [each["item"] for each in data["matches"]]) == (1, [1])


@pytest.mark.parametrize("kind", KINDS)
def test_cat_gives_the_bytes(desk: Desk, kind: str) -> None:
    """The bytes are those that were stored, or the range of them that HTTP would give."""
    target, stdin = target_of(desk, kind)
    assert blobs("cat", *target, stdin=stdin).stdout == ORDERS
    assert blobs("cat", *target, "--range", "3-5", stdin=stdin).stdout == ORDERS[3:6]


@pytest.mark.parametrize("kind", ["stdin", "conversation"])
def test_sql_computes(desk: Desk, kind: str) -> None:
    """A query runs over blob1 whatever the target is called."""
    target, stdin = target_of(desk, kind)
    done = blobs("sql", "--json", *target, "select sum(total) as s, max(zip) as z from blob1", stdin=stdin)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    assert (data["rows"], data["complete"]) == ([[30.75, "99999"]], True)


@pytest.mark.parametrize("kind", ["file", "dump"])
def test_py_computes(desk: Desk, kind: str) -> None:
    """A program runs over blob1 and its last expression is the answer."""
    target, stdin = target_of(desk, kind)
    done = blobs("py", "--json", *target, "print('seen'); len(blob1.bytes())", stdin=stdin)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    assert (data["result"], data["printed"]) == (len(ORDERS), "seen\n")


def test_targets_are_tables_in_their_order(desk: Desk) -> None:
    """Files and a conversation's blobs are numbered as they are given."""
    (desk.folder / "names.csv").write_text("id,name\n2,two\n", encoding="utf-8")
    query = "select name, n from blob1 join blob2 on blob1.id = blob2.n"
    done = blobs("sql", "--json", "names.csv", "chat-42/blob1", query, "--store", desk.store, cwd=desk.folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["rows"] == [["two", 2]]
    whole = blobs("sql", "--json", "chat-42", "select count(*) from blob2", "--store", desk.store, cwd=desk.folder)
    assert json.loads(whole.stdout)["data"]["rows"] == [[3]]


def test_a_conversation_is_shown_with_its_names_and_turns(desk: Desk) -> None:
    """Inspecting a conversation, or its dump without any store, tells names and turns."""
    told = blobs("inspect", "--json", "chat-42", "--store", desk.store)
    dumped = json.loads((desk.folder / "dump.json").read_text(encoding="utf-8"))
    assert json.loads(told.stdout) == {"conversation": "chat-42", **dumped}
    alone = blobs("inspect", "--json", desk.folder / "dump.json")
    assert json.loads(alone.stdout) == dumped
    assert b"blob2" in blobs("inspect", desk.folder / "dump.json").stdout


def test_one_blob_is_asked_for_where_there_are_several(desk: Desk) -> None:
    """A conversation of two blobs is no target of a command for one; the hint names one."""
    done = blobs("read", "chat-42", "--store", desk.store)
    assert done.returncode == 2
    assert b"chat-42/blob1" in done.stderr


def test_the_type_of_standard_input_can_be_said() -> None:
    """What cannot be told from a name is told by --type."""
    done = blobs("inspect", "--json", "-", "--type", "text/plain", stdin=ORDERS)
    assert json.loads(done.stdout)["unit"] == "lines"
