"""Files for blobs that have none of their own: a bounded folder of copies."""

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError
from blobs.storage.disk import TempFolder, make_folder, store_errors, write_all

KEPT_SECONDS_MIN = 120
"""A copy used this recently is not evicted: longer than any call that may have been given its path."""


class LocalCopies:
    """Whole, verified copies of blobs as files that never change, least recently used ones evicted.

    Several processes may share the folder. Copies are not flushed to the disk, so those of an earlier boot are dropped.
    """

    def __init__(self, folder: Path, *, bytes_max: int) -> None:
        """Copies lie in a sub-folder of this boot; raises `StoreError` where it cannot be made."""
        self._folder = folder / _boot_id()
        self._temps = TempFolder(self._folder / "tmp")
        self._bytes_max = bytes_max
        self._lock = Lock()
        with store_errors(folder):
            make_folder(self._folder / "tmp")
            for earlier in folder.iterdir():
                if earlier != self._folder:
                    _remove(earlier)
            self._temps.sweep()
        self._bytes_held = sum(size for _, size, _ in self._held())

    def path(self, key: str, digest: Digest, size: int, chunks: Iterable[bytes]) -> Path:
        """The file with the content of this key, made from `chunks` unless it is there.

        Named by the key, which is one tenant's, so that nobody learns from the time it takes what others hold. Raises
        `CorruptError` where the chunks do not have the digest.
        """
        path = self._path(key)
        with store_errors(self._folder):
            with suppress(FileNotFoundError):
                os.utime(path)  # the order of eviction
                return path
            self._make_room(size)
            file, temp = self._temps.create()
            try:
                _copy(file, digest, chunks)
                os.fchmod(file, 0o444)
                temp.rename(path)
            finally:
                temp.unlink(missing_ok=True)
                os.close(file)
        return path

    def forget(self, key: str) -> None:
        """Remove the copy of this key, if there is one; whoever has it open keeps it as long."""
        with store_errors(self._folder):
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()

    def _make_room(self, size: int) -> None:
        with self._lock:
            self._bytes_held += size
            if self._bytes_held <= self._bytes_max:
                return
            held = sorted(self._held())  # anew: other processes add and evict too
            self._bytes_held = size + sum(each for _, each, _ in held)
            for used, each, path in held:
                if self._bytes_held <= self._bytes_max or used > time.time() - KEPT_SECONDS_MIN:
                    return
                path.unlink(missing_ok=True)
                self._bytes_held -= each

    def _held(self) -> list[tuple[float, int, Path]]:
        """When each copy was last used (Unix time), its size and its path."""
        held = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                if path.name != "tmp":
                    held.append((status.st_mtime, status.st_size, path))
        return held


def _copy(file: int, digest: Digest, chunks: Iterable[bytes]) -> None:
    hasher = hashlib.sha256()
    for chunk in chunks:
        hasher.update(chunk)
        write_all(file, chunk)
    if hasher.digest() != digest.to_bytes():
        raise CorruptError(f"The stored bytes of {digest} do not have that digest.", hint="Restore them from a backup.")


def _boot_id() -> str:
    """Names the time since the machine was started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown-boot"


def _remove(path: Path) -> None:
    with suppress(OSError):  # another process clears up as well
        if path.is_dir():
            for each in path.iterdir():
                _remove(each)
            path.rmdir()
        else:
            path.unlink()
