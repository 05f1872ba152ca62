"""Columnar copies: a blob's tables as exact Parquet, made once, stored as derived blobs, found by their recipe."""

import logging
import threading
from collections.abc import Mapping
from typing import Any

from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, NotFoundError, ToolInputError
from blobs.domain.media_type import PARQUET
from blobs.operations.workshop import TaskFailure, Workshop

RECIPE = "1"
"""Changes whenever the copy of the same bytes may come out differently."""

BACKGROUND_MS = 600_000
"""How long the copy of a large blob may take when nobody waits for it."""

_log = logging.getLogger("blobs.operations")


class ColumnarCopies:
    """Makes and finds the columnar copies of blobs, one a table."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._in_making: set[tuple[str, Digest, str]] = set()

    def of(self, tenant: str, digest: Digest, reader: str, part: str | None = None) -> Digest:
        """The digest of the Parquet copy of a blob, or of one of its parts; made now where there is none.

        Raises `ToolInputError` where the blob has no table there.
        """
        kind = f"columnar/{RECIPE}/{reader}/{part or ''}"
        kept = self._kept(tenant, digest, kind)
        if kept is not None:
            return kept
        if (tenant, digest, kind) in self._in_making:
            raise _being_made()
        try:
            return self._make(tenant, digest, reader, part, kind, wall_ms=self._workshop.limits.call_ms_max)
        except TaskFailure as failure:
            if failure.outcome.status != "timeout":
                raise
            self._go_on(tenant, digest, reader, part, kind)
            raise _being_made() from None

    def _kept(self, tenant: str, digest: Digest, kind: str) -> Digest | None:
        text = self._workshop.catalog.find_finding(tenant, digest, kind)
        if text is None:
            return None
        copy = Digest.parse(exact_json.loads(text)["digest"])
        try:
            self._workshop.store.open(tenant, copy)
        except NotFoundError:
            return None  # collected since: it is made anew
        return copy

    def _make(self, tenant: str, digest: Digest, reader: str, part: str | None, kind: str, *, wall_ms: int) -> Digest:
        arguments: Mapping[str, Any] = {"op": "columnar", "part": part}
        with self._workshop.view(tenant, digest, reader, arguments, wall_ms=wall_ms, always_in_cell=True) as done:
            if done.value["as_it_is"]:
                copy = digest
            else:
                copy = self._workshop.store.put(tenant, done.payload, media_type=PARQUET).reference.digest
            found = {"digest": str(copy), "columns": done.value["columns"]}
        self._workshop.catalog.save_finding(tenant, digest, kind, exact_json.text(found))
        return copy

    def _go_on(self, tenant: str, digest: Digest, reader: str, part: str | None, kind: str) -> None:
        """Make the copy of a large blob while nobody waits."""
        place = (tenant, digest, kind)

        def make() -> None:
            try:
                self._make(tenant, digest, reader, part, kind, wall_ms=BACKGROUND_MS)
            except BlobsError as problem:
                _log.warning("columnar copy of %s: %s", digest.hex[:12], problem)
            finally:
                self._in_making.discard(place)

        self._in_making.add(place)
        threading.Thread(target=make, name="blobs-columnar", daemon=True).start()


def _being_made() -> ToolInputError:
    return ToolInputError(
        "The blob is large: its table is being prepared and this takes minutes.",
        hint="Make the same call again later; blob_read and blob_search work meanwhile.",
        code="being_prepared",
    )
