"""Writers that race collectors, for the contract suite and for tests of several processes."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from blobs.domain.digest import Digest
from blobs.domain.errors import ConflictError, CorruptError, NotFoundError
from blobs.domain.limits import Limits
from blobs.domain.reference import Reference
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog, Change, NameRecord
from blobs.storage.collecting import Collector
from blobs.storage.content import ContentStore

CONTENTS = [bytes([number]) * (20 if number % 2 else 300_000) for number in range(12)]

NO_GRACE = replace(Limits(), grace_ms=0)


def name_blob(catalog: Catalog, reference: Reference, conversation: str = "chat") -> int:
    """Name a blob in a conversation of tenant `a`, made where there is none; answers the number of the name."""
    while True:
        try:
            found = catalog.find_conversation("a", conversation)
            if found is None:
                found = catalog.create_conversation("a", conversation, created_ms=1)
            name = NameRecord(found.next_name, reference.digest, reference.size, reference.type, None, "list_orders")
            catalog.commit("a", conversation, found.version, Change(names=(name,)))
        except ConflictError:
            continue
        return name.number


class Race:
    """Writers that keep putting, naming and dropping twelve contents, against collectors without grace."""

    def __init__(
        self, content: ContentStore, catalog: Catalog, copies: Path, *, seconds: float, seed: str = ""
    ) -> None:
        """Over these stores, for so long; the seed keeps the conversations of several processes apart."""
        self.lost: list[str] = []
        """What was named and could not be read afterwards."""
        self.named = 0
        self.removed = 0
        self._content = content
        self._catalog = catalog
        self._blobs = BlobStore(content, catalog, limits=NO_GRACE, copies_folder=copies)
        self._seed = seed
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()

    def run(self, *, writers: int, collectors: int) -> None:
        """Run so many threads of each to their end; raises what one of them raises."""
        with ThreadPoolExecutor(writers + collectors) as pool:
            jobs = [pool.submit(self._write, number) for number in range(writers)]
            jobs += [pool.submit(self._collect) for _ in range(collectors)]
        for each in jobs:
            each.result()

    def _write(self, number: int) -> None:
        draw = random.Random(f"{self._seed} {number}")  # noqa: S311  # to be repeated, not a secret
        while time.monotonic() < self._end:
            content = draw.choice(CONTENTS)
            chat = f"{self._seed} {number} {draw.randrange(3)}"
            try:
                reference = self._blobs.put("a", content, media_type="text/plain").reference
                name_blob(self._catalog, reference, chat)
            except NotFoundError:
                continue  # collected before it was named: without grace that is so, and it was said
            for _ in range(draw.randrange(3)):
                self._look(reference.digest, content)
            with self._lock:
                self.named += 1
            self._catalog.delete_conversation("a", chat)

    def _look(self, digest: Digest, content: bytes) -> None:
        try:
            found = self._blobs.open("a", digest).read(0, len(content))
        except (NotFoundError, CorruptError) as fault:
            self.lost.append(str(fault))
            return
        if found != content:
            self.lost.append(f"{digest} has other bytes")

    def _collect(self) -> None:
        collector = Collector(self._content, self._catalog, grace_ms=0)
        while time.monotonic() < self._end:
            removed = collector.collect().blobs
            with self._lock:
                self.removed += removed
