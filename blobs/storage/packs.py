"""Append-only packs of small blobs: one file and one flush for many.

A pack is a run of records: a header, then the content. A header holds the magic `BLB1`, the CRC-32 of the rest of it,
the length of the content and its SHA-256, so that a catalog can be rebuilt from packs alone. A tail torn by a crash is
harmless: no record of the catalog points at it.
"""

import ctypes
import fcntl
import os
import re
import secrets
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.storage.checking import file_state
from blobs.storage.content import State
from blobs.storage.disk import flush_folder, store_errors, try_lock, write_all
from blobs.storage.group_commit import GroupCommit

PACK_BYTES_MAX = 64 * 1024 * 1024
"""A pack is sealed here: large enough that files are few, small enough to be rewritten when most of it is deleted."""

FILES_MAX = 64
"""Packs held open for reading; opening one costs as much as reading a small blob."""

BATCH_MAX = 64
"""Blobs in one flush; at their largest they are 16 MiB."""

_CLEARED_BYTES = 64 * 1024

_LIVE, _DELETED = b"BLB1", b"BLB0"
_HEADER = struct.Struct("<4sIQ32s")
_KEY = re.compile(r"pack/([0-9a-f]{16})/([0-9]{1,18})/([0-9]{1,18})\Z")
_PUNCH_HOLE_KEEPING_SIZE = 0x03  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE of linux/falloc.h


@dataclass(frozen=True, slots=True)
class Slice:
    """Where a content lies: in which pack, from which byte on, how many bytes."""

    pack: str
    offset: int
    size: int

    @classmethod
    def parse(cls, key: str) -> "Slice | None":
        """The slice that a key names; `None` if the key names something else."""
        match = _KEY.match(key)
        if match is None or int(match[2]) < _HEADER.size:
            return None
        return cls(match[1], int(match[2]), int(match[3]))

    @property
    def key(self) -> str:
        """The key by which a catalog knows it."""
        return f"pack/{self.pack}/{self.offset}/{self.size}"


class _PackFile:
    """An open pack; closed when its last user lets go, so that eviction never closes it under a reader."""

    def __init__(self, path: Path, flags: int) -> None:
        self.file = os.open(path, flags, 0o600)

    def __del__(self) -> None:
        if hasattr(self, "file"):
            os.close(self.file)


