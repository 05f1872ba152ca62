"""The folder of the local content store: what lies in it, and what happens when the disk fails."""

import errno
import hashlib
import json
import os
import shutil
import stat
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError, NotFoundError, StoreError
from blobs.domain.limits import Limits
from blobs.storage import packs as packs_module
from blobs.storage.blob_store import BlobStore
from blobs.storage.local import LocalContentStore
from blobs.storage.sqlite import SqliteCatalog

LARGE = bytes(range(256)) * 2000


@pytest.fixture
def store(tmp_path):
    store = LocalContentStore(tmp_path / "content")
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "content"


def put(store: LocalContentStore, content: bytes) -> str:
    return store.put(Digest.of(content), content)


def failing(code: int):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


def files_in(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file() and each.name != "store.json")


def test_the_store_is_its_owners_alone(store, folder):
    """Folders are 0700, packs 0600, files of blobs 0444."""
    put(store, b"small")
    put(store, LARGE)
    modes = {each.relative_to(folder).parts[0]: stat.S_IMODE(each.stat().st_mode) for each in files_in(folder)}
    assert modes == {"packs": 0o600, "files": 0o444}
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o700 for each in [folder, *folder.rglob("*")] if each.is_dir())


def test_a_large_blob_lies_under_its_digest(store, folder):
    """The file's name begins with the digest, so that a catalog can be rebuilt from names."""
    digest = hashlib.sha256(LARGE).hexdigest()
    path = store.path(put(store, LARGE))
    assert path.parent == folder / "files" / digest[:2]
    assert path.name.startswith(f"{digest}.")


def test_a_pack_can_be_read_without_the_catalog(store, folder):
    """Records follow one another: magic, CRC-32 of the rest, length, digest, content."""
    contents = [b"one", b"", b"three" * 1000]
    keys = [put(store, each) for each in contents]
    (pack,) = (folder / "packs").iterdir()
    raw, offset = pack.read_bytes(), 0
    for content, key in zip(contents, keys, strict=True):
        magic, crc, length, digest = struct.unpack_from("<4sIQ32s", raw, offset)
        assert (magic, length, digest) == (b"BLB1", len(content), hashlib.sha256(content).digest())
        assert crc == zlib.crc32(raw[offset + 8 : offset + 48])
        assert key == f"pack/{pack.stem}/{offset + 48}/{len(content)}"
        offset += 48 + length
    assert offset == len(raw)


def test_a_torn_tail_is_passed_over(store, folder):
    """What a crash left half written at the end of a pack hides nothing before it."""
    keys = {put(store, b"whole"), put(store, b"whole too")}
    (pack,) = (folder / "packs").iterdir()
    whole = pack.read_bytes()
    for tail in (whole[:20], whole[:50], b"\0" * 100, b"BLB1" + b"\xff" * 60):
        pack.write_bytes(whole + tail)
        assert set(store.keys()) == keys
        assert {store.read(key, 0, 9) for key in keys} == {b"whole", b"whole too"}


def test_every_process_has_a_pack_of_its_own(store, folder):
    """Two stores over one folder never append to the same file, and each reads what the other wrote."""
    other = LocalContentStore(folder)
    mine, theirs = put(store, b"mine"), put(other, b"theirs")
    assert (other.read(mine, 0, 9), store.read(theirs, 0, 9)) == (b"mine", b"theirs")
    assert len(list((folder / "packs").iterdir())) == 2
    assert other.delete(mine) is True
    with pytest.raises(NotFoundError):
        store.read(mine, 0, 9)
    other.close()


def test_a_full_pack_is_sealed(store, folder, monkeypatch):
    """No pack grows over its size; earlier ones stay readable."""
    monkeypatch.setattr(packs_module, "PACK_BYTES_MAX", 100_000)
    contents = [bytes([number]) * 40_000 for number in range(7)]
    keys = [put(store, each) for each in contents]
    sizes = [each.stat().st_size for each in (folder / "packs").iterdir()]
    assert sorted(sizes) == [40_048, 80_096, 80_096, 80_096]
    assert [store.read(key, 0, 40_000) for key in keys] == contents


