"""The contract suite for catalogs; see `blobs.testing.storage`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, CallerError, ConflictError, NotFoundError, StoreError
from blobs.domain.keys import hash_key
from blobs.storage.access import KeyRecord
from blobs.storage.catalog import Catalog, Change, Finding
from blobs.testing.access import AccessContract
from blobs.testing.keeping import BLUE, GREEN, RED, KeepingContract, blob, name, remove, turn
from blobs.testing.purging import PurgingContract
from blobs.testing.reserving import ReservingContract


class CatalogContract(KeepingContract, ReservingContract, PurgingContract, AccessContract):
    """What every `Catalog` keeps; `make_catalog` answers an empty one that may use the folder."""

    def test_the_version_changes_with_every_write(self, chat: Catalog) -> None:
        """Where a catalog has one: whatever is written, and only then."""
        if chat.version() is None:
            pytest.skip("a catalog without a version")
        writes: list[Callable[[], object]] = [
            lambda: chat.add_blob("b", blob(BLUE)),
            lambda: chat.use_blob("b", BLUE, used_ms=2**40),
            lambda: chat.save_finding("a", RED, "profile", "x"),
            lambda: chat.commit("a", "chat", 1, Change(turn=turn(1), names=(name(1, turn=1),))),
            lambda: chat.commit("a", "chat", 2, Change(drop_turns_from=1)),
            lambda: chat.delete_conversation("a", "chat"),
            lambda: chat.mark_blob("b", BLUE, "k", is_corrupt=True),
            lambda: chat.purge_blob("a", RED, now_ms=5),
            lambda: remove(chat, GREEN),
            lambda: chat.add_key(KeyRecord("k1", hash_key("secret"), "a", "runtime", 5)),
            lambda: chat.remove_key("k1"),
        ]
        seen = [chat.version()]
        for write in writes:
            assert chat.version() == seen[-1]
            write()
            seen.append(chat.version())
        assert len({*seen}) == len(seen)

    def test_tenants_do_not_see_each_other(self, chat: Catalog) -> None:
        """Nothing of one tenant is found, listed, changed or removed by another."""
        chat.commit("a", "chat", 1, Change(turn=turn(1), names=(name(1, turn=1),)))
        chat.save_finding("a", RED, "profile", "x")
        assert chat.find_blob("b", RED) is None
        assert chat.list_blobs("b") == []
        assert remove(chat, RED, tenant="b") == []
        assert chat.find_finding("b", RED, "profile") is None
        assert chat.find_conversation("b", "chat") is None
        assert chat.list_conversations("b") == []
        assert chat.names("b", "chat") == []
        assert chat.find_name("b", "chat", 1) is None
        assert chat.turns("b", "chat") == []
        assert chat.find_turn("b", "chat", 1) is None
        assert chat.delete_conversation("b", "chat") is False
        with pytest.raises(NotFoundError):
            chat.commit("b", "chat", 2, Change())
        assert chat.add_blob("b", blob(RED, "b's own")).key == "b's own"
        assert chat.find_blob("a", RED) == blob(RED)

    def test_another_tenants_blob_cannot_be_named(self, chat: Catalog) -> None:
        """A conversation cannot name a blob that only another tenant has."""
        chat.create_conversation("b", "chat", created_ms=1)
        with pytest.raises(NotFoundError):
            chat.commit("b", "chat", 1, Change(names=(name(1, RED),)))

    def test_findings_are_kept_by_kind_and_replaced(self, chat: Catalog) -> None:
        """A finding is found under its own kind, as it was saved last."""
        chat.save_finding("a", RED, "profile", "old")
        chat.save_finding("a", RED, "profile", "new: é 🦊 \x00")
        chat.save_finding("a", RED, "columnar", "")
        assert chat.find_finding("a", RED, "profile") == "new: é 🦊 \x00"
        assert chat.find_finding("a", RED, "columnar") == ""
        assert chat.find_finding("a", RED, "other") is None
        assert chat.find_finding("a", GREEN, "profile") is None

    def test_a_finding_needs_its_blob(self, catalog: Catalog) -> None:
        """Nothing can be found out about a blob that is not recorded."""
        with pytest.raises(NotFoundError):
            catalog.save_finding("a", RED, "profile", "x")

    def test_a_conversation_begins_empty(self, catalog: Catalog) -> None:
        """A new conversation is at version 1, has no turn, and its first name is 1."""
        made = catalog.create_conversation("a", "chat", created_ms=5, service="large", tools='["x"]')
        assert (made.id, made.version, made.last_turn, made.next_name) == ("chat", 1, None, 1)
        assert (made.service, made.tools, made.created_ms) == ("large", '["x"]', 5)
        assert catalog.find_conversation("a", "chat") == made
        assert catalog.find_conversation("a", "other") is None

    def test_an_id_is_taken_once(self, chat: Catalog) -> None:
        """A second conversation of the same id is refused and changes nothing."""
        with pytest.raises(ConflictError):
            chat.create_conversation("a", "chat", created_ms=2, names=(name(1),))
        found = chat.find_conversation("a", "chat")
        assert found is not None
        assert (found.created_ms, found.next_name) == (1, 1)

    def test_a_conversation_is_carried_on(self, chat: Catalog) -> None:
        """Names and turns that it begins with resolve, and numbering goes on after them."""
        names, turns = (name(2, RED), name(7, GREEN)), (turn(1, record=RED), turn(2))
        made = chat.create_conversation("a", "later", created_ms=1, names=names, turns=turns)
        assert (made.last_turn, made.next_name) == (2, 8)
        assert chat.names("a", "later") == list(names)
        assert chat.turns("a", "later") == list(turns)
        with pytest.raises(NotFoundError):
            chat.create_conversation("a", "broken", created_ms=1, names=(name(1, BLUE),))
        assert chat.find_conversation("a", "broken") is None

    def test_conversations_are_listed_by_id_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each conversation once, ordered by code point."""
        ids = ["A", "a", "b", "é", "～", "🦊"]
        for each in reversed(ids):
            catalog.create_conversation("a", each, created_ms=1)
        listed: list[str] = []
        while page := catalog.list_conversations("a", after=listed[-1] if listed else None, limit=4):
            listed += [each.id for each in page]
        assert listed == ids

    def test_a_deleted_conversation_leaves_its_blobs(self, chat: Catalog) -> None:
        """Names and turns go with it and do not come back with its id; blobs stay."""
        chat.commit("a", "chat", 1, Change(turn=turn(1), names=(name(1, turn=1),)))
        assert chat.delete_conversation("a", "chat") is True
        assert chat.delete_conversation("a", "chat") is False
        assert chat.find_conversation("a", "chat") is None
        assert chat.create_conversation("a", "chat", created_ms=1).next_name == 1
        assert (chat.names("a", "chat"), chat.turns("a", "chat")) == ([], [])
        assert chat.find_blob("a", RED) == blob(RED)

    def test_a_commit_records_a_turn_and_its_names(self, chat: Catalog) -> None:
        """After a commit its turn, names and settings are found as they were given, one version on."""
        first, attached = name(1, RED, turn=1, previewed_turn=1), name(2, GREEN)
        done = turn(1, '[{"text":"é"}]', record=GREEN)
        change = Change(turn=done, names=(first, attached), service="small", tools="[1]")
        assert chat.commit("a", "chat", 1, change) == 2
        assert chat.names("a", "chat") == [first, attached]
        assert chat.find_name("a", "chat", 2) == attached
        assert chat.find_name("a", "chat", 3) is None
        assert chat.turns("a", "chat") == [done]
        assert chat.find_turn("a", "chat", 1) == done
        assert chat.find_turn("a", "chat", 2) is None
        found = chat.find_conversation("a", "chat")
        assert found is not None
        assert (found.version, found.last_turn, found.next_name) == (2, 1, 3)
        assert (found.service, found.tools) == ("small", "[1]")

    def test_settings_not_given_stay(self, catalog: Catalog) -> None:
        """A change without service and tools leaves both."""
        catalog.create_conversation("a", "chat", created_ms=1, service="large", tools="[]")
        catalog.commit("a", "chat", 1, Change(turn=turn(1)))
        found = catalog.find_conversation("a", "chat")
        assert found is not None
        assert (found.service, found.tools) == ("large", "[]")

    def test_a_name_can_be_replaced(self, chat: Catalog) -> None:
        """A name given again takes the place of the one with its number."""
        chat.commit("a", "chat", 1, Change(names=(name(1),)))
        shown = name(1, previewed_turn=1)
        chat.commit("a", "chat", 2, Change(turn=turn(1), names=(shown,)))
        assert chat.names("a", "chat") == [shown]

    def test_a_commit_brings_the_blobs_that_it_names(self, chat: Catalog) -> None:
        """New blobs and what was found out about them are recorded with the turn; the first record of a blob wins."""
        news = (blob(BLUE, "new", used_ms=3), blob(RED, "second"))
        found = (Finding(BLUE, "profile", "{}"), Finding(GREEN, "profile", "[]"))
        change = Change(turn=turn(1, record=BLUE), names=(name(1, BLUE),), blobs=news, findings=found)
        assert chat.commit("a", "chat", 1, change) == 2
        assert chat.find_blob("a", BLUE) == news[0]
        assert chat.find_blob("a", RED) == blob(RED)
        assert [chat.find_finding("a", each, "profile") for each in (BLUE, GREEN, RED)] == ["{}", "[]", None]
        assert chat.names("a", "chat") == [name(1, BLUE)]

    def test_the_blobs_of_a_refused_commit_are_not_recorded(self, chat: Catalog) -> None:
        """An old version, a missing blob, a turn that is there or a key in the trash: nothing of the change is kept."""
        chat.trash_unrecorded(["trashed"], now_ms=1)
        chat.commit("a", "chat", 1, Change(turn=turn(1)))
        missing = Digest.of(b"missing")
        news, found = (blob(BLUE, "new"),), (Finding(BLUE, "profile", "{}"), Finding(RED, "profile", "{}"))
        refusals: list[tuple[int, Change, type[BlobsError]]] = [
            (1, Change(turn=turn(2)), ConflictError),
            (2, Change(turn=turn(1)), ConflictError),
            (2, Change(turn=turn(2), names=(name(1, missing),)), NotFoundError),
            (2, Change(turn=turn(2), findings=(Finding(missing, "profile", "{}"),)), NotFoundError),
            (2, Change(turn=turn(2), blobs=(blob(missing, "trashed"),)), StoreError),
        ]
        for version, change, kind in refusals:
            whole = replace(change, blobs=news + change.blobs, findings=found + change.findings)
            with pytest.raises(kind):
                chat.commit("a", "chat", version, whole)
            assert chat.find_blob("a", BLUE) is None
            assert chat.find_finding("a", RED, "profile") is None
            assert chat.find_turn("a", "chat", 2) is None
        assert chat.tenant_bytes("a") == 6

    def test_a_commit_at_an_old_version_is_refused_whole(self, chat: Catalog) -> None:
        """Who has not seen the newest version changes nothing."""
        chat.commit("a", "chat", 1, Change(turn=turn(1)))
        with pytest.raises(ConflictError) as refusal:
            chat.commit("a", "chat", 1, Change(drop_turns_from=1, names=(name(1),)))
        assert refusal.value.code == "version_conflict"
        assert chat.turns("a", "chat") == [turn(1)]
        assert chat.names("a", "chat") == []

    def test_one_of_many_racing_commits_wins(self, chat: Catalog) -> None:
        """Of many threads that commit on one version exactly one succeeds."""

        def commit(number: int) -> bool:
            try:
                chat.commit("a", "chat", 1, Change(names=(name(number),)))
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(commit, range(1, 17)))
        assert results.count(True) == 1
        assert [each.number for each in chat.names("a", "chat")] == [results.index(True) + 1]

    def test_a_commit_of_something_missing_is_refused_whole(self, chat: Catalog) -> None:
        """A name or record of a blob that is not there undoes everything else in the change."""
        chat.commit("a", "chat", 1, Change(turn=turn(1)))
        for change in (
            Change(drop_turns_from=1, turn=turn(1, "new"), names=(name(1, RED), name(2, BLUE)), service="x"),
            Change(drop_turns_from=1, turn=turn(1, "new", record=BLUE), names=(name(1, RED),), service="x"),
        ):
            with pytest.raises(NotFoundError):
                chat.commit("a", "chat", 2, change)
        assert chat.turns("a", "chat") == [turn(1)]
        assert chat.names("a", "chat") == []
        found = chat.find_conversation("a", "chat")
        assert found is not None
        assert (found.version, found.service) == (2, None)
        with pytest.raises(NotFoundError):
            chat.commit("a", "other", 1, Change())

    def test_a_turn_is_added_once(self, chat: Catalog) -> None:
        """A turn that is there must be dropped in the same change that gives it anew."""
        chat.commit("a", "chat", 1, Change(turn=turn(1)))
        with pytest.raises(ConflictError) as refusal:
            chat.commit("a", "chat", 2, Change(turn=turn(1, "new")))
        assert refusal.value.code == "turn_exists"
        chat.commit("a", "chat", 2, Change(drop_turns_from=1, turn=turn(1, "new")))
        assert chat.turns("a", "chat") == [turn(1, "new")]

    def test_a_rollback_takes_back_turns_names_and_shown_flags(self, chat: Catalog) -> None:
        """What the dropped turns gave is gone, what they showed counts as unseen, and numbers are given again."""
        chat.commit("a", "chat", 1, Change(names=(name(1, GREEN),)))
        chat.commit("a", "chat", 2, Change(turn=turn(1), names=(name(2, turn=1, previewed_turn=1),)))
        shown = (name(1, GREEN, previewed_turn=2), name(3, turn=2, previewed_turn=2))
        chat.commit("a", "chat", 3, Change(turn=turn(2), names=shown))
        chat.commit("a", "chat", 4, Change(turn=turn(3), names=(name(4, turn=3),)))
        assert chat.commit("a", "chat", 5, Change(drop_turns_from=2)) == 6
        assert chat.turns("a", "chat") == [turn(1)]
        assert chat.names("a", "chat") == [name(1, GREEN), name(2, turn=1, previewed_turn=1)]
        found = chat.find_conversation("a", "chat")
        assert found is not None
        assert (found.last_turn, found.next_name) == (1, 3)

    def test_turns_come_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each turn once, in order."""
        turns = tuple(turn(number) for number in (3, 1, 2, 12, 4))
        catalog.create_conversation("a", "chat", created_ms=1, turns=turns)
        assert [each.number for each in catalog.turns("a", "chat", limit=2)] == [1, 2]
        assert [each.number for each in catalog.turns("a", "chat", after=2, limit=2)] == [3, 4]
        assert [each.number for each in catalog.turns("a", "chat", after=4)] == [12]

    def test_answers_are_kept_to_the_byte(self, chat: Catalog) -> None:
        """What a model once read comes back as it was, whatever it holds and however large it is."""
        answer = "\ufeff\r\n\x00\x1b[31m é e\u0301 🦊 " + "x" * 3_000_000
        chat.commit("a", "chat", 1, Change(turn=turn(1, answer)))
        found = chat.find_turn("a", "chat", 1)
        assert found is not None
        assert found.answer == answer

    def test_text_that_cannot_be_written_is_the_callers_fault(self, chat: Catalog) -> None:
        """Lone surrogates are refused as the caller's error, and nothing is recorded."""
        with pytest.raises(CallerError):
            chat.create_conversation("a", "\ud800", created_ms=1)
        with pytest.raises(CallerError):
            chat.commit("a", "chat", 1, Change(turn=turn(1, "\udfff")))
        assert [each.id for each in chat.list_conversations("a")] == ["chat"]
        assert chat.turns("a", "chat") == []

    def test_closing_twice_does_nothing(self, catalog: Catalog) -> None:
        """A second close is no error."""
        catalog.close()
        catalog.close()
