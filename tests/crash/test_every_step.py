"""A disk that fails, or a process that dies, at every step of what changes a store."""

import os
from contextlib import suppress
from dataclasses import replace

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import ConflictError, StoreError
from blobs.domain.limits import Limits
from blobs.domain.reference import Reference
from blobs.storage.blob_store import BlobStore, now_ms
from blobs.storage.catalog import Change, NameRecord, TurnRecord
from blobs.storage.collecting import Collector
from blobs.storage.content import LEFT_BEHIND_MS
from blobs.storage.keeping import Derivation
from blobs.storage.local import LocalContentStore
from blobs.storage.outbox import Outbox
from blobs.storage.sqlite import SqliteCatalog
from blobs.storage.verifying import Verifier
from tests.crash.faults import FaultyDisk, die, raise_io_error

LARGE = b"large" * 60_000
LIMITS = replace(Limits(), grace_ms=0, tenant_bytes_max=10**9)


class Store:
    """The stores of a folder, opened anew each time."""

    def __init__(self, folder):
        self.content = LocalContentStore(folder / "content")
        self.catalog = SqliteCatalog(folder / "catalog.db")
        self.blobs = BlobStore(self.content, self.catalog, limits=LIMITS, copies_folder=folder / "copies")
        limits = replace(LIMITS, tenant_bytes_max=None)
        self.unbounded = BlobStore(self.content, self.catalog, limits=limits, copies_folder=folder / "copies")
        with suppress(ConflictError):
            self.catalog.create_conversation("a", "chat", created_ms=1)

    def put(self, content, **options) -> Reference:
        return self.blobs.put("a", content, media_type="text/plain", **options).reference

    def commit(self, *references, outbox=None) -> list[Digest]:
        """A turn that names the references, as turns are committed."""
        chat = self.catalog.find_conversation("a", "chat")
        number = 0 if chat.last_turn is None else chat.last_turn + 1
        names = tuple(
            NameRecord(chat.next_name + place, each.digest, each.size, each.type, number)
            for place, each in enumerate(references)
        )
        turn = TurnRecord(number, str(number), "[]", references[0])
        change = Change(turn=turn, names=names)
        if outbox is not None:
            outbox.commit("chat", chat.version, change)
        else:
            self.catalog.commit("a", "chat", chat.version, change)
        return [each.digest for each in references]

    def close(self):
        self.blobs.close()


def small_put(store, number):
    return store.commit(store.put(f"small {number}".encode()))


def large_put(store, number):
    return store.commit(store.put(iter([LARGE, str(number).encode()])))


def turn(store, number):
    return store.commit(*(store.put(f"turn {number} {each}".encode() + LARGE[: each * 200_000]) for each in range(3)))


def offload(store, number):
    """A turn whose blobs wait for its commit, and are recorded with it."""
    outbox = Outbox(store.unbounded, store.catalog, "a")
    references = [outbox.put(f"offload {number} {each}".encode(), media_type="text/plain") for each in range(3)]
    outbox.save_finding(references[0].digest, "profile", "{}")
    return store.commit(*references, outbox=outbox)


def derive(store, number):
    source = store.put(f"source {number}".encode())
    done = store.commit(source)
    store.put(f"derived {number}".encode(), derivation=Derivation(source.digest, "columnar"))
    return done


def heal(store, number):
    reference = store.put(f"healed {number}".encode())
    record = store.catalog.find_blob("a", reference.digest)
    store.catalog.mark_blob("a", record.digest, record.key, is_corrupt=True)
    return store.commit(store.put(f"healed {number}".encode()))


def collect(store, number):
    done = store.commit(store.put(f"kept {number}".encode()))
    for each in (f"dropped {number}".encode(), LARGE + b"dropped" + str(number).encode()):
        store.put(each)
    Collector(store.content, store.catalog, grace_ms=0, clock=lambda: now_ms() + 1000).collect()
    return done


def check(folder, acknowledged):
    """What was acknowledged is named and whole, whatever is recorded is whole, and nothing is left in the making."""
    store = Store(folder)
    for digest in acknowledged:
        assert Digest.of(store.blobs.open("a", digest).read(0, 10**9)) == digest
    named = {each.digest for each in store.catalog.names("a", "chat")}
    assert set(acknowledged) <= named
    assert named <= {each.digest for each in store.catalog.list_blobs("a")}
    unsound = {each.digest for each in Verifier(store.content, store.catalog).verify() if each.fault}
    assert not unsound
    assert list((folder / "content" / "tmp").iterdir()) == []
    Collector(store.content, store.catalog, grace_ms=0, clock=lambda: now_ms() + 1000).collect()
    store.close()


def check_leftovers_go(folder):
    """What was left behind is collected: then there are bytes of what is recorded, and no others; no room is held."""
    store = Store(folder)
    later = now_ms() + LEFT_BEHIND_MS + 3600_000
    Collector(store.content, store.catalog, grace_ms=0, clock=lambda: later).collect()
    recorded = store.catalog.list_blobs("a")
    assert {each.key for each in recorded} == set(store.content.keys())
    used = sum(each.size for each in recorded)
    store.catalog.reserve("a", "probe", 0, bytes_max=used, now_ms=later, until_ms=later + 1)
    store.close()


SCENES = [small_put, large_put, turn, offload, derive, heal, collect]


@pytest.mark.parametrize("is_after", [False, True], ids=["instead", "after"])
@pytest.mark.parametrize("scene", SCENES)
def test_a_disk_that_fails_at_any_step_loses_nothing(tmp_path, scene, is_after):
    """Each failure is a store error; what was acknowledged is whole; the next process does the same work well."""
    acknowledged, number = [], 0
    Store(tmp_path).close()
    while True:
        number += 1
        with pytest.MonkeyPatch.context() as patch:
            disk = FaultyDisk(patch, at=number, fault=raise_io_error, is_after=is_after)
            store = Store(tmp_path)
            disk.is_started = True
            with suppress(StoreError):
                acknowledged += scene(store, number)
            disk.is_started = False
            store.close()
        check(tmp_path, acknowledged)
        if not disk.has_failed:
            break
    assert number > 5
    check_leftovers_go(tmp_path)


@pytest.mark.parametrize("scene", SCENES)
def test_a_process_that_dies_at_any_step_loses_nothing(tmp_path, scene):
    """Killed before any step, it leaves what it acknowledged whole and named; what it left behind is collected."""
    acknowledged, number = [], 0
    Store(tmp_path).close()
    while True:
        number += 1
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _die_at(number, tmp_path, scene, writer)
        os.close(writer)
        with os.fdopen(reader) as told:
            acknowledged += [Digest.parse(line.strip()) for line in told]
        _, status = os.waitpid(child, 0)
        check(tmp_path, acknowledged)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            break
        assert code == 9
    assert number > 5
    check_leftovers_go(tmp_path)


def _die_at(number, folder, scene, writer):
    """In the child: work, tell what was acknowledged, and end."""
    code = 1
    try:
        disk = FaultyDisk(pytest.MonkeyPatch(), at=number, fault=die, is_after=False)
        store = Store(folder)
        disk.is_started = True
        done = scene(store, number)
        disk.is_started = False
        with os.fdopen(writer, "w") as told:
            told.writelines(f"{each}\n" for each in done)
        store.close()
        code = 0 if not disk.has_failed else 3
    finally:
        os._exit(code)
