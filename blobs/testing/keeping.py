"""The contract suite for what catalogs promise about blobs over time; see `blobs.testing.storage`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError, StoreError
from blobs.domain.reference import Reference
from blobs.storage.catalog import Catalog, Change, NameRecord, TurnRecord
from blobs.storage.keeping import BlobRecord, Derivation, NewBlob, Pin, Tombstone

LATE = 2_000_000_000_000
"""Unix time, ms: later than anything in these tests."""

RED, GREEN, BLUE = (Digest.of(each) for each in (b"red", b"green", b"blue"))


def blob(digest: Digest, key: str = "k", *, size: int = 3, used_ms: int = 0) -> BlobRecord:
    """A blob's record for tests."""
    return BlobRecord(digest, size, key, 1_700_000_000_000, used_ms)


def name(
    number: int, digest: Digest = RED, *, turn: int | None = None, previewed_turn: int | None = None
) -> NameRecord:
    """A name's record for tests."""
    return NameRecord(number, digest, 3, "text/plain", turn, "list_orders", previewed_turn is not None, previewed_turn)


def turn(number: int, answer: str = "[]", *, record: Digest | None = None) -> TurnRecord:
    """A turn's record for tests."""
    reference = None if record is None else Reference(record, 3, "application/json")
    return TurnRecord(number, f"request {number}", answer, reference)


def remove(catalog: Catalog, *digests: Digest, tenant: str = "a", since_ms: int = LATE) -> list[BlobRecord]:
    """Remove blobs that are unused, at the time `LATE`."""
    return catalog.remove_unused(tenant, digests, since_ms=since_ms, now_ms=LATE)


