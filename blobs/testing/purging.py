"""The contract suite for what catalogs promise about purges; see `blobs.testing.storage`."""

from blobs.storage.catalog import Catalog, Change
from blobs.storage.keeping import Derivation, Pin, Tombstone
from blobs.testing.keeping import BLUE, GREEN, LATE, RED, blob, name, remove


class PurgingContract:
    """What every catalog keeps of purges."""

    def test_a_purge_takes_a_blob_and_what_was_derived_from_it(self, chat: Catalog) -> None:
        """At any remove, whatever pins them or uses them, and nothing of another blob or tenant."""
        chat.add_blob("b", blob(RED, "b's"))
        chat.add_blob("a", blob(BLUE, "copy", used_ms=LATE), derivation=Derivation(RED, "columnar"))
        chat.use_blob("a", GREEN, used_ms=LATE, derivation=Derivation(BLUE, "index"))
        chat.pin_blob("a", RED, Pin("mine"))
        purged = chat.purge_blob("a", RED, now_ms=7)
        assert [each.digest for each in purged] == sorted([RED, GREEN, BLUE])
        assert {each.key for each in purged} == {"k", "copy"}
        assert chat.list_trash(before_ms=7) == ["copy", "k"]
        assert chat.list_blobs("a") == []
        assert chat.tenant_bytes("a") == 0
        assert chat.purge_blob("a", RED, now_ms=8) == []
        assert chat.list_blobs("b") == [blob(RED, "b's")]

    def test_a_purged_blob_that_is_named_leaves_its_record(self, chat: Catalog) -> None:
        """Without a key and what was found out, until nothing names it; a put makes it whole again."""
        chat.commit("a", "chat", 1, Change(names=(name(1),)))
        chat.save_finding("a", RED, "profile", "secret")
        assert chat.purge_blob("a", RED, now_ms=7) == [blob(RED)]
        assert chat.purge_blob("a", RED, now_ms=8) == []
        found = chat.find_blob("a", RED)
        assert found is not None
        assert found.is_purged
        assert chat.find_finding("a", RED, "profile") is None
        assert chat.find_tombstone("a", RED) == Tombstone(RED, 3, "text/plain", "list_orders", 7)
        assert chat.use_blob("a", RED, used_ms=9) is None
        assert chat.names("a", "chat") == [name(1)]
        assert chat.add_blob("a", blob(RED, "again")) == blob(RED, "again")
        assert chat.find_tombstone("a", RED) is None
        chat.purge_blob("a", RED, now_ms=9)
        chat.delete_conversation("a", "chat")
        assert [each.digest for each in remove(chat, RED)] == [RED]
        assert chat.list_trash(before_ms=LATE) == ["k", "again"]
