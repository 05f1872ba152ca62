"""Indexes: what the reader of a large blob needs to open it without a pass over it, kept as derived blobs."""

from typing import BinaryIO

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError
from blobs.domain.media_type import BINARY
from blobs.operations import view_task
from blobs.operations.derived import DerivedBlobs, Made, Recipe
from blobs.operations.workshop import LIGHT_BYTES_MAX, Workshop
from blobs.reading.opening import takes_index
from blobs.running.runner import CellFile

RECIPE = "1"
"""Changes with the form that all indexes have; what a reader's own means is in its own recipe."""

INDEXED_BYTES_MIN = LIGHT_BYTES_MAX
"""A pass over what is smaller costs less than to look for its index."""


class Indexes:
    """Makes and finds the indexes of blobs, one a reader."""

    def __init__(self, workshop: Workshop, derived: DerivedBlobs) -> None:
        self._workshop = workshop
        self._derived = derived

    def of(self, tenant: str, digest: Digest, reader: str, size: int) -> tuple[CellFile, ...]:
        """The file with the index of a blob for a reader, made now where there is none; nothing for what has none."""
        recipe = self._recipe(reader)
        if recipe is None or size <= INDEXED_BYTES_MIN:
            return ()

        def make(wall_ms: int) -> Made:
            with self._workshop.view(
                tenant, digest, reader, {"op": "index"}, wall_ms=wall_ms, always_in_cell=True
            ) as done:
                if not done.value["is_indexed"]:
                    return self._derived.note(tenant, digest, recipe, Made(None))
                return self._derived.keep(tenant, digest, recipe, done.payload, None)

        return self._file(tenant, reader, self._derived.get(tenant, digest, recipe, make))

    def kept(self, tenant: str, digest: Digest, reader: str) -> tuple[CellFile, ...]:
        """The file with the index where it is there already."""
        recipe = self._recipe(reader)
        found = None if recipe is None else self._derived.find(tenant, digest, recipe)
        return () if found is None else self._file(tenant, reader, found)

    def keep(self, tenant: str, digest: Digest, reader: str, content: BinaryIO) -> None:
        """Keep the index that the preview job made on its way; where that fails it is made at first need."""
        recipe = self._recipe(reader)
        if recipe is None:
            return
        try:
            self._derived.keep(tenant, digest, recipe, content, None)
        except BlobsError:
            return

    def _recipe(self, reader: str) -> Recipe | None:
        plug_in = self._workshop.registry.by_name(reader)
        if plug_in is None or plug_in.reader is None or not takes_index(plug_in):
            return None
        return Recipe(f"index/{RECIPE}/{reader}/{plug_in.version}", BINARY, "index")

    def _file(self, tenant: str, reader: str, made: Made) -> tuple[CellFile, ...]:
        if made.digest is None:
            return ()
        return (CellFile(view_task.index_file(reader), self._workshop.store.open(tenant, made.digest).path()),)
