"""The SQLite catalog under random use answers as the one in memory does."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError
from blobs.domain.reference import Reference
from blobs.storage.catalog import BlobRecord, Change, NameRecord, TurnRecord
from blobs.storage.memory import MemoryCatalog
from blobs.storage.sqlite import SqliteCatalog

TENANTS, CHATS = ("a", "b"), ("chat", "Chat", "é")
DIGESTS = [Digest.of(bytes([number])) for number in range(4)]

tenants = st.sampled_from(TENANTS)
chats = st.sampled_from(CHATS)
digests = st.sampled_from(DIGESTS)
numbers = st.integers(1, 5)
texts = st.text(max_size=8)
maybe_texts = st.none() | texts
maybe_numbers = st.none() | numbers
references = st.builds(Reference, digests, st.integers(0, 2**62), st.just("text/csv"))
names = st.builds(
    NameRecord, numbers, digests, st.integers(0, 2**62), texts, maybe_numbers, maybe_texts, st.booleans(), maybe_numbers
)
turns = st.builds(TurnRecord, numbers, texts, texts, st.none() | references)
changes = st.builds(
    Change,
    drop_turns_from=maybe_numbers,
    turn=st.none() | turns,
    names=st.lists(names, max_size=3).map(tuple),
    service=maybe_texts,
    tools=maybe_texts,
)


class CatalogMachine(RuleBasedStateMachine):
    """Each step is taken on both catalogs, which must answer, refuse and hold the same."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "catalog.db"
        self._memory, self._sqlite = MemoryCatalog(), SqliteCatalog(self._path)

    def teardown(self):
        self._sqlite.close()
        self._folder.cleanup()

    def both(self, verb, *arguments, **options):
        answers = []
        for catalog in (self._memory, self._sqlite):
            try:
                answers.append(getattr(catalog, verb)(*arguments, **options))
            except BlobsError as refusal:
                answers.append((type(refusal), refusal.code, str(refusal)))
        assert answers[0] == answers[1]
        return answers[0]

    @initialize()
    def begin(self):
        """Begin with something to name, so that few steps are refused."""
        for digest in DIGESTS[:2]:
            self.both("add_blob", "a", BlobRecord(digest, 1, "first", 1))
        self.both("create_conversation", "a", "chat", created_ms=1)

    @rule(tenant=tenants, digest=digests, size=st.integers(0, 2**62), key=texts)
    def add_blob(self, tenant, digest, size, key):
        self.both("add_blob", tenant, BlobRecord(digest, size, key, size))

    @rule(tenant=tenants, digest=digests)
    def forget_blob(self, tenant, digest):
        self.both("forget_blob", tenant, digest)

    @rule(tenant=tenants, digest=digests, kind=st.sampled_from(["profile", "columnar"]), text=texts)
    def save_finding(self, tenant, digest, kind, text):
        self.both("save_finding", tenant, digest, kind, text)

    @rule(
        tenant=tenants,
        chat=chats,
        created_ms=st.integers(0, 2**40),
        service=maybe_texts,
        carried=st.lists(names, max_size=2, unique_by=lambda each: each.number),
        done=st.lists(turns, max_size=2, unique_by=lambda each: each.number),
    )
    def create_conversation(self, tenant, chat, created_ms, service, carried, done):
        self.both(
            "create_conversation",
            tenant,
            chat,
            created_ms=created_ms,
            service=service,
            names=tuple(carried),
            turns=tuple(done),
        )

    @rule(tenant=tenants, chat=chats)
    def delete_conversation(self, tenant, chat):
        self.both("delete_conversation", tenant, chat)

    @rule(tenant=tenants, chat=chats, change=changes, is_current=st.integers(0, 9).map(bool))
    def commit(self, tenant, chat, change, is_current):
        found = self._memory.find_conversation(tenant, chat)
        version = found.version if found and is_current else 1
        self.both("commit", tenant, chat, version, change)

    @rule()
    def reopen(self):
        """Close the file and open it again."""
        self._sqlite.close()
        self._sqlite = SqliteCatalog(self._path)

    @invariant()
    def they_hold_the_same(self):
        for tenant in TENANTS:
            self.both("list_blobs", tenant)
            self.both("list_blobs", tenant, after=sorted(DIGESTS)[1], limit=1)
            self.both("list_conversations", tenant)
            self.both("list_conversations", tenant, after="Chat", limit=1)
            for digest in DIGESTS:
                self.both("find_finding", tenant, digest, "profile")
            for chat in CHATS:
                self.both("names", tenant, chat)
                self.both("find_name", tenant, chat, 2)
                self.both("turns", tenant, chat)
                self.both("turns", tenant, chat, after=1, limit=1)
                self.both("find_turn", tenant, chat, 2)


TestCatalogMachine = CatalogMachine.TestCase
TestCatalogMachine.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
