"""scan and purge as an operator uses them after something was stored that should not have been."""

import json
from pathlib import Path

import pytest

from blobs import Blobs
from tests.cli.command import blobs

SECRET = "s3cret-token-of-acme"
LARGE = b"name,token\n" + b"x,y\n" * 300_000 + f"me,{SECRET}\n".encode() + b"x,y\n" * 300_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the secret in a small and a large blob of two tenants, in a derived copy and in a turn's answer."""
    folder = tmp_path / "store"
    with Blobs.open(folder) as opened:
        chat = opened.conversation("chat")
        with chat.turn() as turn:
            turn.offload(f"inline {SECRET}", tool="whoami")
            turn.offload(LARGE, tool="dump")
        chat.attach(b"innocent", type="text/plain")
        question = {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1"}
        assert chat.call("blob_code", question)["data"]["rows"] == [[600_001]]
        opened.tenant("other").put(f"of other: {SECRET}".encode())
    return folder


def bytes_hold_it(store: Path) -> list[Path]:
    """Files of the store that hold the secret."""
    return [each for each in store.rglob("*") if each.is_file() and SECRET.encode() in each.read_bytes()]


@pytest.mark.parametrize("flags", [("--match", SECRET), ("--match", "s3cret-[a-z]+-of-ac.e", "--regex")])
def test_scan_lists_what_holds_it(store: Path, flags: tuple[str, ...]) -> None:
    """Blobs of every tenant, wherever in them it stands, and turns; a dry look that changes nothing."""
    found = json.loads(blobs("scan", *flags, "--json", "--store", store).stdout)
    # The record of the turn holds it too, and the columnar copy as far as that is not compressed.
    assert {("default", len(LARGE)), ("other", len(SECRET) + 10)} <= {
        (each["tenant"], each["size"]) for each in found["blobs"]
    }
    assert all(each["tenant"] == "default" or each["size"] == len(SECRET) + 10 for each in found["blobs"])
    assert [(each["conversation"], each["turn"]) for each in found["turns"]] == [("chat", 1)]
    said = blobs("scan", *flags, "--store", store).stdout
    assert f"{len(found['blobs'])} blobs and 1 turns hold it.".encode() in said
    assert json.loads(blobs("scan", "--match", "absent", "--json", "--store", store).stdout) == {
        "blobs": [],
        "turns": [],
    }


def test_purge_removes_it_with_what_was_derived(store: Path) -> None:
    """At once, named or not; the answer says what went and what still quotes it; names say that they were removed."""
    assert bytes_hold_it(store)
    done = json.loads(blobs("purge", "--match", SECRET, "--json", "--store", store).stdout)
    assert len(done["purged"]) >= 3  # the two, and the columnar copy of the large one
    assert {each["tenant"] for each in done["purged"]} == {"default", "other"}
    assert [each["conversation"] for each in done["turns"]] == ["chat"]
    with Blobs.open(store) as opened:
        assert opened.service.catalog.list_tenants() == ["default"]
        chat = opened.conversation("chat")
        refused = chat.call("blob_read", {"blob": "blob1"})
        assert refused["ok"] is False
        assert "blob1 was removed. It was text/csv" in refused["message"]
        assert "a result of dump" in refused["message"]
        assert chat.call("blob_read", {"blob": "blob2"})["data"]["items"] == ["innocent"]
        assert [each["blob"] for each in chat.handles()] == ["blob1", "blob2"]
        assert all(each.fault is None for each in opened.service.verifier().verify())
        opened.service.catalog.delete_conversation("default", "chat")
    assert blobs("scan", "--match", SECRET, "--json", "--store", store).stdout == b'{"blobs":[],"turns":[]}\n'
    assert [each for each in bytes_hold_it(store) if not each.name.startswith("catalog.db")] == []


def test_purge_takes_digests(store: Path) -> None:
    """Of one tenant where it is named, of all otherwise; what is not there is not found."""
    with Blobs.open(store) as opened:
        digest = opened.put(b"both")["$blob"]
        opened.tenant("other").put(b"both")
    done = json.loads(blobs("purge", digest, "--tenant", "other", "--json", "--store", store).stdout)
    assert [each["tenant"] for each in done["purged"]] == ["other"]
    assert blobs("cat", digest, "--store", store).stdout == b"both"
    assert blobs("purge", digest, "--store", store).returncode == 0
    assert blobs("purge", digest, "--store", store).returncode == 3
    assert blobs("cat", digest, "--store", store).returncode == 3


@pytest.mark.parametrize(
    "arguments",
    [("purge",), ("purge", "nonsense"), ("scan",), ("scan", "--match", ""), ("scan", "--match", "(", "--regex")],
)
def test_malformed_calls_are_refused(store: Path, arguments: tuple[str, ...]) -> None:
    """Nothing is purged by mistake."""
    assert blobs(*arguments, "--store", store).returncode == 2
