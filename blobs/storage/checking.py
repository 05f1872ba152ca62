"""What is read, or given out as a file, without hashing it each time: it is hashed once, while it stays as it is."""

import hashlib
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock

from blobs.domain.digest import Digest
from blobs.domain.limits import MIB
from blobs.storage.content import State

CHECKED_BYTES_MAX = 256 * MIB
"""Up to here hashing costs less than the call that wants the file. What is larger is left to `blobs verify`."""

_REMEMBERED_MAX = 10_000


class Checked:
    """Remembers which places this process has found to hold the right bytes, by what the file system says of them."""

    def __init__(self) -> None:
        self._found: OrderedDict[State, Digest] = OrderedDict()
        self._lock = Lock()

    def knows(self, state: State, digest: Digest) -> bool:
        """Whether what has this state was found to have this digest."""
        with self._lock:
            if self._found.get(state) != digest:
                return False
            self._found.move_to_end(state)
            return True

    def remember(self, state: State, digest: Digest) -> None:
        """What had this state has this digest: the state is of before it was hashed."""
        with self._lock:
            self._found[state] = digest
            if len(self._found) > _REMEMBERED_MAX:
                self._found.popitem(last=False)

    def is_sound(self, path: Path, digest: Digest) -> bool:
        """Whether the file has this digest, as far as that is looked at; raises `OSError` where it cannot be read."""
        with path.open("rb") as file:
            state = file_state(file.fileno())
            if state[2] > CHECKED_BYTES_MAX or self.knows(state, digest):
                return True
            if hashlib.file_digest(file, "sha256").digest() != digest.to_bytes():
                return False
        self.remember(state, digest)
        return True

    def note(self, path: Path, digest: Digest) -> None:
        """The file was written by this process just now, and hashed as it was."""
        with suppress(OSError), path.open("rb") as file:
            self.remember(file_state(file.fileno()), digest)


def file_state(file: int) -> State:
    """Device, inode, size and time (ns) of a file: what changes whenever somebody writes to it."""
    status = os.fstat(file)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
