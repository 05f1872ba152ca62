"""The few moves on a disk that durability rests on, and what their failures mean."""

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blobs.domain.errors import StoreError

HEADROOM_BYTES = 24 * 1024 * 1024
"""What content leaves free for the catalog: one that cannot write cannot remove anything from a full disk either.

The WAL of a SQLite catalog is 16 MiB when it is checkpointed.
"""

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
    disk = os.fstatvfs(file)
    if disk.f_bavail * disk.f_frsize < len(content) + HEADROOM_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


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
