"""Where a string stands in what is stored: in blobs as they were put, and in what models once read."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.storage.catalog import Catalog
from blobs.storage.content import CHUNK_BYTES, ContentStore
from blobs.storage.keeping import BlobRecord
from blobs.storage.verifying import all_records

OVERLAP_BYTES = 8 * 1024
"""What is looked at twice, so that a match that lies across two chunks is seen; a longer one may not be."""

_PAGE = 256

Matches = Callable[[bytes], bool]
"""Whether some bytes hold what is looked for."""


@dataclass(frozen=True, slots=True)
class HoldingBlob:
    """A blob that holds it."""

    tenant: str
    digest: Digest
    size: int


@dataclass(frozen=True, slots=True)
class HoldingTurn:
    """A turn whose answer, which a model once read, holds it."""

    tenant: str
    conversation: str
    turn: int


class Scanner:
    """Looks through the blobs and turns of all tenants."""

    def __init__(self, content: ContentStore, catalog: Catalog) -> None:
        """Look at the bytes in `content` that the records in `catalog` name."""
        self._content = content
        self._catalog = catalog

    def blobs(self, matches: Matches) -> Iterator[HoldingBlob]:
        """Blobs that hold it, by tenant and digest; what is compressed or encoded is not looked into."""
        for tenant, record in all_records(self._catalog):
            if any(matches(stretch) for stretch in self._stretches(record)):
                yield HoldingBlob(tenant, record.digest, record.size)

    def turns(self, matches: Matches) -> Iterator[HoldingTurn]:
        """Turns that hold it, of tenants that have blobs."""
        for tenant, _ in itertools.groupby(all_records(self._catalog), key=lambda each: each[0]):
            for conversation in self._conversations(tenant):
                after = -1
                while page := self._catalog.turns(tenant, conversation, after=after, limit=_PAGE):
                    for each in page:
                        if matches(each.answer.encode("utf-8", "replace")):
                            yield HoldingTurn(tenant, conversation, each.number)
                    after = page[-1].number

    def _conversations(self, tenant: str) -> Iterator[str]:
        after = None
        while page := self._catalog.list_conversations(tenant, after=after, limit=_PAGE):
            yield from (each.id for each in page)
            after = page[-1].id

    def _stretches(self, record: BlobRecord) -> Iterator[bytes]:
        """The bytes of a blob in stretches that overlap; none of one that is gone."""
        try:
            for start in range(0, record.size if record.key else 0, CHUNK_BYTES):
                yield self._content.read(record.key, max(0, start - OVERLAP_BYTES), start + CHUNK_BYTES)
        except NotFoundError:
            return
