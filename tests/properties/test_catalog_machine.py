"""The SQLite catalog under random use answers as the one in memory does."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError
from blobs.domain.reference import Reference
from blobs.storage.catalog import Change, Finding, NameRecord, TurnRecord
from blobs.storage.keeping import BlobRecord, Derivation, NewBlob, Pin
from blobs.storage.memory import MemoryCatalog
from blobs.storage.sqlite import SqliteCatalog

TENANTS, CHATS = ("a", "b"), ("chat", "Chat", "é")
DIGESTS = [Digest.of(bytes([number])) for number in range(4)]

tenants = st.sampled_from(TENANTS)
chats = st.sampled_from(CHATS)
digests = st.sampled_from(DIGESTS)
numbers = st.integers(1, 5)
texts = st.text(max_size=8)
times = st.integers(0, 4)
keys = st.sampled_from(["k1", "k2", "k3", "k4", "k5"])
derivations = st.builds(Derivation, digests, st.sampled_from(["columnar", "é"]))
maybe_derivations = st.none() | derivations
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
    blobs=st.lists(st.builds(BlobRecord, digests, st.integers(0, 99), keys, times, times), max_size=3).map(tuple),
    findings=st.lists(st.builds(Finding, digests, texts, texts), max_size=2).map(tuple),
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

    @rule(
        tenant=tenants,
        digest=digests,
        size=st.integers(0, 2**40),
        key=keys | texts,
        used_ms=times,
        derivation=maybe_derivations,
        reservation=st.none() | st.just("one"),
    )
    def add_blob(self, tenant, digest, size, key, used_ms, derivation, reservation):
        record = BlobRecord(digest, size, key, size % 5, used_ms)
        self.both("add_blob", tenant, record, derivation=derivation, reservation=reservation)

    @rule(news=st.lists(st.tuples(tenants, digests, keys | texts, times, maybe_derivations), max_size=4))
    def add_blobs(self, news):
        answers = []
        for catalog in (self._memory, self._sqlite):
            given = [
                NewBlob(tenant, BlobRecord(digest, 1, key, 1, used_ms), derivation)
                for tenant, digest, key, used_ms, derivation in news
            ]
            found = catalog.add_blobs(given)
            answers.append([(type(each), str(each)) if isinstance(each, BlobsError) else each for each in found])
        assert answers[0] == answers[1]
        self.both("known_blobs", [each[:2] for each in news])

    @rule(tenant=tenants, digest=digests, used_ms=times, derivation=maybe_derivations)
    def use_blob(self, tenant, digest, used_ms, derivation):
        self.both("use_blob", tenant, digest, used_ms=used_ms, derivation=derivation)

    @rule(tenant=tenants, digest=digests, key=keys, is_corrupt=st.booleans(), is_its_key=st.booleans())
    def mark_blob(self, tenant, digest, key, is_corrupt, is_its_key):
        found = self._memory.find_blob(tenant, digest)
        key = found.key if found and is_its_key else key
        self.both("mark_blob", tenant, digest, key, is_corrupt=is_corrupt)

    @rule(tenant=tenants, digest=digests)
    def forget_derived(self, tenant, digest):
        self.both("forget_derived", tenant, digest)

    @rule(tenant=tenants, digest=digests, name=st.sampled_from("pq"), until_ms=st.none() | times)
    def pin_blob(self, tenant, digest, name, until_ms):
        self.both("pin_blob", tenant, digest, Pin(name, until_ms))

    @rule(tenant=tenants, digest=digests, name=st.sampled_from("pq"))
    def unpin_blob(self, tenant, digest, name):
        self.both("unpin_blob", tenant, digest, name)

    @rule(tenant=tenants, wanted=st.lists(digests, max_size=4), since_ms=times, now_ms=times)
    def remove_unused(self, tenant, wanted, since_ms, now_ms):
        self.both("remove_unused", tenant, wanted, since_ms=since_ms, now_ms=now_ms)

    @rule(tenant=tenants, digest=digests, now_ms=times)
    def purge_blob(self, tenant, digest, now_ms):
        self.both("purge_blob", tenant, digest, now_ms=now_ms)

    @rule(given=st.lists(keys, max_size=3, unique=True), now_ms=times)
    def trash_unrecorded(self, given, now_ms):
        self.both("list_unrecorded", given)
        self.both("trash_unrecorded", given, now_ms=now_ms)

    @rule(given=st.lists(keys, max_size=3, unique=True))
    def empty_trash(self, given):
        self.both("empty_trash", given)

    @rule(before_ms=times)
    def forget_tombstones(self, before_ms):
        self.both("forget_tombstones", before_ms=before_ms)

    @rule(tenant=tenants, name=st.sampled_from(["one", "two"]), size=st.integers(0, 9), bytes_max=st.integers(0, 2**41))
    def reserve(self, tenant, name, size, bytes_max):
        self.both("reserve", tenant, name, size, bytes_max=bytes_max, now_ms=size % 5, until_ms=4)

    @rule(tenant=tenants, name=st.sampled_from(["one", "two"]))
    def release(self, tenant, name):
        self.both("release", tenant, name)

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
        self.both("list_tenants")
        self.both("list_tenants", after="a", limit=1)
        self.both("list_trash", before_ms=5)
        self.both("list_trash", before_ms=2, limit=1)
        for tenant in TENANTS:
            self.both("tenant_bytes", tenant)
            self.both("list_unused", tenant, since_ms=2, now_ms=2)
            self.both("list_unused", tenant, since_ms=4, now_ms=4, after=sorted(DIGESTS)[1], limit=1)
            self.both("list_blobs", tenant)
            self.both("list_blobs", tenant, after=sorted(DIGESTS)[1], limit=1)
            self.both("list_conversations", tenant)
            self.both("list_conversations", tenant, after="Chat", limit=1)
            for digest in DIGESTS:
                self.both("find_finding", tenant, digest, "profile")
                self.both("find_derived", tenant, Derivation(digest, "columnar"))
                self.both("list_pins", tenant, digest)
                self.both("find_tombstone", tenant, digest)
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
