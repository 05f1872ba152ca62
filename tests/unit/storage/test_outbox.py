"""What a turn stores, before and after its commit."""

import os
from dataclasses import replace

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import ConflictError, LimitError, NotFoundError
from blobs.domain.limits import Limits
from blobs.domain.redaction import Redactor
from blobs.storage.blob_store import BlobStore, now_ms
from blobs.storage.catalog import Change, NameRecord
from blobs.storage.collecting import Collector
from blobs.storage.content import LEFT_BEHIND_MS, PACKED_BYTES_MAX
from blobs.storage.local import LocalContentStore
from blobs.storage.outbox import WAITING_BYTES_MAX, Outbox
from blobs.storage.sqlite import SqliteCatalog


class Stores:
    """The stores of a folder with a conversation in them."""

    def __init__(self, folder, **options):
        self.content, self.catalog = LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")
        options.setdefault("limits", Limits())
        self.blobs = BlobStore(self.content, self.catalog, copies_folder=folder / "copies", **options)
        self.catalog.create_conversation("a", "chat", created_ms=1)
        self.outbox = Outbox(self.blobs, self.catalog, "a")

    def put(self, content):
        return self.outbox.put(content, media_type="text/plain")

    def commit(self, *references, version=1):
        names = (NameRecord(i, each.digest, each.size, each.type) for i, each in enumerate(references, start=1))
        return self.outbox.commit("chat", version, Change(names=tuple(names)))


@pytest.fixture
def stores(tmp_path):
    made = Stores(tmp_path)
    yield made
    made.blobs.close()


def test_a_commit_is_one_flush_of_bytes_before_one_transaction(stores, monkeypatch):
    """Two contents and a finding: written, flushed, and then recorded with their names in one commit."""
    steps, flush = [], os.fdatasync
    stores.blobs.put("a", b"so that there is a pack", media_type="text/plain")
    stores.catalog._session._writer.set_trace_callback(lambda sql: steps.append(sql.split()[0].lower()))
    monkeypatch.setattr(os, "fdatasync", lambda file: (steps.append("flush"), flush(file)))
    references = [stores.put(b"one"), stores.put(b"two" * 10_000)]
    stores.outbox.save_finding(references[0].digest, "profile", "{}")
    assert steps == []
    assert stores.commit(*references) == 2
    assert steps.count("flush") == steps.count("commit") == 1
    assert steps[:2] == ["flush", "begin"]
    assert stores.blobs.open("a", references[1].digest).read(0, 99_999) == b"two" * 10_000
    assert stores.catalog.find_finding("a", references[0].digest, "profile") == "{}"


def test_what_waits_is_found_by_its_outbox_alone_until_it_is_settled(stores):
    """Nobody else finds content or finding; once settled everybody does, and the commit names what is there."""
    reference = stores.put(b"waiting")
    stores.outbox.save_finding(reference.digest, "profile", "{}")
    assert stores.outbox.content(reference.digest) == b"waiting"
    assert stores.outbox.find_finding(reference.digest, "profile") == "{}"
    with pytest.raises(NotFoundError):
        stores.blobs.open("a", reference.digest)
    stores.outbox.settle()
    assert stores.outbox.content(reference.digest) is None
    assert stores.blobs.open("a", reference.digest).read(0, 9) == b"waiting"
    assert stores.outbox.find_finding(reference.digest, "profile") == "{}"
    assert stores.commit(reference) == 2


def test_what_is_never_committed_leaves_nothing(stores):
    """A turn that is rolled back has written no bytes and no record."""
    stores.put(b"rolled back")
    assert list(stores.content.keys()) == []
    assert stores.catalog.list_blobs("a") == []


def test_a_refused_commit_can_be_made_anew_without_writing_again(stores):
    """After a conflict all waits still, its bytes written once; the next commit records them."""
    reference = stores.put(b"kept")
    with pytest.raises(ConflictError):
        stores.commit(reference, version=7)
    assert stores.commit(reference) == 2
    assert len(list(stores.content.keys())) == 1
    assert stores.blobs.open("a", reference.digest).read(0, 9) == b"kept"


def test_bytes_that_are_there_are_not_written_again(stores):
    """The tenant's own blob is named as it is; one that is removed before the commit is put after all."""
    held = stores.blobs.put("a", b"there", media_type="text/plain").reference
    before = list(stores.content.keys())
    assert stores.commit(stores.put(b"there")) == 2
    assert list(stores.content.keys()) == before
    stores.catalog.delete_conversation("a", "chat")
    stores.catalog.create_conversation("a", "chat", created_ms=1)
    reference, commit = stores.put(b"there"), stores.catalog.commit

    def overtaken(*arguments):
        stores.catalog.commit = commit
        Collector(stores.content, stores.catalog, grace_ms=0, clock=lambda: now_ms() + 1000).collect()
        return commit(*arguments)

    stores.catalog.commit = overtaken
    assert stores.commit(reference) == 2
    assert stores.blobs.open("a", held.digest).read(0, 9) == b"there"


def test_bytes_collected_in_a_halt_before_their_record_are_written_again(tmp_path):
    """A commit that halts so long that its bytes are taken for left behind and removed has them all the same."""
    times = [now_ms()]
    stores = Stores(tmp_path, clock=lambda: times[0])
    reference, commit = stores.put(b"slept"), stores.catalog.commit

    def halted(*arguments):
        stores.catalog.commit = commit
        times[0] += 2 * LEFT_BEHIND_MS
        Collector(stores.content, stores.catalog, grace_ms=0, clock=lambda: times[0]).collect()
        return commit(*arguments)

    stores.catalog.commit = halted
    assert stores.commit(reference) == 2
    assert stores.blobs.open("a", reference.digest).read(0, 9) == b"slept"
    stores.blobs.close()


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ({}, b"x" * (PACKED_BYTES_MAX + 1)),
        ({"limits": replace(Limits(), tenant_bytes_max=10**6)}, b"counted"),
        ({"redactor": Redactor(["a secret"])}, b"this is a secret"),
    ],
    ids=["large", "quota", "redaction"],
)
def test_what_must_be_looked_at_is_put_at_once(tmp_path, options, content):
    """Large content, a quota and secrets go the way of every put: recorded, counted and masked."""
    stores = Stores(tmp_path, **options)
    reference = stores.put(content)
    found = stores.blobs.open("a", reference.digest)
    assert found.size == stores.catalog.tenant_bytes("a") == len(content)
    assert b"secret" not in found.read(0, 99)
    assert stores.commit(reference) == 2
    stores.blobs.close()


def test_a_content_over_the_limit_is_refused(tmp_path):
    """`blob_bytes_max` holds for what a turn stores."""
    stores = Stores(tmp_path, limits=replace(Limits(), blob_bytes_max=10))
    with pytest.raises(LimitError):
        stores.put(b"eleven bytes")
    stores.blobs.close()


def test_the_memory_of_a_turn_is_bounded(stores):
    """What waits never holds more than its most: beyond it, it is put."""
    contents = [bytes([number]) * PACKED_BYTES_MAX for number in range(WAITING_BYTES_MAX // PACKED_BYTES_MAX + 1)]
    references = [stores.put(each) for each in contents]
    assert all(stores.outbox.content(each.digest) is None for each in references)
    assert {each.digest for each in stores.catalog.list_blobs("a")} == {Digest.of(each) for each in contents}
