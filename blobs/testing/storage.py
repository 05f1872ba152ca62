"""Contract suites for stores and catalogs: subclass one, name the maker, and every promise is tested.

    class TestMyStore(ContentStoreContract):
        def make_store(self, folder):
            return MyStore(folder)

A subclass adds tests, it never overrides one.
"""

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.storage.content import PACKED_BYTES_MAX, ContentStore
from blobs.testing.blob_store import BlobStoreContract
from blobs.testing.catalog import CatalogContract
from blobs.testing.contents import LARGE, SMALL

__all__ = ["BlobStoreContract", "CatalogContract", "ContentStoreContract"]


def put(store: ContentStore, content: bytes) -> str:
    """Store content under its digest; answers the key."""
    return store.put(Digest.of(content), content)


def whole(store: ContentStore, key: str) -> bytes:
    """All bytes under a key."""
    return store.read(key, 0, store.size(key))


class ContentStoreContract:
    """What every `ContentStore` keeps; `make_store` answers an empty one that may use the folder."""

    def make_store(self, folder: Path) -> ContentStore:
        """Make the store under test."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[ContentStore]:
        """The store under test, closed afterwards."""
        store = self.make_store(tmp_path / "content")
        yield store
        store.close()

    @pytest.mark.parametrize(
        "size", [0, 1, 4095, 4096, PACKED_BYTES_MAX - 1, PACKED_BYTES_MAX, PACKED_BYTES_MAX + 1, len(LARGE)]
    )
    def test_what_is_put_is_read_back(self, store: ContentStore, size: int) -> None:
        """Content of any size comes back to the byte, on both sides of every boundary."""
        key = put(store, LARGE[:size])
        assert store.size(key) == size
        assert whole(store, key) == LARGE[:size]

    @pytest.mark.parametrize("sizes", [(), (0,), (1, 40_000, 40_000, 0), (7, PACKED_BYTES_MAX + 1, 9)])
    def test_what_is_put_together_is_read_back(self, store: ContentStore, sizes: tuple[int, ...]) -> None:
        """Contents put at once each have a key of their own, in their order, whatever their sizes."""
        contents = [LARGE[:size] for size in sizes]
        keys = store.put_all([(Digest.of(each), each) for each in contents])
        assert [whole(store, each) for each in keys] == contents
        assert sorted(store.keys()) == sorted(set(keys))
        assert len(keys) == len(sizes)

    @pytest.mark.parametrize("size", [0, 1, PACKED_BYTES_MAX + 1, len(LARGE)])
    def test_what_is_written_is_read_back(self, store: ContentStore, size: int) -> None:
        """Content written in chunks comes back as one."""
        with store.writer() as writer:
            for start in range(0, size, 100_003):
                writer.write(memoryview(LARGE)[start : min(start + 100_003, size)])
            key = writer.commit(Digest.of(LARGE[:size]))
        assert store.size(key) == size
        assert whole(store, key) == LARGE[:size]

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_ranges_are_half_open_and_end_with_the_content(self, store: ContentStore, content: bytes) -> None:
        """A range gives its bytes, fewer past the end, none beyond it or where it is empty."""
        put(store, b"before")
        key = put(store, content)
        put(store, b"after")
        end = len(content)
        for start, stop in [(0, 1), (3, 7), (end - 2, end), (end - 2, end + 9), (0, 2**50), (5, 5), (end, end + 1)]:
            assert store.read(key, start, stop) == content[start:stop]
        assert store.read(key, end + 100, end + 200) == b""

    def test_what_is_read_at_once_is_what_is_read(self, store: ContentStore) -> None:
        """Either the same bytes or the news that one has to wait; never other bytes, and none of what is gone."""
        for content in (b"", SMALL, LARGE):
            key = put(store, content)
            for start, stop in ((0, len(content)), (3, 7), (0, 10**9), (10**9, 10**9 + 5)):
                expected = store.read(key, start, stop)
                with suppress(BlockingIOError):
                    assert store.read_at_once(key, start, stop) == expected
            state = store.state(key)
            assert store.state(key) == state
            store.delete(key)
            with pytest.raises((NotFoundError, BlockingIOError)):
                store.read_at_once(key, 0, 1)

    @pytest.mark.parametrize("content", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
    def test_every_put_is_an_incarnation_of_its_own(self, store: ContentStore, content: bytes) -> None:
        """Equal contents get different keys, and deleting one leaves the other."""
        first, second = put(store, content), put(store, content)
        assert first != second
        assert store.delete(first) is True
        assert whole(store, second) == content
        third = put(store, content)
        assert third not in {first, second}
        assert set(store.keys()) == {second, third}

    @pytest.mark.parametrize("content", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
    def test_deleted_content_is_gone(self, store: ContentStore, content: bytes) -> None:
        """A deletion answers whether there was something; after it nothing can be read."""
        key, other = put(store, content), put(store, b"other")
        assert store.delete(key) is True
        assert store.delete(key) is False
        for look in (lambda: store.read(key, 0, 1), lambda: store.read(key, 0, 0), lambda: store.size(key)):
            with pytest.raises(NotFoundError):
                look()
        assert store.path(key) is None
        assert list(store.keys()) == [other]

    @pytest.mark.parametrize(
        "key", ["", "x", "../../etc/passwd", "pack/0123456789abcdef/48/5", "pack/../48/5", f"aa/{'a' * 64}.{'0' * 16}"]
    )
    def test_an_unknown_key_is_one_that_is_gone(self, store: ContentStore, key: str) -> None:
        """Whatever a key looks like, it reaches nothing that was not stored under it."""
        put(store, SMALL)
        with pytest.raises(NotFoundError):
            store.read(key, 0, 1)
        with pytest.raises(NotFoundError):
            store.size(key)
        assert store.path(key) is None
        assert store.delete(key) is False

    def test_a_key_with_another_size_or_place_is_unknown(self, store: ContentStore) -> None:
        """A key that was tampered with reads nothing, not a part of a neighbour."""
        key = put(store, SMALL)
        put(store, b"neighbour")
        for changed in (key + "0", key[:-1], key.replace("/48/", "/40/"), key[:-1] + chr(ord(key[-1]) ^ 1)):
            if changed != key:
                with pytest.raises(NotFoundError):
                    store.read(changed, 0, 5)

    @pytest.mark.parametrize("size", [10, len(LARGE)])
    def test_content_that_is_not_committed_leaves_nothing(self, store: ContentStore, size: int) -> None:
        """Leaving a writer without commit, or by an error, discards what was written."""
        with store.writer() as writer:
            writer.write(LARGE[:size])
        writer = store.writer()
        with suppress(RuntimeError), writer:
            writer.write(LARGE[:size])
            raise RuntimeError
        assert list(store.keys()) == []

    @pytest.mark.parametrize("content", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
    def test_a_path_holds_exactly_the_content(self, store: ContentStore, content: bytes) -> None:
        """Where a store has a file for a content it holds these bytes and nobody may write it."""
        put(store, b"before")
        path = store.path(put(store, content))
        if path is not None:
            assert path.read_bytes() == content
            assert stat.S_IMODE(path.stat().st_mode) & 0o222 == 0

    def test_keys_are_those_of_all_contents(self, store: ContentStore) -> None:
        """Repair sees every content that was stored and not deleted."""
        kept = {put(store, LARGE[:size]) for size in (0, 1, 5000, len(LARGE))}
        store.delete(put(store, SMALL))
        assert set(store.keys()) == kept

    def test_many_threads_put_and_read_at_once(self, store: ContentStore) -> None:
        """Eight threads that put, read and delete at once get and lose exactly their own."""

        def work(number: int) -> str:
            content = LARGE[number : number + 1 + (number * 7919) % 300_000]
            key = put(store, content)
            assert whole(store, key) == content
            if number % 3 == 0:
                assert store.delete(key) is True
                return ""
            return key

        with ThreadPoolExecutor(8) as pool:
            keys = list(pool.map(work, range(120)))
        assert set(store.keys()) == {key for key in keys if key}
        for number, key in enumerate(keys):
            if key:
                assert whole(store, key) == LARGE[number : number + 1 + (number * 7919) % 300_000]

    def test_closing_twice_does_nothing(self, store: ContentStore) -> None:
        """A second close is no error."""
        put(store, SMALL)
        store.close()
        store.close()
