"""The folder of copies."""

import os
import stat
import time

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError
from blobs.storage.copies import LocalCopies


def copy(copies: LocalCopies, content: bytes, key: str | None = None):
    return copies.path(key or str(Digest.of(content)), Digest.of(content), len(content), [content[:3], content[3:]])


def age(path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_copy_is_made_once(tmp_path):
    """A second request answers the file that is there and reads nothing."""
    copies = LocalCopies(tmp_path, bytes_max=1000)
    path = copy(copies, b"content")

    def unread():
        raise AssertionError("read again")
        yield b""

    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert copies.path(str(Digest.of(b"content")), Digest.of(b"content"), 7, unread()) == path


def test_copies_of_two_keys_are_two_files(tmp_path):
    """Equal bytes of two tenants share no file, so the time a copy takes tells nothing about others."""
    copies = LocalCopies(tmp_path, bytes_max=1000)
    assert copy(copies, b"content", "a's key") != copy(copies, b"content", "b's key")


def test_wrong_bytes_are_no_copy(tmp_path):
    """Bytes that do not have the digest are refused, and nothing stays of them."""
    copies = LocalCopies(tmp_path, bytes_max=1000)
    with pytest.raises(CorruptError):
        copies.path("key", Digest.of(b"content"), 7, [b"cOntent"])
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_the_least_recently_used_copies_go_first(tmp_path):
    """Over its bound the folder loses the copies that were used longest ago, and only those."""
    copies = LocalCopies(tmp_path, bytes_max=300)
    old, kept = copy(copies, b"a" * 100), copy(copies, b"b" * 100)
    newer = copy(copies, b"c" * 100)
    for path, seconds in ((old, 5000), (kept, 9000), (newer, 1000)):
        age(path, seconds)
    copy(copies, b"b" * 100)  # used again
    newest = copy(copies, b"d" * 100)
    assert [each.exists() for each in (old, kept, newer, newest)] == [False, True, True, True]


def test_a_copy_in_use_is_never_evicted(tmp_path):
    """A path given out a moment ago stays, even over the bound."""
    copies = LocalCopies(tmp_path, bytes_max=100)
    paths = [copy(copies, bytes([number]) * 80) for number in range(5)]
    assert all(each.exists() for each in paths)


def test_what_is_there_counts(tmp_path):
    """Copies of an earlier process on the same boot are used, and count towards the bound."""
    first = copy(LocalCopies(tmp_path, bytes_max=250), b"a" * 100)
    later = LocalCopies(tmp_path, bytes_max=250)
    assert copy(later, b"a" * 100) == first
    age(first, 5000)
    copy(later, b"b" * 100)
    copy(later, b"c" * 100)
    assert not first.exists()


def test_copies_of_an_earlier_boot_are_dropped(tmp_path):
    """A copy is not flushed to the disk, so after a power cut none is trusted."""
    (tmp_path / "another-boot" / "tmp").mkdir(parents=True)
    (tmp_path / "another-boot" / "a").write_bytes(b"torn")
    LocalCopies(tmp_path, bytes_max=1000)
    assert not (tmp_path / "another-boot").exists()
