"""Content on the local disk: small blobs in packs, each larger one in a file of its own."""

import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError, StoreError
from blobs.storage.content import PACKED_BYTES_MAX, State
from blobs.storage.disk import LargeWriter, TempFolder, flush_folder, make_folder, store_errors, write_all
from blobs.storage.packs import Packs, Slice

FORMAT_VERSION = 1

_FILE_FOLDERS = tuple(f"{number:02x}" for number in range(256))

_KEY = re.compile(r"([0-9a-f]{2})/\1[0-9a-f]{62}\.[0-9a-f]{16}\Z")


class LocalContentStore:
    """A `ContentStore` in a folder, for any number of processes on one machine.

    `store.json` says the version of the format, `files/<aa>/<digest>.<nonce>` holds large blobs, `packs/` small ones
    and `tmp/` files in the making. All of it must lie on one file system, and not on a network. A power cut loses
    nothing that was acknowledged. An object must not be used on both sides of a fork.
    """

    def __init__(self, folder: Path) -> None:
        """Open the store, creating it where there is none; sweeps what dead processes left in the making.

        Raises `StoreError` where the folder cannot be used or is of a newer format.
        """
        self._folder = folder
        self._temps = TempFolder(folder / "tmp")
        self._packs = Packs(folder / "packs")
        with store_errors(folder):
            if self._is_made():
                self._require_folders()
            else:
                self._make()
            self._temps.sweep()

    def put(self, digest: Digest, content: bytes) -> str:
        if len(content) <= PACKED_BYTES_MAX:
            return self._packs.put_all([(digest, content)])[0].key
        with self.writer() as writer:
            writer.write(content)
            return writer.commit(digest)

    def put_all(self, contents: Sequence[tuple[Digest, bytes]]) -> list[str]:
        if all(len(content) <= PACKED_BYTES_MAX for _, content in contents):
            return [each.key for each in self._packs.put_all(contents)]
        keys: list[str] = []
        try:
            for each in contents:
                keys.append(self.put(*each))  # noqa: PERF401  # what is there already goes again where one fails
        except BaseException:
            for key in keys:
                with suppress(StoreError):
                    self.delete(key)
            raise
        return keys

    def writer(self) -> "_FileWriter":
        return _FileWriter(self._folder, self._temps)

    def read(self, key: str, start: int, stop: int) -> bytes:
        if where := Slice.parse(key):
            return self._packs.read(where, start, stop)
        with store_errors(self._folder):
            file = self._open(key)
            try:
                return _pread_all(file, start, stop)
            finally:
                os.close(file)

    def read_at_once(self, key: str, start: int, stop: int) -> bytes:
        if where := Slice.parse(key):
            return self._packs.read_at_once(where, start, stop)
        raise BlockingIOError  # a file of its own is large, and has to be opened

    def state(self, key: str) -> State | None:
        where = Slice.parse(key)
        return self._packs.state(where) if where is not None else None

    def size(self, key: str) -> int:
        if where := Slice.parse(key):
            self._packs.read(where, 0, 0)
            return where.size
        with store_errors(self._folder):
            file = self._open(key)
            try:
                return os.fstat(file).st_size
            finally:
                os.close(file)

    def delete(self, key: str) -> bool:
        if where := Slice.parse(key):
            return self._packs.delete(where)
        if not _KEY.match(key):
            return False
        with store_errors(self._folder):
            try:
                self._path(key).unlink()
            except FileNotFoundError:
                return False
            return True

    def keys(self) -> Iterator[str]:
        for each in self._packs.slices():
            yield each.key
        for path in (self._folder / "files").glob("??/*"):
            key = f"{path.parent.name}/{path.name}"
            if _KEY.match(key):
                yield key

    def written_ms(self, key: str) -> int:
        if where := Slice.parse(key):
            return self._packs.written_ms(where)
        with store_errors(self._folder):
            file = self._open(key)
            try:
                # Of the inode, which the rename changed: the bytes may have been written long before.
                return os.fstat(file).st_ctime_ns // 1_000_000
            finally:
                os.close(file)

    def tidy(self) -> int:
        with store_errors(self._folder):
            return self._temps.sweep() + self._packs.tidy()

    def path(self, key: str) -> Path | None:
        return self._path(key) if _KEY.match(key) and self._path(key).is_file() else None

    def close(self) -> None:
        self._packs.close()

    def _path(self, key: str) -> Path:
        return self._folder / "files" / key

    def _open(self, key: str) -> int:
        if _KEY.match(key):
            with suppress(FileNotFoundError):
                return os.open(self._path(key), os.O_RDONLY)
        raise NotFoundError("The content is gone.", hint="Look the blob up again.")

    def _is_made(self) -> bool:
        try:
            version = json.loads((self._folder / "store.json").read_bytes())["version"]
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{self._folder / 'store.json'} is damaged.", hint="Restore it from a backup.") from None
        if version != FORMAT_VERSION:
            raise StoreError(
                f"The store in {self._folder} has format {version}; this agent-blobs knows {FORMAT_VERSION}.",
                hint="Open it with the version of agent-blobs that wrote it, or a newer one.",
            )
        return True

    def _require_folders(self) -> None:
        """Refuse a store that lost one of its folders: what was in it is lost too, and what is put would be."""
        found = {each.name for each in (self._folder / "files").iterdir()}
        missing = [f"files/{each}" for each in _FILE_FOLDERS if each not in found]
        missing += [each for each in ("tmp", "packs") if not (self._folder / each).is_dir()]
        if missing:
            raise StoreError(
                f"A folder of the store is missing ({self._folder / missing[0]}).",
                hint="Restore it; where there is no backup, make an empty one, and `blobs verify` tells what is lost.",
            )

    def _make(self) -> None:
        """Create the folders, all of them now: a folder made later would need a flush of its parent in every put."""
        for each in ("tmp", "packs", "files"):
            make_folder(self._folder / each)
        for each in _FILE_FOLDERS:
            (self._folder / "files" / each).mkdir(mode=0o700, exist_ok=True)
        flush_folder(self._folder / "files")
        file, temp = self._temps.create()
        try:
            write_all(file, json.dumps({"store": "agent-blobs", "version": FORMAT_VERSION}).encode())
            os.fdatasync(file)
            temp.rename(self._folder / "store.json")  # last: the store is whole once this is there
            flush_folder(self._folder)
        finally:
            temp.unlink(missing_ok=True)
            os.close(file)


class _FileWriter:
    """A large content on its way into a file: temporary file, write, flush, rename, flush of the folder."""

    def __init__(self, folder: Path, temps: TempFolder) -> None:
        self._folder = folder
        with store_errors(folder):
            self._file, self._temp = temps.create()
        self._bytes = LargeWriter(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the failure that led here is the one to report; a sweep removes what stays
            self._temp.unlink(missing_ok=True)
        os.close(self._file)

    def write(self, chunk: bytes | memoryview) -> None:
        with store_errors(self._folder):
            self._bytes.write(chunk)

    def commit(self, digest: Digest) -> str:
        key = f"{digest.hex[:2]}/{digest.hex}.{secrets.token_hex(8)}"
        path = self._folder / "files" / key
        with store_errors(self._folder):
            os.fchmod(self._file, 0o444)
            self._bytes.finish()
            self._temp.rename(path)
            try:
                flush_folder(path.parent)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return key


def _pread_all(file: int, start: int, stop: int) -> bytes:
    """Bytes `start` up to `stop`, or to the end; one system call answers at most 2 GiB."""
    pieces = []
    stop = min(stop, os.fstat(file).st_size)
    while start < stop and (piece := os.pread(file, stop - start, start)):
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
