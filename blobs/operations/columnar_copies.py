"""Columnar copies: a blob's tables as exact Parquet, made once, stored as derived blobs, found by their recipe."""

from collections.abc import Mapping
from typing import Any

from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.domain.media_type import PARQUET
from blobs.operations.workshop import Workshop

RECIPE = "1"
"""Changes whenever the copy of the same bytes may come out differently."""

AS_THEY_ARE = ("parquet",)
"""Readers whose blobs are columnar already."""


class ColumnarCopies:
    """Makes and finds the columnar copies of blobs, one a table."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def of(self, tenant: str, digest: Digest, reader: str, part: str | None = None) -> Digest:
        """The digest of the Parquet copy of a blob, or of one of its parts; made now where there is none.

        Raises `ToolInputError` where the blob has no table there.
        """
        if reader in AS_THEY_ARE and part is None:
            return digest
        kind = f"columnar/{RECIPE}/{reader}/{part or ''}"
        kept = self._kept(tenant, digest, kind)
        return kept if kept is not None else self._make(tenant, digest, reader, part, kind)

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

    def _make(self, tenant: str, digest: Digest, reader: str, part: str | None, kind: str) -> Digest:
        arguments: Mapping[str, Any] = {"op": "columnar", "part": part}
        wall_ms = self._workshop.limits.call_ms_max
        with self._workshop.view(tenant, digest, reader, arguments, wall_ms=wall_ms, always_in_cell=True) as done:
            copy = self._workshop.store.put(tenant, done.payload, media_type=PARQUET).reference
            columns = done.value["columns"]
        found = {"digest": str(copy.digest), "size": copy.size, "columns": columns}
        self._workshop.catalog.save_finding(tenant, digest, kind, exact_json.text(found))
        return copy.digest
