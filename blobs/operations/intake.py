"""What is found out of a large blob while its bytes pass by on their way into the store."""

import io
import logging
from collections.abc import Callable
from functools import cached_property
from typing import cast

from blobs.domain.limits import KIB
from blobs.domain.media_type import BINARY
from blobs.domain.reference import Reference
from blobs.operations.indexes import Indexes
from blobs.reading.opening import takes_index
from blobs.reading.reader import SAMPLE_BYTES, Sample, Scan
from blobs.reading.registry import Registry
from blobs.reading.stretches import STRETCH_BYTES

HEAD_BYTES = STRETCH_BYTES + 2 * SAMPLE_BYTES
"""What a scan is shown to begin with: a sample, and a stretch of items after it."""

_TAIL_BYTES = 4 * KIB
_SIZE_UNKNOWN = 1 << 62

_log = logging.getLogger("blobs.operations")


class Intake:
    """Looks at blobs as they are put, as the reader that they seem to be for, and keeps the index that this gives.

    Whatever a scan does, the put goes on: an index that is missing is made at first need.
    """

    def __init__(self, registry: Registry, indexes: Indexes) -> None:
        self._registry = registry
        self._indexes = indexes

    def begin(self, media_type: str) -> "Passing":
        """Somebody to show the bytes of a blob of that declared type."""
        return Passing(self._choose, self._indexes, media_type)

    def _choose(self, head: bytes, media_type: str) -> tuple[str, Scan | None]:
        """The reader that seems to be meant, and its scan if it has any."""
        declared = media_type if media_type != BINARY else None
        sample = Sample(head[:SAMPLE_BYTES], head[-_TAIL_BYTES:], _SIZE_UNKNOWN, declared)
        best = self._registry.choose(sample, avoid=self._others)[0].plug_in
        scan = getattr(best.reader, "scan", None)
        return best.name, None if scan is None else cast("Scan | None", scan(head))

    @cached_property
    def _others(self) -> list[str]:
        """The readers that are not asked: those of others, and those that could have no index."""
        return [
            each.name
            for each in self._registry.plug_ins()
            if not (each.is_built_in and each.is_light and takes_index(each))
        ]


class Passing:
    """One blob that passes by."""

    def __init__(
        self, choose: Callable[[bytes, str], tuple[str, Scan | None]], indexes: Indexes, media_type: str
    ) -> None:
        self._choose = choose
        self._indexes = indexes
        self._media_type = media_type
        self._head: bytes | None = b""
        self._reader = ""
        self._scan: Scan | None = None

    def add(self, chunk: memoryview) -> None:
        """Take the next bytes."""
        if self._head is not None:
            room = HEAD_BYTES - len(self._head)
            self._head += chunk[:room]
            if len(self._head) < HEAD_BYTES:
                return
            self._begin()
            chunk = chunk[room:]
        if chunk:
            self._try(lambda scan: scan.add(chunk))

    def stored(self, tenant: str, reference: Reference) -> None:
        """All bytes have passed, and are stored as this."""
        if self._head is not None:
            self._begin()
        index = self._try(lambda scan: scan.index_bytes(reference.size))
        if index:
            self._indexes.keep(tenant, reference.digest, self._reader, io.BytesIO(index))

    def _begin(self) -> None:
        head, self._head = self._head or b"", None
        try:
            self._reader, self._scan = self._choose(head, self._media_type)
        except Exception:  # noqa: BLE001  # as below
            _log.debug("scan not begun", exc_info=True)
        self._try(lambda scan: scan.add(memoryview(head)))

    def _try(self, work: Callable[[Scan], bytes | None]) -> bytes | None:
        if self._scan is None:
            return None
        try:
            return work(self._scan)
        except Exception:  # noqa: BLE001  # the blob is not what it seemed to be: that is told by whoever opens it
            _log.debug("scan given up: %s", self._reader, exc_info=True)
            self._scan = None
            return None
