"""Uploads under way: a folder each beside the store, so that any process over it can carry on any of them.

The length of the file is the offset, and bytes are durable before they are acknowledged. An upload that nobody carries
on ends after the grace time of the limits.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blobs.client import Blobs
from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, ConflictError, LimitError, NotFoundError
from blobs.storage.disk import flush_folder, make_folder, store_errors, write_all
from blobs.storage.room import Room

_ID = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload as it is now; `reference` is that of its blob once it is complete."""

    id: str
    length: int
    offset: int
    expires_s: float
    reference: dict[str, Any] | None


class PartialUploads:
    """One tenant's uploads under way. Every verb may be called from many threads and processes."""

    def __init__(self, blobs: Blobs) -> None:
        service = blobs.service
        root = Path(service.temporary.name if service.temporary is not None else service.settings.store)
        tenant = hashlib.sha256(blobs.tenant_name.encode()).hexdigest()[:32]
        self._folder = root / "uploads" / tenant
        self._blobs = blobs
        self._grace_s = service.limits.grace_ms / 1000

    def begin(self, *, length: int, media_type: str | None, name: str | None, expected: str | None) -> Upload:
        """A new upload of `length` bytes; `LimitError` where a blob may not be so large or the tenant has no room."""
        most = self._blobs.service.limits.blob_bytes_max
        if length > most:
            raise LimitError(f"Upload-Length: {length} is more than {most} bytes.", hint="Split it into several blobs.")
        identity = secrets.token_hex(16)
        about = {"length": length, "type": media_type, "name": name, "digest": expected}
        room = self._room(identity)
        room.hold(length)
        try:
            self._make(identity, about)
        except BaseException:
            room.release()
            raise
        if length == 0:
            return self.append(identity, 0, ())
        return self.find(identity)

    def find(self, identity: str) -> Upload:
        """An upload; `NotFoundError` where there is none, or no longer."""
        folder = self._at(identity)
        about = self._about(folder)
        reference = _read(folder / "reference")
        with _gone_is_not_found():
            status = (folder / ("content" if reference is None else "reference")).stat()
        offset = status.st_size if reference is None else about["length"]
        return Upload(identity, about["length"], offset, status.st_mtime + self._grace_s, reference)

    def append(self, identity: str, offset: int, chunks: Iterable[bytes]) -> Upload:
        """Add bytes at `offset`, and store the blob when all are there.

        What came is kept, durably, also where reading the chunks raises. Raises `ConflictError` where the upload is at
        another offset or being added to, `LimitError` past its length, and `DigestMismatchError` where the whole is not
        what was declared; such an upload is forgotten.
        """
        folder = self._at(identity)
        about = self._about(folder)
        with store_errors(folder), _gone_is_not_found(), _locked(folder / "content") as file:
            found = self.find(identity)
            check_offset(found, offset)
            if found.reference is None:
                self._room(identity).hold(about["length"])  # until it expires, which is later now
                _fill(file, offset, chunks, about["length"])
                if os.fstat(file).st_size == about["length"]:
                    self._finish(folder, about)
        return self.find(identity)

    def end(self, identity: str) -> None:
        """Forget an upload; `NotFoundError` where there is none."""
        folder = self._at(identity)
        with store_errors(folder), _gone_is_not_found(), _locked(folder / "content"):
            self._forget(folder)

    def _make(self, identity: str, about: dict[str, Any]) -> None:
        with store_errors(self._folder):
            make_folder(self._folder)
            self._sweep()
            folder = self._folder / identity
            folder.mkdir(mode=0o700)
            _write(folder / "content", b"")
            _write(folder / "about", exact_json.dumps(about))
            flush_folder(folder)
            flush_folder(self._folder)

    def _room(self, identity: str) -> Room:
        """What is held for an upload; free again when that expires."""
        return self._blobs.service.store.room(self._blobs.tenant_name, name=f"upload {identity}")

    def _forget(self, folder: Path) -> None:
        shutil.rmtree(folder)
        self._room(folder.name).release()

    def _at(self, identity: str) -> Path:
        if not _ID.match(identity):
            raise _not_found()
        return self._folder / identity

    def _about(self, folder: Path) -> dict[str, Any]:
        about = _read(folder / "about")
        if about is None:
            raise _not_found()
        return about

    def _finish(self, folder: Path, about: dict[str, Any]) -> None:
        try:
            with (folder / "content").open("rb") as content:
                reference = self._blobs.put(
                    content,
                    type=about["type"],
                    name=about["name"],
                    expected=about["digest"],
                    room=self._room(folder.name),
                )
        except BlobsError as fault:
            if fault.status < 500:  # it can never be stored: another try would end the same
                self._forget(folder)
            raise
        self._room(folder.name).release()  # where the blob was there already
        _write(folder / "reference.new", exact_json.dumps(reference))
        (folder / "reference.new").rename(folder / "reference")
        flush_folder(folder)
        os.truncate(folder / "content", 0)

    def _sweep(self) -> None:
        """Remove uploads that nobody carried on within the grace time."""
        for folder in self._folder.iterdir():
            with suppress(OSError, BlobsError):  # another process sweeps too
                if self.find(folder.name).expires_s < time.time():
                    self.end(folder.name)


def check_offset(upload: Upload, offset: int) -> None:
    """Raise `ConflictError` where an upload is at another offset."""
    if offset != upload.offset:
        raise ConflictError(
            f"The upload is at offset {upload.offset}, not {offset}.",
            code="wrong_offset",
            hint=f"Go on with Upload-Offset: {upload.offset}.",
        )


def _fill(file: int, offset: int, chunks: Iterable[bytes], length: int) -> None:
    size = offset
    os.lseek(file, offset, os.SEEK_SET)
    try:
        for chunk in chunks:
            size += len(chunk)
            if size > length:
                raise LimitError(f"The upload has {length} bytes; there are more.", hint="Begin one that is longer.")
            write_all(file, chunk)
    finally:
        os.fsync(file)


def _write(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        write_all(file, content)
        os.fsync(file)
    finally:
        os.close(file)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value: dict[str, Any] = exact_json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return value


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open for writing and ours alone; `ConflictError` where somebody else is at it."""
    file = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(
                "The upload is being added to.", code="upload_locked", hint="Ask for its offset when that has ended."
            ) from None
        yield file
    finally:
        os.close(file)


@contextmanager
def _gone_is_not_found() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise _not_found() from None


def _not_found() -> NotFoundError:
    return NotFoundError("There is no such upload.", hint="Begin one with POST /v1/uploads.")
