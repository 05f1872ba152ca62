"""Columnar copies: a blob's tables as exact Parquet, made once, stored as derived blobs, found by their recipe."""

from collections.abc import Mapping
from typing import Any

from blobs.domain.digest import Digest
from blobs.domain.media_type import PARQUET
from blobs.operations.derived import DerivedBlobs, Made, Recipe
from blobs.operations.indexes import Indexes
from blobs.operations.workshop import Workshop

RECIPE = "5"
"""Changes whenever the copy of the same bytes may come out differently."""


class ColumnarCopies:
    """Makes and finds the columnar copies of blobs, one a table."""

    def __init__(self, workshop: Workshop, derived: DerivedBlobs, indexes: Indexes) -> None:
        self._workshop = workshop
        self._derived = derived
        self._indexes = indexes

    def of(self, tenant: str, digest: Digest, reader: str, part: str | None = None) -> Digest:
        """The digest of the Parquet copy of a blob, or of one of its parts; made now where there is none.

        Raises `ToolInputError` where the blob has no table there.
        """
        recipe = Recipe(f"columnar/{RECIPE}/{reader}/{part or ''}", PARQUET, "table")
        arguments: Mapping[str, Any] = {"op": "columnar", "part": part}

        def make(wall_ms: int, types: Any = None) -> Made:
            index = self._indexes.kept(tenant, digest, reader)
            wanted = {**arguments, "types": types}
            with self._workshop.view(
                tenant, digest, reader, wanted, wall_ms=wall_ms, always_in_cell=True, beside=index
            ) as done:
                facts = {"columns": done.value["columns"]}
                if done.value["as_it_is"]:
                    return self._derived.note(tenant, digest, recipe, Made(digest, facts))
                if types is not None or "types" not in done.value:
                    return self._derived.keep(tenant, digest, recipe, done.payload, facts)
                found = done.value["types"]
            return make(wall_ms, found)  # the first rows were misleading

        copy = self._derived.get(tenant, digest, recipe, make).digest
        assert copy is not None  # one that cannot be made raises, and is not noted
        return copy
