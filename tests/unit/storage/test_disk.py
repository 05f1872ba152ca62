"""Large content on its way to the disk."""

import errno
import io
import os
import random
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.disk import WRITTEN_BYTES, LargeWriter, read_chunks
from blobs.storage.local import LocalContentStore
from blobs.storage.memory import MemoryCatalog

_MORE = WRITTEN_BYTES + 5000


def _content(size):
    return random.Random(size).randbytes(size)


@pytest.fixture
def file(tmp_path):
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_EXCL | os.O_RDWR)
    yield file
    os.close(file)


def _written(file):
    return Path(f"/proc/self/fd/{file}").read_bytes()  # anew: this one may be open for direct writes


@pytest.mark.parametrize("size", [0, 1, 4096, WRITTEN_BYTES - 1, WRITTEN_BYTES, WRITTEN_BYTES + 1, 2 * WRITTEN_BYTES])
@pytest.mark.parametrize("piece", [300_000, WRITTEN_BYTES, _MORE])
def test_what_is_written_is_what_was_given(file, size, piece):
    """However long the content is, and in whatever pieces it comes."""
    content, writer = _content(size), LargeWriter(file)
    for start in range(0, size, piece):
        writer.write(content[start : start + piece])
    writer.finish()
    assert _written(file) == content


def test_a_chunk_of_a_file_is_written_as_it_lies(file):
    """What a file gives may be overwritten by its next chunk as soon as it was written."""
    content, writer = _content(2 * WRITTEN_BYTES + 7), LargeWriter(file)
    for chunk in read_chunks(io.BytesIO(content)):
        writer.write(chunk)
    writer.finish()
    assert _written(file) == content


@pytest.mark.parametrize("taken", [0, 4096])
def test_a_file_system_without_direct_writes_takes_the_bytes_all_the_same(file, monkeypatch, taken):
    """One that refuses such a write, or takes a part of it and refuses the rest, is written to in the usual way."""
    write, calls = os.write, []

    def refusing(number, content):
        calls.append(len(content))
        if len(calls) == 1 and taken:
            return write(number, content[:taken])
        if len(calls) == (2 if taken else 1):
            raise OSError(errno.EINVAL, "not so")
        return write(number, content)

    content, writer = _content(_MORE), LargeWriter(file)
    monkeypatch.setattr("blobs.storage.disk.os.write", refusing)
    monkeypatch.setattr("blobs.storage.disk.fcntl.fcntl", lambda *_: 0)  # whatever the file system of this test does
    writer.write(content)
    writer.finish()
    assert _written(file) == content


class _Counted(io.BytesIO):
    """A file that counts the bytes that were read of it."""

    count = 0

    def readinto(self, buffer):
        read = super().readinto(buffer)
        self.count += read
        return read


def test_a_put_reads_its_content_once_and_the_store_reads_nothing_back(tmp_path, monkeypatch):
    """Bytes that were hashed as they were written need not be hashed again before they are read in part."""
    content = _content(_MORE)
    store = BlobStore(
        LocalContentStore(tmp_path / "store"), MemoryCatalog(), limits=Limits(), copies_folder=tmp_path / "copies"
    )
    file = _Counted(content)
    digest = store.put("tenant", file, media_type="application/octet-stream").reference.digest
    assert digest == Digest.of(content)
    assert file.count == len(content)
    monkeypatch.setattr("blobs.storage.checking.hashlib.file_digest", None)
    assert store.open("tenant", digest).read(10, 20) == content[10:20]
