"""Blobs on disk under random use, collection, damage and purges answer as those in memory do."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Change, NameRecord
from blobs.storage.collecting import Collector
from blobs.storage.keeping import Derivation, Pin
from blobs.storage.local import LocalContentStore
from blobs.storage.memory import MemoryCatalog, MemoryContentStore
from blobs.storage.sqlite import SqliteCatalog
from blobs.storage.verifying import Verifier

EXAMPLES = int(os.environ.get("BLOBS_MACHINE_EXAMPLES", "25"))
"""So many runs of 30 steps on both pairs of stores; 1,700 are 50,000 operations."""

CONTENTS = [b"", b"red", b"green", b"x" * 300_000]
LIMITS = replace(Limits(), grace_ms=10, tenant_bytes_max=300_010)

tenants = st.sampled_from("ab")
contents = st.sampled_from(CONTENTS)
digests = contents.map(Digest.of)
chats = st.sampled_from(["chat", "other"])


class StoreMachine(RuleBasedStateMachine):
    """Each step is taken on both pairs of stores, at the same time; keys are the only thing that may differ."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self._now = 1_000_000
        self._memory = self.opened(MemoryContentStore(), MemoryCatalog(), "memory")
        self._disk = self.on_disk()

    def opened(self, content, catalog, copies):
        blobs = BlobStore(content, catalog, limits=LIMITS, copies_folder=self._path / copies, clock=lambda: self._now)
        collector = Collector(content, catalog, grace_ms=LIMITS.grace_ms, clock=lambda: self._now)
        return content, catalog, blobs, collector, Verifier(content, catalog, clock=lambda: self._now)

    def on_disk(self):
        content, catalog = LocalContentStore(self._path / "content"), SqliteCatalog(self._path / "catalog.db")
        return self.opened(content, catalog, "disk")

    def teardown(self):
        self._disk[2].close()
        self._folder.cleanup()

    def both(self, step):
        """What the step answers of both, which must be the same."""
        answers = []
        for stores in (self._memory, self._disk):
            try:
                answers.append(step(*stores))
            except BlobsError as refusal:
                answers.append((type(refusal), refusal.code, str(refusal)))
        assert answers[0] == answers[1]
        return answers[0]

    @rule(ms=st.integers(1, 12))
    def wait(self, ms):
        self._now += ms

    @rule(tenant=tenants, content=contents)
    def put(self, tenant, content):
        self.both(lambda _c, _r, blobs, *_: blobs.put(tenant, iter([content]), media_type="x/y"))

    @rule(tenant=tenants, content=contents, source=digests)
    def derive(self, tenant, content, source):
        derivation = Derivation(source, "columnar")
        self.both(lambda _c, _r, blobs, *_: blobs.put(tenant, content, media_type="x/y", derivation=derivation))

    @rule(tenant=tenants, digest=digests, start=st.integers(0, 4))
    def read(self, tenant, digest, start):
        self.both(lambda _c, _r, blobs, *_: blobs.open(tenant, digest).read(start, 10**6))

    @rule(tenant=tenants, digest=digests, chat=chats)
    def name(self, tenant, digest, chat):
        def give(_content, catalog, *_):
            found = catalog.find_conversation(tenant, chat)
            if found is None:
                found = catalog.create_conversation(tenant, chat, created_ms=1)
            named = NameRecord(found.next_name, digest, 3, "text/csv", None, "list_orders")
            return catalog.commit(tenant, chat, found.version, Change(names=(named,)))

        self.both(give)

    @rule(tenant=tenants, chat=chats)
    def forget(self, tenant, chat):
        self.both(lambda _c, catalog, *_: catalog.delete_conversation(tenant, chat))

    @rule(tenant=tenants, digest=digests, lease_ms=st.none() | st.integers(0, 30))
    def pin(self, tenant, digest, lease_ms):
        until_ms = None if lease_ms is None else self._now + lease_ms
        self.both(lambda _c, catalog, *_: catalog.pin_blob(tenant, digest, Pin("mine", until_ms)))

    @rule(tenant=tenants, digest=digests)
    def unpin(self, tenant, digest):
        self.both(lambda _c, catalog, *_: catalog.unpin_blob(tenant, digest, "mine"))

    @rule(tenant=tenants, digest=digests)
    def lose(self, tenant, digest):
        """The bytes of a blob go missing behind the store's back."""

        def delete(content, catalog, *_):
            record = catalog.find_blob(tenant, digest)
            return bool(record and record.key) and content.delete(record.key)

        self.both(delete)

    @rule()
    def verify(self):
        self.both(lambda _c, _r, _b, _k, verifier: list(verifier.verify()))

    @rule()
    def collect(self):
        def collected(_content, _catalog, _blobs, collector, _verifier):
            unused = [(each.tenant, each.record.digest) for each in collector.unused()]
            done = collector.collect()
            return unused, done.blobs, done.size_bytes, done.keys_freed, done.left_behind

        self.both(collected)

    @rule(tenant=tenants, digest=digests)
    def purge(self, tenant, digest):
        self.both(lambda _c, _r, blobs, *_: [each.digest for each in blobs.purge(tenant, digest)])

    @rule()
    def reopen(self):
        self._disk[2].close()
        self._disk = self.on_disk()

    @invariant()
    def they_hold_the_same(self):
        for tenant in "ab":
            self.both(lambda _c, catalog, *_: catalog.tenant_bytes(tenant))  # noqa: B023  # called at once
            self.both(
                lambda _c, catalog, *_: [
                    replace(each, key="k" if each.key else "")
                    for each in catalog.list_blobs(tenant)  # noqa: B023
                ]
            )


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