class KeepingContract:
    """What every catalog keeps of blobs; `make_catalog` answers an empty one that may use the folder."""

    def make_catalog(self, folder: Path) -> Catalog:
        """Make the catalog under test."""
        raise NotImplementedError

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Iterator[Catalog]:
        """The catalog under test, closed afterwards."""
        catalog = self.make_catalog(tmp_path)
        yield catalog
        catalog.close()

    @pytest.fixture
    def chat(self, catalog: Catalog) -> Catalog:
        """The catalog with the blobs red and green and an empty conversation `chat`, all of tenant `a`."""
        catalog.add_blob("a", blob(RED))
        catalog.add_blob("a", blob(GREEN))
        catalog.create_conversation("a", "chat", created_ms=1)
        return catalog

    def test_a_blob_is_found_as_it_was_recorded(self, catalog: Catalog) -> None:
        """A record comes back whole; what was not recorded is not found."""
        record = BlobRecord(RED, 2**40, "ab/cd.ef", 1_700_000_000_000)
        assert catalog.find_blob("a", RED) is None
        assert catalog.add_blob("a", record) == record
        assert catalog.find_blob("a", RED) == record
        assert catalog.find_blob("a", GREEN) is None

    def test_the_first_record_of_a_blob_wins(self, catalog: Catalog) -> None:
        """A second record of a digest changes nothing and learns the first one's key."""
        catalog.add_blob("a", blob(RED, "first"))
        assert catalog.add_blob("a", blob(RED, "second")).key == "first"
        assert catalog.find_blob("a", RED) == blob(RED, "first")

    def test_one_of_many_racing_records_wins(self, catalog: Catalog) -> None:
        """Of many threads that record a blob at once all learn the same winner."""
        with ThreadPoolExecutor(8) as pool:
            winners = list(pool.map(lambda number: catalog.add_blob("a", blob(RED, f"key {number}")).key, range(32)))
        found = catalog.find_blob("a", RED)
        assert found is not None
        assert set(winners) == {found.key}

    def test_several_blobs_are_recorded_each_as_if_alone(self, catalog: Catalog) -> None:
        """New ones, one that is there, one twice, a corrupt one and one that is refused each get their own answer."""
        catalog.add_blob("a", blob(RED, "first"))
        catalog.add_blob("a", blob(BLUE, "bad"))
        catalog.mark_blob("a", BLUE, "bad", is_corrupt=True)
        news = [
            ("b", RED, "b's"),
            ("a", RED, "second"),
            ("a", GREEN, "new"),
            ("a", GREEN, "again"),
            ("a", BLUE, "good"),
        ]
        news += [("b", GREEN, "bad")]
        answers = catalog.add_blobs([NewBlob(tenant, blob(digest, key)) for tenant, digest, key in news])
        keys = [each.key if isinstance(each, BlobRecord) else type(each) for each in answers]
        assert keys == ["b's", "first", "new", "new", "good", StoreError]
        assert catalog.tenant_bytes("a") == 9
        assert catalog.find_blob("b", GREEN) is None
        assert catalog.add_blobs([]) == []

    def test_several_new_blobs_are_recorded_at_once(self, catalog: Catalog) -> None:
        """Each is found as it was recorded, in place of what was set aside for it, and has no tombstone any more."""
        catalog.add_blob("a", blob(RED))
        catalog.create_conversation("a", "chat", created_ms=1, names=(NameRecord(1, RED, 1, "text/plain"),))
        catalog.delete_conversation("a", "chat")
        remove(catalog, RED)
        catalog.reserve("a", "held", 4, bytes_max=10, now_ms=1, until_ms=99)
        records = [blob(RED, "again"), blob(GREEN, "new", used_ms=7)]
        news = [NewBlob("a", records[0], reservation="held"), NewBlob("a", records[1])]
        assert catalog.add_blobs(news) == records
        assert [catalog.find_blob("a", each.digest) for each in records] == records
        assert catalog.find_tombstone("a", RED) is None
        catalog.reserve("a", "other", 4, bytes_max=10, now_ms=1, until_ms=99)

    def test_blobs_that_are_there_and_sound_are_known(self, catalog: Catalog) -> None:
        """A blob is known to its tenant, and not while it is corrupt."""
        catalog.add_blob("a", blob(RED))
        catalog.add_blob("b", blob(GREEN))
        catalog.add_blob("a", blob(BLUE, "bad"))
        catalog.mark_blob("a", BLUE, "bad", is_corrupt=True)
        places = [(tenant, digest) for tenant in ("a", "b") for digest in (RED, GREEN, BLUE)]
        assert catalog.known_blobs(places) == {("a", RED), ("b", GREEN)}
        assert catalog.known_blobs([]) == set()

    def test_blobs_are_listed_by_digest_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each blob once, in order."""
        digests = sorted(Digest.of(bytes([number])) for number in range(7))
        for each in digests:
            catalog.add_blob("a", blob(each))
        listed: list[Digest] = []
        while page := catalog.list_blobs("a", after=listed[-1] if listed else None, limit=3):
            assert len(page) <= 3
            listed += [each.digest for each in page]
        assert listed == digests

    def test_tenants_with_blobs_are_listed_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each tenant once, by code point; one whose last blob went is left out."""
        tenants = ["A", "a", "b", "é", "～", "🦊"]
        for each in reversed(tenants):
            catalog.add_blob(each, blob(RED, each))
        remove(catalog, RED, tenant="b")
        listed: list[str] = []
        while page := catalog.list_tenants(after=listed[-1] if listed else None, limit=4):
            listed += page
        assert listed == ["A", "a", "é", "～", "🦊"]

    # Use

    def test_a_use_makes_a_blob_younger_and_never_older(self, catalog: Catalog) -> None:
        """The time of the latest use is kept, whether it was found or put."""
        catalog.add_blob("a", blob(RED, used_ms=50))
        for used_ms, kept_ms in [(40, 50), (60, 60), (0, 60)]:
            assert catalog.use_blob("a", RED, used_ms=used_ms) == blob(RED, used_ms=kept_ms)
        assert catalog.add_blob("a", blob(RED, "second", used_ms=70)) == blob(RED, used_ms=70)
        assert catalog.find_blob("a", RED) == blob(RED, used_ms=70)
        assert catalog.use_blob("a", GREEN, used_ms=1) is None
        assert catalog.use_blob("b", RED, used_ms=1) is None

    def test_a_corrupt_blob_is_not_used_and_gives_way(self, catalog: Catalog) -> None:
        """A blob marked corrupt is not found for use; the next record takes its place and its key goes to the trash."""
        catalog.add_blob("a", blob(RED, "bad", used_ms=5))
        assert catalog.mark_blob("a", RED, "other", is_corrupt=True) is False
        assert catalog.mark_blob("a", GREEN, "bad", is_corrupt=True) is False
        assert catalog.mark_blob("a", RED, "bad", is_corrupt=True) is True
        found = catalog.find_blob("a", RED)
        assert found is not None
        assert found.is_corrupt
        assert catalog.use_blob("a", RED, used_ms=9) is None
        assert catalog.add_blob("a", blob(RED, "good", used_ms=4)) == blob(RED, "good", used_ms=5)
        assert catalog.list_trash(before_ms=LATE) == ["bad"]
        assert catalog.tenant_bytes("a") == 3

    def test_a_mark_can_be_taken_back(self, catalog: Catalog) -> None:
        """Bytes that came back, from a backup perhaps, are sound again."""
        catalog.add_blob("a", blob(RED))
        for is_corrupt in (True, False):
            assert catalog.mark_blob("a", RED, "k", is_corrupt=is_corrupt) is True
        assert catalog.find_blob("a", RED) == blob(RED)

    # Removal

    def test_a_removed_blob_is_gone_with_its_findings(self, chat: Catalog) -> None:
        """Removing answers the record, once, and puts its key into the trash; a later record begins anew."""
        chat.save_finding("a", RED, "profile", "old")
        chat.pin_blob("a", RED, Pin("lease", 7))
        assert remove(chat, RED, BLUE) == [blob(RED)]
        assert remove(chat, RED) == []
        assert chat.find_blob("a", RED) is None
        assert chat.list_trash(before_ms=LATE) == ["k"]
        assert chat.add_blob("a", blob(RED, "new")).key == "new"
        assert chat.find_finding("a", RED, "profile") is None
        assert chat.list_pins("a", RED) == []

    def test_a_named_blob_is_not_removed(self, chat: Catalog) -> None:
        """A blob stays while a name or a turn's record needs it, and can go afterwards."""
        chat.commit("a", "chat", 1, Change(turn=turn(1, record=GREEN), names=(name(1, RED, turn=1),)))
        assert chat.list_unused("a", since_ms=LATE, now_ms=LATE) == []
        assert remove(chat, RED, GREEN) == []
        assert chat.delete_conversation("a", "chat") is True
        assert {each.digest for each in chat.list_unused("a", since_ms=LATE, now_ms=LATE)} == {RED, GREEN}
        assert remove(chat, RED, GREEN) == [blob(RED), blob(GREEN)]

    def test_retention_counts_from_the_last_use(self, catalog: Catalog) -> None:
        """A blob is unused from the moment of its last use on, not before."""
        catalog.add_blob("a", blob(RED, used_ms=100))
        assert remove(catalog, RED, since_ms=99) == []
        assert catalog.list_unused("a", since_ms=99, now_ms=LATE) == []
        assert catalog.list_unused("a", since_ms=100, now_ms=LATE) == [blob(RED, used_ms=100)]
        assert remove(catalog, RED, since_ms=100) == [blob(RED, used_ms=100)]

    def test_unused_blobs_are_listed_by_digest_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each unused blob once, in order."""
        digests = sorted(Digest.of(bytes([number])) for number in range(9))
        for number, each in enumerate(digests):
            catalog.add_blob("a", blob(each, used_ms=number % 2))
        listed: list[Digest] = []
        while page := catalog.list_unused("a", since_ms=0, now_ms=1, after=listed[-1] if listed else None, limit=2):
            listed += [each.digest for each in page]
        assert listed == digests[::2]

    def test_a_pin_holds_until_it_ends(self, chat: Catalog) -> None:
        """A pin holds a blob for as long as it is there, a lease until its time; each name holds for itself."""
        chat.pin_blob("a", RED, Pin("lease", LATE + 1))
        chat.pin_blob("a", RED, Pin("for good"))
        assert chat.list_pins("a", RED) == [Pin("for good"), Pin("lease", LATE + 1)]
        assert chat.unpin_blob("a", RED, "for good") is True
        assert chat.unpin_blob("a", RED, "for good") is False
        assert remove(chat, RED) == []
        chat.pin_blob("a", RED, Pin("lease", LATE))
        assert chat.list_pins("a", RED) == [Pin("lease", LATE)]
        assert remove(chat, RED) == [blob(RED)]
        with pytest.raises(NotFoundError):
            chat.pin_blob("a", RED, Pin("lease"))

    def test_tenants_do_not_keep_each_others_blobs(self, chat: Catalog) -> None:
        """Another tenant's name or pin of the same digest keeps nothing."""
        chat.add_blob("b", blob(RED, "b's"))
        chat.create_conversation("b", "chat", created_ms=1, names=(name(1, RED),))
        chat.pin_blob("b", RED, Pin("pin"))
        assert remove(chat, RED) == [blob(RED)]
        assert chat.unpin_blob("a", RED, "pin") is False
        assert remove(chat, RED, tenant="b") == []

    # Derived blobs

    def test_a_derived_blob_is_kept_exactly_as_long_as_its_source(self, chat: Catalog) -> None:
        """It stays while its source is kept, at any remove, and is unused with it."""
        chat.commit("a", "chat", 1, Change(names=(name(1, RED),)))
        remove(chat, GREEN)
        chat.add_blob("a", blob(GREEN, "copy"), derivation=Derivation(RED, "columnar"))
        chat.add_blob("a", blob(BLUE, "copy of the copy"), derivation=Derivation(GREEN, "columnar"))
        assert chat.find_derived("a", Derivation(RED, "columnar")) == GREEN
        assert chat.find_derived("a", Derivation(RED, "other")) is None
        assert chat.find_derived("b", Derivation(RED, "columnar")) is None
        assert remove(chat, GREEN, BLUE) == []
        chat.delete_conversation("a", "chat")
        assert len(chat.list_unused("a", since_ms=0, now_ms=LATE)) == 3
        assert len(remove(chat, BLUE, RED, GREEN)) == 3
        assert chat.list_blobs("a") == []

    def test_a_derived_blob_that_is_used_itself_outlives_its_source(self, chat: Catalog) -> None:
        """What somebody put or named besides is kept for that."""
        remove(chat, GREEN)
        chat.add_blob("a", blob(GREEN, "copy"), derivation=Derivation(RED, "columnar"))
        chat.use_blob("a", GREEN, used_ms=100)
        assert remove(chat, RED, GREEN, since_ms=99) == [blob(RED)]
        assert chat.find_derived("a", Derivation(RED, "columnar")) is None
        assert remove(chat, GREEN, since_ms=100) == [blob(GREEN, "copy", used_ms=100)]

    def test_a_derivation_needs_its_source(self, catalog: Catalog) -> None:
        """Nothing is derived from a blob that is not there, and then nothing is recorded."""
        catalog.add_blob("a", blob(GREEN))
        with pytest.raises(NotFoundError):
            catalog.add_blob("a", blob(BLUE), derivation=Derivation(RED, "columnar"))
        with pytest.raises(NotFoundError):
            catalog.use_blob("a", GREEN, used_ms=5, derivation=Derivation(RED, "columnar"))
        assert catalog.list_blobs("a") == [blob(GREEN)]

    def test_a_blob_can_be_its_own_derivation(self, chat: Catalog) -> None:
        """One that is already in the derived form keeps nothing but is found, and can be removed."""
        assert chat.use_blob("a", RED, used_ms=0, derivation=Derivation(RED, "columnar")) == blob(RED)
        assert chat.find_derived("a", Derivation(RED, "columnar")) == RED
        assert remove(chat, RED) == [blob(RED)]

    def test_a_forgotten_derivation_keeps_nothing(self, chat: Catalog) -> None:
        """After it is forgotten the recipe finds nothing, and the blob is kept only for what else names it."""
        chat.use_blob("a", GREEN, used_ms=0, derivation=Derivation(RED, "columnar"))
        chat.use_blob("a", RED, used_ms=LATE + 1)
        assert remove(chat, GREEN) == []
        assert chat.forget_derived("a", GREEN) is True
        assert chat.forget_derived("a", GREEN) is False
        assert chat.find_derived("a", Derivation(RED, "columnar")) is None
        assert remove(chat, GREEN) == [blob(GREEN)]

    # Trash

    def test_only_keys_without_a_record_are_trashed(self, catalog: Catalog) -> None:
        """A key that a record names, or that is in the trash, is left as it is."""
        catalog.add_blob("a", blob(RED, "recorded"))
        keys = ["left behind", "recorded", "new"]
        assert catalog.list_unrecorded(keys) == ["left behind", "new"]
        assert catalog.trash_unrecorded(["left behind", "recorded"], now_ms=7) == ["left behind"]
        assert catalog.list_unrecorded(keys) == ["new"]
        assert catalog.trash_unrecorded(keys, now_ms=8) == ["new"]
        assert catalog.list_trash(before_ms=6) == []
        assert catalog.list_trash(before_ms=7) == ["left behind"]
        assert catalog.list_trash(before_ms=8, limit=1) == ["left behind"]
        assert catalog.list_trash(before_ms=8) == ["left behind", "new"]
        catalog.empty_trash(["left behind", "unknown"])
        assert catalog.list_trash(before_ms=8) == ["new"]

    def test_a_key_in_the_trash_is_never_recorded(self, catalog: Catalog) -> None:
        """A put whose bytes are being collected is told to put them again, and records nothing."""
        catalog.trash_unrecorded(["late"], now_ms=7)
        with pytest.raises(StoreError) as refusal:
            catalog.add_blob("a", blob(RED, "late"))
        assert refusal.value.is_retryable
        assert catalog.find_blob("a", RED) is None

    # Tombstones

    def test_a_removed_blob_leaves_what_it_was(self, chat: Catalog) -> None:
        """Type, size and tool of the last name are known after the removal, until the blob is put again."""
        old = NameRecord(2, GREEN, 3, "text/csv", None, "list_orders")
        chat.commit("a", "chat", 1, Change(names=(name(1), replace(old, type="text/plain"))))
        chat.commit("a", "chat", 2, Change(names=(old,)))
        chat.delete_conversation("a", "chat")
        assert chat.find_tombstone("a", GREEN) is None
        remove(chat, GREEN)
        assert chat.find_tombstone("a", GREEN) == Tombstone(GREEN, 3, "text/csv", "list_orders", LATE)
        assert chat.find_tombstone("b", GREEN) is None
        with pytest.raises(NotFoundError, match=r"text/csv, 3 bytes, a result of list_orders"):
            chat.create_conversation("a", "stale", created_ms=1, names=(old,))
        chat.add_blob("a", blob(GREEN, "again"))
        assert chat.find_tombstone("a", GREEN) is None

    def test_a_blob_that_was_never_named_leaves_nothing(self, chat: Catalog) -> None:
        """Of it nobody can hold a stale name."""
        remove(chat, RED)
        assert chat.find_tombstone("a", RED) is None

    def test_tombstones_are_forgotten_by_age(self, chat: Catalog) -> None:
        """Those of removals before a time go, and are counted."""
        chat.create_conversation("a", "later", created_ms=1, names=(name(1),))
        chat.delete_conversation("a", "later")
        remove(chat, RED)
        assert chat.forget_tombstones(before_ms=LATE) == 0
        assert chat.forget_tombstones(before_ms=LATE + 1) == 1
        assert chat.find_tombstone("a", RED) is None
