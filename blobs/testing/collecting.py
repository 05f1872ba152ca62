"""The contract suite for collecting over a pair of stores; see `blobs.testing.storage`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError, StoreError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore, now_ms
from blobs.storage.catalog import Catalog, NameRecord
from blobs.storage.collecting import TOMBSTONES_KEPT_MS, Collected, Collector
from blobs.storage.content import LEFT_BEHIND_MS, ContentStore
from blobs.storage.keeping import Derivation, Pin
from blobs.testing.racing import NO_GRACE, Race, name_blob
from blobs.testing.stepping import Steps, interleavings
from blobs.testing.verifying import LARGE, SMALL, Clock, VerifyingContract

DAY_MS = 24 * 3600 * 1000


class CollectingContract(VerifyingContract):
    """What collecting keeps, and verifying with it; `make_stores` answers an empty pair of stores."""

    interleavings_max: int | None = None
    """How many interleavings are tried of each scene, drawn at random; all of them where it is `None`."""

    race_seconds = 2.0

    @pytest.fixture
    def collector(self, stores: tuple[ContentStore, Catalog], clock: Clock) -> Collector:
        """A collector with a grace time of a day."""
        return Collector(*stores, grace_ms=DAY_MS, clock=clock)

    # Collecting

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_what_nothing_names_goes_in_two_phases(
        self,
        blobs: BlobStore,
        collector: Collector,
        stores: tuple[ContentStore, Catalog],
        clock: Clock,
        content: bytes,
    ) -> None:
        """After the grace time the record goes, after another the bytes; nothing earlier."""
        digest = blobs.put("a", content, media_type="text/plain").reference.digest
        clock.ms += DAY_MS - 1
        assert list(collector.unused()) == []
        assert collector.collect() == Collected(0, 0, 0, 0, 0)
        clock.ms += 1
        assert [(each.tenant, each.record.digest) for each in collector.unused()] == [("a", digest)]
        assert blobs.open("a", digest).size == len(content)  # looking removes nothing, and opening uses it
        assert collector.collect().blobs == 0
        clock.ms += DAY_MS
        reader = StaleReader(stores[1], stores[0], digest)
        assert collector.collect() == Collected(1, len(content), 0, 0, 0)
        with pytest.raises(NotFoundError):
            blobs.open("a", digest)
        assert reader.read() == content  # who had opened it before can read it through the grace time
        clock.ms += DAY_MS
        done = collector.collect()
        assert (done.blobs, done.keys_freed) == (0, 1)
        assert list(stores[0].keys()) == []
        assert stores[1].list_trash(before_ms=clock.ms) == []

    def test_names_pins_and_leases_keep(
        self, blobs: BlobStore, collector: Collector, stores: tuple[ContentStore, Catalog], clock: Clock
    ) -> None:
        """A named blob stays until its conversation goes, a pinned one until it is let go, a leased one until then."""
        named, pinned, leased = (
            blobs.put("a", content, media_type="text/plain").reference for content in (b"named", b"pinned", b"leased")
        )
        name_blob(stores[1], named)
        stores[1].pin_blob("a", pinned.digest, Pin("mine"))
        stores[1].pin_blob("a", leased.digest, Pin("mine", clock.ms + 3 * DAY_MS))
        clock.ms += 2 * DAY_MS
        assert collector.collect().blobs == 0
        clock.ms += 2 * DAY_MS
        assert collector.collect().blobs == 1
        stores[1].delete_conversation("a", "chat")
        stores[1].unpin_blob("a", pinned.digest, "mine")
        assert collector.collect().blobs == 2
        assert stores[1].list_blobs("a") == []

    def test_a_put_of_the_same_bytes_counts_as_use(self, blobs: BlobStore, collector: Collector, clock: Clock) -> None:
        """Retention counts from the last put or read, not from the first put."""
        digest = blobs.put("a", SMALL, media_type="text/plain").reference.digest
        clock.ms += DAY_MS
        blobs.put("a", SMALL, media_type="text/plain")
        clock.ms += DAY_MS - 1
        assert collector.collect().blobs == 0
        blobs.open("a", digest)
        clock.ms += DAY_MS - DAY_MS // 12
        assert collector.collect().blobs == 0

    def test_a_stale_reference_says_what_it_was(
        self, blobs: BlobStore, collector: Collector, stores: tuple[ContentStore, Catalog], clock: Clock
    ) -> None:
        """Type, size and tool are told of a removed blob, to its tenant alone, until the tombstone is old."""
        reference = blobs.put("a", LARGE, media_type="text/csv").reference
        name_blob(stores[1], reference)
        stores[1].delete_conversation("a", "chat")
        clock.ms += DAY_MS
        collector.collect()
        with pytest.raises(
            NotFoundError, match=r"was removed. It was text/csv, 400,000 bytes, a result of list_orders"
        ):
            blobs.open("a", reference.digest)
        with pytest.raises(NotFoundError, match="There is no blob"):
            blobs.open("b", reference.digest)
        clock.ms += TOMBSTONES_KEPT_MS + 1
        collector.collect()
        with pytest.raises(NotFoundError, match="There is no blob"):
            blobs.open("a", reference.digest)

    def test_derived_copies_go_with_their_source(
        self, blobs: BlobStore, collector: Collector, stores: tuple[ContentStore, Catalog], clock: Clock
    ) -> None:
        """A derived copy is kept through its source, however long nobody used it, and removed together with it."""
        source = blobs.put("a", LARGE, media_type="text/csv").reference
        derivation = Derivation(source.digest, "columnar")
        blobs.put("a", b"copy", media_type="x/y", derivation=derivation)
        name_blob(stores[1], source)
        clock.ms += 3 * DAY_MS
        assert collector.collect().blobs == 0
        stores[1].delete_conversation("a", "chat")
        assert collector.collect().blobs == 2
        with pytest.raises(NotFoundError):
            blobs.put("a", b"copy", media_type="x/y", derivation=derivation)

    def test_what_dead_writers_left_is_collected(
        self, collector: Collector, stores: tuple[ContentStore, Catalog], clock: Clock
    ) -> None:
        """Bytes that were never recorded go once no put can be on its way with them any more."""
        clock.ms = now_ms()
        keys = [stores[0].put(Digest.of(each), each) for each in (SMALL, LARGE)]
        assert collector.collect().left_behind == 0
        clock.ms += LEFT_BEHIND_MS + 60_000
        assert collector.collect().left_behind == 2
        assert sorted(stores[0].keys()) == sorted(keys)
        clock.ms += DAY_MS
        assert collector.collect().keys_freed == 2
        assert list(stores[0].keys()) == []

    def test_a_writer_that_slept_too_long_is_told(
        self,
        blobs: BlobStore,
        collector: Collector,
        stores: tuple[ContentStore, Catalog],
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A put that halts between bytes and record while these are collected fails and can be done again."""
        clock.ms = now_ms()
        put_all = stores[0].put_all

        def put_and_sleep(contents: Sequence[tuple[Digest, bytes]]) -> list[str]:
            keys = put_all(contents)
            for _ in range(halts.pop()):
                clock.ms += LEFT_BEHIND_MS + DAY_MS
                collector.collect()
            return keys

        monkeypatch.setattr(stores[0], "put_all", put_and_sleep)
        for count in (1, 2):
            halts = [0, count]
            with pytest.raises(StoreError) as refusal:
                blobs.put("a", SMALL + bytes(count), media_type="text/plain")
            assert refusal.value.is_retryable
            again = blobs.put("a", SMALL + bytes(count), media_type="text/plain").reference
            assert blobs.open("a", again.digest).read(0, 99) == SMALL + bytes(count)

    def test_every_interleaving_with_a_writer_is_safe(
        self, stores: tuple[ContentStore, Catalog], tmp_path: Path
    ) -> None:
        """However a put with its name, and a collection without grace, step past each other: what is named is whole.

        The bytes are new, there but unused, or there but corrupt.
        """
        old = BlobStore(*stores, limits=NO_GRACE, copies_folder=tmp_path / "copies", clock=lambda: 1)
        for scene in ("new", "unused", "corrupt"):
            for number, schedule in enumerate(interleavings(4, 8, most=self.interleavings_max)):
                content, chat = f"{scene} {number}".encode(), f"{scene} {number}"
                digest = Digest.of(content)
                if scene != "new":
                    old.put("a", content, media_type="text/plain")
                if scene == "corrupt":
                    found = stores[1].find_blob("a", digest)
                    assert found is not None
                    stores[1].mark_blob("a", digest, found.key, is_corrupt=True)
                steps = Steps(schedule)
                watched = steps.watch(stores[0], *BYTES_STEPS), steps.watch(stores[1], *RECORDS_STEPS)
                writer = BlobStore(*watched, limits=NO_GRACE, copies_folder=tmp_path / "copies", clock=tick)
                write = partial(put_and_name, writer, watched[1], content, chat)
                is_named, _ = steps.run(write, Collector(*watched, grace_ms=0, clock=tick).collect)
                Collector(*stores, grace_ms=0, clock=tick).collect()
                if is_named:
                    assert old.open("a", digest).read(0, 99) == content, (scene, schedule)
                else:
                    assert stores[1].find_blob("a", digest) is None
                stores[1].delete_conversation("a", chat)
        Collector(*stores, grace_ms=0, clock=tick).collect()
        assert list(stores[0].keys()) == []

    def test_every_interleaving_with_a_reader_is_safe(
        self, stores: tuple[ContentStore, Catalog], tmp_path: Path
    ) -> None:
        """However a reader and a collection without grace step past each other, it reads the bytes or that it is gone.

        The same where the bytes are put again in between.
        """
        old = BlobStore(*stores, limits=Limits(), copies_folder=tmp_path / "copies", clock=lambda: 1)
        for number, schedule in enumerate(interleavings(4, 8, most=self.interleavings_max)):
            content = f"read {number}".encode()
            digest = old.put("a", content, media_type="text/plain").reference.digest
            steps = Steps(schedule)
            watched = steps.watch(stores[0], *BYTES_STEPS), steps.watch(stores[1], *RECORDS_STEPS)
            reader = BlobStore(*watched, limits=Limits(), copies_folder=tmp_path / "copies", clock=lambda: 1)
            again = BlobStore(*watched, limits=Limits(), copies_folder=tmp_path / "copies", clock=lambda: 1)
            collector = Collector(*watched, grace_ms=0, clock=tick)
            read = partial(read_or_none, reader, digest)
            found, _ = steps.run(read, partial(collect_and_put, collector, again, content))
            assert found in (content, None), schedule

    def test_a_race_of_writers_and_collectors_loses_nothing(
        self, stores: tuple[ContentStore, Catalog], tmp_path: Path
    ) -> None:
        """Four writers keep putting, naming and dropping twelve contents, two collectors without grace remove them."""
        race = Race(*stores, tmp_path / "copies", seconds=self.race_seconds)
        race.run(writers=4, collectors=2)
        assert race.lost == []
        assert race.named > 20
        assert race.removed > 0