def test_open_packs_are_bounded(store, folder, monkeypatch):
    """However many packs are read, few stay open, also while other threads read them."""
    monkeypatch.setattr(packs_module, "PACK_BYTES_MAX", 1)
    monkeypatch.setattr(packs_module, "FILES_MAX", 2)
    contents = [bytes([number]) * 100 for number in range(20)]
    keys = [put(store, each) for each in contents]

    def read_all(_):
        return [store.read(key, 0, 100) for key in keys]

    with ThreadPoolExecutor(8) as pool:
        assert all(each == contents for each in pool.map(read_all, range(40)))
    links = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert sum(each.parent == folder / "packs" for each in links) <= 3  # two to read, one to append


def test_many_puts_share_a_flush(store, monkeypatch):
    """Eight threads that put while a flush runs are all served by one more."""
    put(store, b"first, so that the pack is there")
    flush, flushes, begun, gate = os.fdatasync, [], threading.Event(), threading.Event()

    def slow(file):
        flushes.append(file)
        begun.set()
        gate.wait()
        flush(file)

    monkeypatch.setattr(os, "fdatasync", slow)
    with ThreadPoolExecutor(9) as pool:
        futures = [pool.submit(put, store, b"leader")]
        begun.wait()
        futures += [pool.submit(put, store, bytes([number])) for number in range(8)]
        while len(store._packs._appends._waiting) < 8:
            pass
        gate.set()
        keys = [each.result() for each in futures]
    assert len(flushes) == 2
    assert [store.read(key, 0, 9) for key in keys] == [b"leader", *(bytes([number]) for number in range(8))]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failed_flush_of_a_pack_acknowledges_nothing(store, folder, monkeypatch, code):
    """The put fails as a store error, what it wrote is cut off, that pack is given up, and the next put succeeds."""
    before = put(store, b"before")
    size = sum(each.stat().st_size for each in (folder / "packs").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(code))
        with pytest.raises(StoreError) as failure:
            put(store, b"never acknowledged")
    assert ("full" in str(failure.value)) == (code == errno.ENOSPC)
    assert list(store.keys()) == [before]
    assert sum(each.stat().st_size for each in (folder / "packs").iterdir()) == size
    after = put(store, b"after")
    assert after.split("/")[1] != before.split("/")[1]
    assert (store.read(before, 0, 9), store.read(after, 0, 9)) == (b"before", b"after")


def test_a_pack_that_fails_at_once_leaves_no_file(store, folder, monkeypatch):
    """A full disk does not fill the folder with empty packs."""
    monkeypatch.setattr(os, "fdatasync", failing(errno.ENOSPC))
    for _ in range(3):
        with pytest.raises(StoreError):
            put(store, b"x")
    assert files_in(folder) == []


