"""A process that stores blobs until it is killed, and says which of them were acknowledged.

Run as `python -m tests.crash.writer FOLDER NAME COUNT [careless]`: three threads put blobs of 1 byte to 3 MB, some of
them the same for every process, and name each in the conversation `shared`. A line `DIGEST SIZE NUMBER` is printed once
a name is committed. A careless writer leaves out every flush of bytes: what a test of flushes has to notice.
"""

import hashlib
import os
import random
import sys
import threading
from contextlib import suppress
from pathlib import Path

from blobs.domain.errors import ConflictError, NotFoundError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Change, NameRecord
from blobs.storage.local import LocalContentStore
from blobs.storage.sqlite import SqliteCatalog

SIZES = (1, 700, 40_000, 256 * 1024, 256 * 1024 + 1, 1_000_000, 3_000_000)


def content(seed: str) -> bytes:
    """Bytes that follow from a seed."""
    draw = random.Random(seed)
    size = draw.choice(SIZES)
    block = draw.randbytes(min(size, 65_536))
    return (block * (size // len(block) + 1))[:size]


def open_store(folder: Path) -> tuple[BlobStore, LocalContentStore, SqliteCatalog]:
    """The stores of a folder."""
    stores = LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")
    return BlobStore(*stores, limits=Limits(), copies_folder=folder / "copies"), *stores


def commit_name(catalog: SqliteCatalog, stored) -> int:
    """Give the blob a name in the shared conversation, as often as another writer was first; answers its number."""
    while True:
        chat = catalog.find_conversation("a", "shared")
        name = NameRecord(chat.next_name, stored.reference.digest, stored.reference.size, stored.reference.type)
        try:
            catalog.commit("a", "shared", chat.version, Change(names=(name,)))
        except ConflictError:
            continue
        return name.number


def main(folder: Path, name: str, count: int) -> None:
    """Put `count` blobs a thread."""
    blobs, _, catalog = open_store(folder)
    with suppress(ConflictError):
        catalog.create_conversation("a", "shared", created_ms=1)
    printing = threading.Lock()

    def work(thread: int) -> None:
        for number in range(count):
            seed = f"shared {number}" if number % 5 == 0 else f"{name} {thread} {number}"
            expected = content(seed)
            while True:
                stored = blobs.put("a", iter([expected]), media_type="application/octet-stream")
                assert stored.reference.digest.hex == hashlib.sha256(expected).hexdigest()
                with suppress(NotFoundError):  # a collector without grace came in between
                    named = commit_name(catalog, stored)
                    break
            with printing:
                print(stored.reference.digest.hex, stored.reference.size, named, flush=True)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    blobs.close()


if __name__ == "__main__":
    if sys.argv[4:] == ["careless"]:
        os.fsync = os.fdatasync = lambda _: None
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