class StaleReader:
    """Reads by the key that the catalog named when it was made, as a reader does that a removal overtakes."""

    def __init__(self, catalog: Catalog, content: ContentStore, digest: Digest) -> None:
        found = catalog.find_blob("a", digest)
        assert found is not None
        self._record = found
        self._content = content

    def read(self) -> bytes:
        """All bytes."""
        return self._content.read(self._record.key, 0, self._record.size)


BYTES_STEPS = ("put_all", "read", "delete")
RECORDS_STEPS = (
    *("use_blob", "add_blobs", "create_conversation", "find_blob"),
    *("list_unused", "remove_unused", "list_trash", "empty_trash"),
)
"""What writers, readers and collectors do that others can see or that depends on others."""


def put_and_name(blobs: BlobStore, catalog: Catalog, content: bytes, conversation: str) -> bool:
    """Put and name bytes; false where they were collected in between, and that was said."""
    try:
        reference = blobs.put("a", content, media_type="text/plain").reference
        name = NameRecord(1, reference.digest, reference.size, reference.type)
        catalog.create_conversation("a", conversation, created_ms=1, names=(name,))
    except NotFoundError:
        return False
    return True


def read_or_none(blobs: BlobStore, digest: Digest) -> bytes | None:
    """The bytes, or `None` where they are said to be gone."""
    try:
        return blobs.open("a", digest).read(0, 99)
    except NotFoundError:
        return None


def collect_and_put(collector: Collector, blobs: BlobStore, content: bytes) -> None:
    """Collect, then put the bytes again."""
    collector.collect()
    blobs.put("a", content, media_type="text/plain")


_ticks = iter(range(2, 2**62))


def tick() -> int:
    """A time later than any before."""
    return next(_ticks)
