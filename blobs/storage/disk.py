"""The few moves on a disk that durability rests on, and what their failures mean."""

import ctypes
import errno
import fcntl
import mmap
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from blobs.domain.errors import StoreError

HEADROOM_BYTES = 24 * 1024 * 1024
"""What content leaves free for the catalog: one that cannot write cannot remove anything from a full disk either.

The WAL of a SQLite catalog is 16 MiB when it is checkpointed.
"""

WRITTEN_BYTES = 4 * 1024 * 1024
"""What is written at once of large content. It does not pass through the memory of the system: to copy it there costs
more than to hash it, and it would drive out what is read again.
"""

_PAGE_BYTES = mmap.PAGESIZE

_REASONS = {
    errno.ENOSPC: ("The disk is full", "Free space on it, or collect blobs that nothing names."),
    errno.EDQUOT: ("The disk quota is used up", "Raise it, or collect blobs that nothing names."),
    errno.EROFS: ("The disk is read-only", "Mount it writable."),
    errno.ENOENT: ("A folder of the store is missing", "Restore it or open the store again."),
    errno.EACCES: ("The store may not be written", "Check who owns the folder."),
    errno.EPERM: ("The store may not be written", "Check who owns the folder."),
    errno.EMFILE: ("Too many files are open", "Raise the limit of open files."),
    errno.ENFILE: ("Too many files are open", "Raise the limit of open files."),
    errno.EIO: ("The disk fails", "Check its health; what was acknowledged before is on it."),
}


@contextmanager
def store_errors(folder: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StoreError` that says what is wrong with the disk and what to do."""
    try:
        yield
    except OSError as fault:
        reason, hint = _REASONS.get(fault.errno or 0, (f"The disk answers: {fault.strerror}", "See the host's log."))
        raise StoreError(f"{reason} ({folder}).", hint=hint) from fault


def make_folder(folder: Path) -> None:
    """Create a folder for this user alone, durably, unless it is there."""
    if not folder.is_dir():
        make_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        flush_folder(folder.parent)


def write_all(file: int, content: bytes | memoryview) -> None:
    """Write all of the content, however few bytes the system takes at a time; the disk is full at the headroom."""
    require_headroom(file, len(content))
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def require_headroom(file: int, size: int) -> None:
    """Raise the `OSError` of a full disk where so many bytes more would leave less than the headroom."""
    disk = os.fstatvfs(file)
    if disk.f_bavail * disk.f_frsize < size + HEADROOM_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_chunks(file: BinaryIO) -> Iterator[memoryview]:
    """What a file gives from its place on, in chunks of `WRITTEN_BYTES` that can be written as they lie.

    All are read into the same memory: each is gone when the next one is asked for.
    """
    memory = memoryview(mmap.mmap(-1, WRITTEN_BYTES))
    while count := file.readinto(memory):  # type: ignore[attr-defined]  # every file for bytes of `io` has it
        yield memory[:count]


class LargeWriter:
    """Appends to a new file: in writes of `WRITTEN_BYTES` past the system's memory, where the file system allows it.

    What is left is written by `finish`. Raises `OSError` where the disk does.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._is_direct, self._can_direct = False, hasattr(os, "O_DIRECT")
        self._held: memoryview | None = None
        self._held_bytes = 0

    def write(self, chunk: bytes | memoryview) -> None:
        """Append a chunk, which may change afterwards."""
        rest = memoryview(chunk)
        while rest:
            if not self._held_bytes and len(rest) >= WRITTEN_BYTES and _address(rest) % _PAGE_BYTES == 0:
                self._write_direct(rest[:WRITTEN_BYTES])
                rest = rest[WRITTEN_BYTES:]
                continue
            if self._held is None:
                self._held = memoryview(mmap.mmap(-1, WRITTEN_BYTES))
            count = min(len(rest), WRITTEN_BYTES - self._held_bytes)
            self._held[self._held_bytes : self._held_bytes + count] = rest[:count]
            self._held_bytes += count
            rest = rest[count:]
            if self._held_bytes == WRITTEN_BYTES:
                self._write_direct(self._held)
                self._held_bytes = 0

    def finish(self) -> None:
        """Write the rest, which is no whole number of pages, and make all of it durable."""
        if self._held is not None and self._held_bytes:
            self._set_direct(is_direct=False)
            write_all(self._file, self._held[: self._held_bytes])
        os.fdatasync(self._file)

    def _write_direct(self, pages: memoryview) -> None:
        require_headroom(self._file, len(pages))
        self._set_direct(is_direct=self._can_direct)
        while pages:
            try:
                pages = pages[os.write(self._file, pages) :]
            except OSError as fault:
                if fault.errno != errno.EINVAL or not self._is_direct:
                    raise
                self._can_direct = False  # not for this file system, or no more: it took a part that is no whole page
                self._set_direct(is_direct=False)

    def _set_direct(self, *, is_direct: bool) -> None:
        if is_direct == self._is_direct:
            return
        flags = fcntl.fcntl(self._file, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._file, fcntl.F_SETFL, flags ^ os.O_DIRECT)
        except OSError:
            self._can_direct = False
        else:
            self._is_direct = is_direct


def _address(content: memoryview) -> int:
    """Where in memory the bytes lie."""
    return ctypes.addressof(ctypes.c_char.from_buffer(content)) if not content.readonly else 1


def flush_folder(folder: Path) -> None:
    """Make the entries of a folder durable: files created in it or renamed into it."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class TempFolder:
    """Files in the making; each is locked by its maker, so that what a dead process left can be told and swept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self) -> tuple[int, Path]:
        """A new empty file, open for writing; whoever closes it must have renamed or removed it before."""
        while True:
            path = self._folder / secrets.token_hex(8)
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            if try_lock(file) and os.fstat(file).st_nlink == 1:
                return file, path
            os.close(file)  # a sweep took it between the two steps

    def sweep(self) -> int:
        """Remove files whose maker is gone; answers how many. Files in the making stay."""
        swept = 0
        for path in self._folder.iterdir():
            with suppress(OSError):  # gone meanwhile, or a disk that cannot be written: then it stays
                file = os.open(path, os.O_RDONLY)
                try:
                    if try_lock(file):
                        path.unlink()
                        swept += 1
                finally:
                    os.close(file)
        return swept


def try_lock(file: int) -> bool:
    """Lock an open file for this holder alone, unless somebody else holds it; was it free?"""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