class Packs:
    """All packs of a folder: reads of any, appends to one that this object alone has open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._appends: GroupCommit[Sequence[tuple[Digest, bytes]], list[Slice]] = GroupCommit(
            self._append, jobs_max=BATCH_MAX
        )
        self._open: tuple[str, _PackFile] | None = None
        self._end = 0
        self._readers: OrderedDict[str, _PackFile] = OrderedDict()
        self._readers_lock = Lock()

    def put_all(self, contents: Sequence[tuple[Digest, bytes]]) -> list[Slice]:
        """Append contents; durable on return. The flush is shared by all threads that wait for one."""
        return self._appends.submit(contents)

    def read(self, where: Slice, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop` of a content; fewer past its end. `NotFoundError` if it was deleted."""
        pack = self._reader(where.pack)
        count = max(0, min(stop, where.size) - start)
        with store_errors(self._folder):
            content = os.pread(pack.file, count, where.offset + start)
            header = os.pread(pack.file, _HEADER.size, where.offset - _HEADER.size)
        if not _is_live(header, where.size):  # looked at last: a deletion marks the header before it clears the bytes
            raise _gone()
        return content

    def read_at_once(self, where: Slice, start: int, stop: int) -> bytes:
        """As `read`, from a pack that is open and pages that are in memory; `BlockingIOError` for any other."""
        pack = self._readers.get(where.pack)
        if pack is None:
            raise BlockingIOError
        content = _in_memory(pack.file, max(0, min(stop, where.size) - start), where.offset + start)
        header = _in_memory(pack.file, _HEADER.size, where.offset - _HEADER.size)
        if not _is_live(header, where.size):
            raise _gone()
        return content

    def state(self, where: Slice) -> State | None:
        """What changes with every append to the pack of a content, of one that is open; and which content it is."""
        pack = self._readers.get(where.pack)
        return None if pack is None else (*file_state(pack.file), where.offset)

    def delete(self, where: Slice) -> bool:
        """Mark a content as deleted and give its whole disk blocks back; was it there?"""
        with store_errors(self._folder):
            try:
                pack = _PackFile(self._path(where.pack), os.O_RDWR)
            except FileNotFoundError:
                return False
            place = where.offset - _HEADER.size
            if not _is_live(os.pread(pack.file, _HEADER.size, place), where.size):
                return False
            before = os.fstat(pack.file)
            os.pwrite(pack.file, _DELETED, place)
            if not _punch(pack.file, where.offset, where.size):
                _overwrite(pack.file, where.offset, where.size)
            # The time of a pack is that of its last append, by which it is told what was left behind in it.
            os.utime(pack.file, ns=(before.st_atime_ns, before.st_mtime_ns))
            return True

    def written_ms(self, where: Slice) -> int:
        """When the pack was last appended to (Unix time). `NotFoundError` if the content was deleted."""
        self.read(where, 0, 0)
        with store_errors(self._folder):
            return os.fstat(self._reader(where.pack).file).st_mtime_ns // 1_000_000

    def tidy(self) -> int:
        """Remove packs that hold nothing and that nobody appends to; answers how many."""
        removed = 0
        for path in self._folder.glob("*.pack"):
            with store_errors(self._folder), suppress(FileNotFoundError, NotFoundError):
                pack = _PackFile(path, os.O_RDONLY)
                if try_lock(pack.file) and self._is_empty(path.stem):
                    path.unlink()
                    removed += 1
        return removed

    def slices(self) -> Iterator[Slice]:
        """Every content that is not deleted, of every pack; a torn tail is passed over."""
        for path in self._folder.glob("*.pack"):
            with suppress(NotFoundError):
                yield from self._slices_of(path.stem)

    def close(self) -> None:
        """Seal the open pack and let go of all files."""
        self._open = None
        with self._readers_lock:
            self._readers.clear()

    def _path(self, pack: str) -> Path:
        return self._folder / f"{pack}.pack"

    def _reader(self, pack: str) -> _PackFile:
        with self._readers_lock:
            reader = self._readers.pop(pack, None)
            if reader is None:
                with store_errors(self._folder):
                    try:
                        reader = _PackFile(self._path(pack), os.O_RDONLY)
                    except FileNotFoundError:
                        raise _gone() from None
            self._readers[pack] = reader
            if len(self._readers) > FILES_MAX:
                self._readers.popitem(last=False)
            return reader

    def _append(self, batch: list[Sequence[tuple[Digest, bytes]]]) -> list[list[Slice]]:
        """Write a batch in one go and flush it. After a failure the pack is given up: a flush is never tried twice."""
        records = [piece for contents in batch for each in contents for piece in (_header(*each), each[1])]
        total = sum(map(len, records))
        with store_errors(self._folder):
            if self._open is not None and self._end + total > PACK_BYTES_MAX:
                self._open = None
            name, pack = self._open or self._begin()
            self._open = None
            try:
                write_all(pack.file, b"".join(records))
                os.fdatasync(pack.file)
                self._path(name).stat()  # a pack whose folder was lost takes bytes as if nothing were wrong
            except BaseException:
                self._cut_back(name, pack)
                raise
            slices = [[self._placed(name, len(content)) for _, content in contents] for contents in batch]
            self._open = (name, pack)
            return slices

    def _placed(self, pack: str, size: int) -> Slice:
        """Where the next content of the batch lies that was appended."""
        placed = Slice(pack, self._end + _HEADER.size, size)
        self._end = placed.offset + size
        return placed

    def _begin(self) -> tuple[str, _PackFile]:
        while True:
            name = secrets.token_hex(8)
            pack = _PackFile(self._path(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            fcntl.flock(pack.file, fcntl.LOCK_SH)  # as long as it is appended to, it is not tidied away
            if os.fstat(pack.file).st_nlink:
                break  # else that happened between the two steps
        flush_folder(self._folder)
        self._end = 0
        return name, pack

    def _cut_back(self, name: str, pack: _PackFile) -> None:
        with suppress(OSError):  # the first failure is the one to report
            if self._end == 0:
                self._path(name).unlink()
            else:
                os.ftruncate(pack.file, self._end)

    def _slices_of(self, pack: str) -> Iterator[Slice]:
        for slice_, is_live in self._records_of(pack):
            if slice_ is None:
                return
            if is_live:
                yield slice_

    def _is_empty(self, pack: str) -> bool:
        """Whether it holds but deletions and a torn tail. Behind a damaged header there may be sound contents."""
        return not any(slice_ is None or is_live for slice_, is_live in self._records_of(pack))

    def _records_of(self, pack: str) -> Iterator[tuple[Slice | None, bool]]:
        """Every record of a pack and whether it is live; `None` for a damaged header, where what follows is unknown."""
        file = self._reader(pack)
        offset = 0
        with store_errors(self._folder):
            size = os.fstat(file.file).st_size
            while len(header := os.pread(file.file, _HEADER.size, offset)) == _HEADER.size:
                magic, crc, length, _ = _HEADER.unpack(header)
                offset += _HEADER.size
                if magic not in (_LIVE, _DELETED) or crc != zlib.crc32(header[8:]):
                    yield None, False
                    return
                if offset + length > size:
                    return  # torn: it was never acknowledged, and nothing follows it
                yield Slice(pack, offset, length), magic == _LIVE
                offset += length


def _header(digest: Digest, content: bytes) -> bytes:
    rest = _HEADER.pack(_LIVE, 0, len(content), digest.to_bytes())[8:]
    return _LIVE + struct.pack("<I", zlib.crc32(rest)) + rest


def _is_live(header: bytes, size: int) -> bool:
    return len(header) == _HEADER.size and header[:4] == _LIVE and _HEADER.unpack(header)[2] == size


def _in_memory(file: int, count: int, place: int) -> bytes:
    """So many bytes of a file from the page cache, or `BlockingIOError`."""
    content = bytearray(count)
    try:
        if os.preadv(file, [content], place, os.RWF_NOWAIT) == count:
            return bytes(content)
    except OSError:  # they are not there, or the file system cannot tell
        pass
    raise BlockingIOError


def _gone() -> NotFoundError:
    return NotFoundError("The content is gone.", hint="Look the blob up again.")


def _punch(file: int, offset: int, size: int) -> bool:
    """Clear a range and give its whole blocks back, where the file system can; could it?"""
    with suppress(AttributeError):
        fallocate = ctypes.CDLL(None).fallocate64
        done: int = fallocate(file, _PUNCH_HOLE_KEEPING_SIZE, ctypes.c_int64(offset), ctypes.c_int64(size))
        return size == 0 or done == 0
    return False


def _overwrite(file: int, offset: int, size: int) -> None:
    """Clear a range, whose space stays taken."""
    for start in range(offset, offset + size, _CLEARED_BYTES):
        os.pwrite(file, bytes(min(_CLEARED_BYTES, offset + size - start)), start)
