"""What a place for bytes promises. It knows bytes and keys; which of them exist is the catalog's to say."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from blobs.domain.digest import Digest

CHUNK_BYTES = 1024 * 1024
"""Large enough that a call per chunk costs nothing beside hashing it, small enough for many streams at once."""

PACKED_BYTES_MAX = 256 * 1024
"""Up to here content is held in memory and given to `ContentStore.put`: a file of its own costs more than the bytes."""

LEFT_BEHIND_MS = 3600 * 1000
"""Bytes that have no record this long after they were written were left behind: a put takes milliseconds there."""

State = tuple[int, ...]


class ContentWriter(Protocol):
    """Content on its way in; leaving the `with` block without `commit` discards it without a trace."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def write(self, chunk: bytes | memoryview) -> None:
        """Append a chunk; memory stays constant. Raises `StoreError`, after which only leaving the block is allowed."""
        ...

    def commit(self, digest: Digest) -> str:
        """Make the content durable and answer its key; once, and nothing is written after it.

        The digest is the caller's word for it. Raises `StoreError`, and then nothing is left behind.
        """
        ...


class ContentStore(Protocol):
    """Immutable bytes under keys that the store chooses.

    A key is never given out twice, not even for the same content again: whoever deletes a key can only delete what was
    written under it. Keys are opaque text; a key that this store never gave out is treated as one that is gone. Every
    method may be called from many threads at once, and several processes may share one store.
    """

    def put(self, digest: Digest, content: bytes) -> str:
        """Store content whole and answer its key. Durable on return; raises `StoreError`, and then nothing is left."""
        ...

    def put_all(self, contents: Sequence[tuple[Digest, bytes]]) -> list[str]:
        """Store several contents as `put` does each, at the cost of one where they are small; all of them or none."""
        ...

    def writer(self) -> ContentWriter:
        """Begin content that is too large for memory."""
        ...

    def read(self, key: str, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop` (`0 <= start <= stop`); fewer past the end. `NotFoundError` if the key is gone."""
        ...

    def read_at_once(self, key: str, start: int, stop: int) -> bytes:
        """As `read`, of what is in memory already; `BlockingIOError` where the caller would have to wait for a disk."""
        ...

    def state(self, key: str) -> State | None:
        """What changes with every write to where the bytes under this key lie; `None` where that is not known at once.

        What the disk itself changes shows only in the bytes.
        """
        ...

    def size(self, key: str) -> int:
        """Number of bytes under the key. `NotFoundError` if it is gone."""
        ...

    def delete(self, key: str) -> bool:
        """Remove the bytes; was there something? Removing a key that is gone is no error."""
        ...

    def keys(self) -> Iterator[str]:
        """Every key that holds bytes, in no order, also those that no record names; for repair and collection only.

        What is put or deleted meanwhile may or may not be seen.
        """
        ...

    def written_ms(self, key: str) -> int:
        """When the bytes became durable, or later (Unix time, to a clock tick); `NotFoundError` if they are gone."""
        ...

    def tidy(self) -> int:
        """Remove what writers that died left in the making, and containers that hold nothing; answers how many."""
        ...

    def path(self, key: str) -> Path | None:
        """A file that holds exactly these bytes and is never rewritten, not to be changed; `None` if there is none."""
        ...

    def close(self) -> None:
        """Release files and connections; a second time does nothing."""
        ...
