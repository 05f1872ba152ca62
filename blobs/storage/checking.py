"""Files of the store that are given out or read in part: each is hashed once before, as long as it stays as it is."""

import hashlib
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock

from blobs.domain.digest import Digest
from blobs.domain.limits import MIB

CHECKED_BYTES_MAX = 256 * MIB
"""Up to here hashing costs less than the call that wants the file. What is larger is left to `blobs verify`."""

_REMEMBERED_MAX = 10_000

_State = tuple[int, int, int, int]


class CheckedFiles:
    """Remembers which files this process has found to hold the right bytes, by what the file system says of them."""

    def __init__(self) -> None:
        self._found: OrderedDict[_State, Digest] = OrderedDict()
        self._lock = Lock()

    def is_sound(self, path: Path, digest: Digest) -> bool:
        """Whether the file has this digest, as far as that is looked at; raises `OSError` where it cannot be read."""
        with path.open("rb") as file:
            state = _state(file.fileno())
            if state[2] > CHECKED_BYTES_MAX:
                return True
            with self._lock:
                if self._found.get(state) == digest:
                    self._found.move_to_end(state)
                    return True
            if hashlib.file_digest(file, "sha256").digest() != digest.to_bytes():
                return False
        self._remember(state, digest)
        return True

    def note(self, path: Path, digest: Digest) -> None:
        """The file was written by this process just now, and hashed as it was."""
        with suppress(OSError), path.open("rb") as file:
            self._remember(_state(file.fileno()), digest)

    def _remember(self, state: _State, digest: Digest) -> None:
        with self._lock:
            self._found[state] = digest
            if len(self._found) > _REMEMBERED_MAX:
                self._found.popitem(last=False)


def _state(file: int) -> _State:
    """What changes whenever somebody writes to the file; what the disk itself changes shows only in the bytes."""
    status = os.fstat(file)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
