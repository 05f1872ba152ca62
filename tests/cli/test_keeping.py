"""collect and verify as an operator uses them."""

import json
import re
from pathlib import Path

import pytest

from blobs import Blobs
from tests.cli.command import blobs

LARGE = bytes(range(256)) * 3125
"""No text, of which an index would be derived on its way in."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a named blob and two that nothing names, one of another tenant."""
    folder = tmp_path / "store"
    with Blobs.open(folder) as opened:
        opened.conversation("chat").attach(b"named", type="text/plain")
        opened.put(LARGE)
        opened.tenant("other").put(b"unnamed", type="text/plain")
    return folder


def test_collect_first_shows_then_removes(store: Path) -> None:
    """A dry run lists what a collection then removes, of all tenants, and changes nothing; the grace time is kept."""
    assert json.loads(blobs("collect", "--dry-run", "--json", "--store", store).stdout)["unused"] == []
    now = {"BLOBS_GRACE_MS": "0"}
    for _ in range(2):
        shown = json.loads(blobs("collect", "--dry-run", "--json", "--store", store, env=now).stdout)
        assert (shown["blobs"], shown["bytes"], shown["dry_run"]) == (2, len(LARGE) + 7, True)
        assert {(each["tenant"], each["size"]) for each in shown["unused"]} == {("default", len(LARGE)), ("other", 7)}
    assert (
        b"2 blobs of 800,007 bytes would be removed." in blobs("collect", "--dry-run", "--store", store, env=now).stdout
    )
    done = json.loads(blobs("collect", "--json", "--store", store, env=now).stdout)
    assert (done["blobs"], done["bytes"], done["freed"]) == (2, len(LARGE) + 7, 2)
    assert list((store / "files").glob("??/*")) == []
    assert b"Removed 0 blobs" in blobs("collect", "--store", store, env=now).stdout
    assert blobs("cat", "chat/blob1", "--store", store).stdout == b"named"


def test_a_pin_keeps(store: Path) -> None:
    """What is pinned or leased is not collected until it is let go or the lease has ended."""
    with Blobs.open(store, grace_ms=0) as opened:
        pinned = opened.put(LARGE)
        leased = opened.put(b"leased")
        opened.pin(pinned, "mine")
        opened.pin(leased, "mine", lease_ms=3_600_000)
        assert [each.blobs for each in (opened.service.collector().collect(),)] == [1]
        assert opened.unpin(pinned, "mine") is True
        assert opened.unpin(pinned, "mine") is False
        opened.pin(leased, "mine", lease_ms=-1)
        assert opened.service.collector().collect().blobs == 2


def test_verify_finds_damage(store: Path) -> None:
    """Exit code 0 and the count where all is well; 6 and the digest where a byte was flipped, in a sample too."""
    done = blobs("verify", "--store", store)
    assert (done.returncode, done.stdout) == (0, b"Verified 3 blobs, 0 damaged.\n")
    [file] = (store / "files").glob("??/*")
    digest = re.sub(r"\..*", "", file.name)
    file.chmod(0o600)
    content = bytearray(file.read_bytes())
    content[1000] ^= 4
    file.write_bytes(content)
    read = blobs("cat", f"sha256:{digest}", "--store", store)
    assert read.returncode == 6
    assert b"damaged or missing" in read.stderr
    for flags in ((), ("--sample", "100%")):
        done = blobs("verify", "--store", store, "--json", *flags)
        assert done.returncode == 6
        assert json.loads(done.stdout) == {
            "verified": 3,
            "damaged": [
                {
                    "tenant": "default",
                    "digest": f"sha256:{digest}",
                    "size": len(LARGE),
                    "fault": "wrong bytes",
                    "derived": False,
                }
            ],
        }
    assert b"put the same bytes again" in blobs("verify", "--store", store).stdout
    blobs("put", "-", "--store", store, stdin=LARGE)
    assert blobs("verify", "--store", store).returncode == 0
    assert blobs("cat", f"sha256:{digest}", "--store", store).stdout == LARGE


def test_a_damaged_columnar_copy_is_made_anew(tmp_path: Path) -> None:
    """SQL over a blob works again after the copy that it runs over was damaged, and says so before."""
    with Blobs.open(tmp_path / "store") as opened:
        chat = opened.conversation("chat")
        chat.attach(b"a,b\n" + b"1,2\n" * 50_000, type="text/csv")
        question = {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1"}
        assert chat.call("blob_code", question)["data"]["rows"] == [[50_000]]
        derived = [each for each in opened.service.catalog.list_blobs("default") if each.used_ms == 0]
        assert len(derived) == 1
        opened.service.content.delete(derived[0].key)
        faults = [(each.fault, each.is_derived) for each in opened.service.verifier().verify() if each.fault]
        assert faults == [("missing", True)]
        assert chat.call("blob_code", question)["data"]["rows"] == [[50_000]]
        assert [each.fault for each in opened.service.verifier().verify()] == [None, None]


@pytest.mark.parametrize("share", ["0", "0%", "101%", "x", "-5%", "nan"])
def test_a_malformed_sample_is_refused(store: Path, share: str) -> None:
    """What is no share is the caller's fault."""
    assert blobs("verify", f"--sample={share}", "--store", store).returncode == 2


@pytest.mark.parametrize("command", ["collect", "verify"])
def test_no_store_is_made(tmp_path: Path, command: str) -> None:
    """Without a store there is nothing to keep."""
    assert blobs(command, "--store", tmp_path / "none").returncode == 3
    assert not (tmp_path / "none").exists()