@pytest.mark.parametrize("step", ["write", "fdatasync", "rename", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_failed_step_of_a_large_put_leaves_nothing(store, folder, monkeypatch, step, code):
    """Whichever step fails, the caller gets a store error with a hint and the folder is as before."""
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failing(code))
        with pytest.raises(StoreError) as failure:
            put(store, LARGE)
    assert failure.value.hint
    assert files_in(folder) == []
    assert store.read(put(store, LARGE), 0, len(LARGE)) == LARGE


def test_a_lost_folder_is_said_and_nothing_is_acknowledged(store, folder):
    """When the folder is removed under an open store no put pretends to succeed."""
    key = put(store, b"before")
    shutil.rmtree(folder)
    for content in (b"small", LARGE):
        with pytest.raises(StoreError, match="missing"):
            put(store, content)
    assert not folder.exists()
    store.close()
    with pytest.raises(NotFoundError):
        store.read(key, 0, 1)


def test_leftovers_of_the_dead_are_swept_and_work_of_the_living_is_not(store, folder):
    """Opening a store removes temporary files without an owner; a writer at work in another one goes on."""
    (folder / "tmp" / "left-by-a-crash").write_bytes(b"x" * 1000)
    with store.writer() as writer:
        writer.write(LARGE)
        other = LocalContentStore(folder)
        assert len(files_in(folder / "tmp")) == 1
        key = writer.commit(Digest.of(LARGE))
    other.close()
    assert store.read(key, 0, len(LARGE)) == LARGE
    assert files_in(folder / "tmp") == []


def test_the_format_is_written_and_checked(store, folder):
    """A store of a newer format is refused as a whole, and so is one whose description is damaged."""
    described = json.loads((folder / "store.json").read_text())
    assert described == {"store": "agent-blobs", "version": 1}
    for text in (json.dumps(described | {"version": 2}), "{", "[]"):
        (folder / "store.json").write_text(text)
        with pytest.raises(StoreError, match=r"format 2|damaged"):
            LocalContentStore(folder)


def test_a_store_that_broke_off_being_made_is_made_whole(folder):
    """Folders without a description are completed."""
    (folder / "files").mkdir(parents=True)
    store = LocalContentStore(folder)
    assert store.read(put(store, LARGE), 0, 3) == LARGE[:3]
    store.close()


def test_a_deleted_slice_gives_its_blocks_back(store, folder):
    """On a file system that can punch holes, deleting from the middle of a pack frees the disk at once."""
    key = put(store, b"x" * 200_000)
    last = put(store, b"last")
    (pack,) = (folder / "packs").iterdir()
    before = pack.stat().st_blocks
    assert store.delete(key) is True
    if pack.stat().st_blocks == before:
        pytest.skip("this file system cannot punch holes")
    assert (before - pack.stat().st_blocks) * 512 >= 190_000
    assert store.read(last, 0, 9) == b"last"
    assert list(store.keys()) == [last]


def test_empty_packs_are_tidied_and_damaged_ones_are_not(folder):
    """A pack of deletions and a torn tail goes; one with a damaged header, behind which others may be sound, stays."""
    for damage, is_tidied in ((b"", True), (b"BLB1" + bytes(20), True), (None, False)):
        store = LocalContentStore(folder)
        keys = [put(store, f"{damage} {number}".encode()) for number in range(2)]
        store.delete(keys[0])
        if is_tidied:
            store.delete(keys[1])
        assert store.tidy() == 0  # it is being appended to
        store.close()
        [pack] = (folder / "packs").iterdir()
        if damage is None:
            pack.write_bytes(b"XXXX" + pack.read_bytes()[4:])
        else:
            pack.write_bytes(pack.read_bytes() + damage)
        store = LocalContentStore(folder)
        assert store.tidy() == int(is_tidied)
        assert pack.exists() == (not is_tidied)
        if not is_tidied:
            assert store.read(keys[1], 0, 99) == b"None 1"
        store.close()


def test_bytes_that_changed_are_never_read_at_once(folder, tmp_path):
    """Also where they were found sound before and are in memory: whoever writes to a pack is noticed."""
    catalog = SqliteCatalog(tmp_path / "catalog.db")
    blobs = BlobStore(LocalContentStore(folder), catalog, limits=Limits(), copies_folder=tmp_path / "copies")
    content = b"as it was put " * 100
    digest = blobs.put("a", content, media_type="text/plain").reference.digest
    assert blobs.open("a", digest).read(0, 5) == content[:5]
    for _ in range(2):
        assert blobs.open_at_once("a", digest).read_at_once(0, 5) == content[:5]
    (pack,) = (folder / "packs").iterdir()
    with pack.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"X")
    with pytest.raises(BlockingIOError):
        blobs.open_at_once("a", digest).read_at_once(0, 5)
    with pytest.raises(CorruptError):
        blobs.open("a", digest).read(0, 5)
    with pytest.raises(BlockingIOError):
        blobs.open_at_once("a", digest).read_at_once(0, 5)
    blobs.close()
