"""The contract suite for the blob store over a pair of stores; see `blobs.testing.storage`."""

import hashlib
import io
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError, DigestMismatchError, LimitError, NotFoundError
from blobs.domain.limits import Limits
from blobs.domain.reference import Reference
from blobs.storage.blob_store import BlobStore, NewContent, Stored
from blobs.storage.catalog import Catalog
from blobs.storage.chunks import Content
from blobs.storage.content import PACKED_BYTES_MAX, ContentStore
from blobs.testing.contents import LARGE, SMALL
from blobs.testing.keeping import remove


class BlobStoreContract:
    """What the blob store keeps over a pair of stores; `make_stores` answers empty ones that may use the folder."""

    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        """Make the stores under test."""
        raise NotImplementedError

    @pytest.fixture
    def stores(self, tmp_path: Path) -> tuple[ContentStore, Catalog]:
        """The stores under test."""
        return self.make_stores(tmp_path)

    @pytest.fixture
    def blobs(self, stores: tuple[ContentStore, Catalog], tmp_path: Path) -> Iterator[BlobStore]:
        """A blob store over them, with room for blobs of 3,000,000 bytes."""
        limits = Limits(blob_bytes_max=3_000_000)
        blobs = BlobStore(*stores, limits=limits, copies_folder=tmp_path / "copies")
        yield blobs
        blobs.close()

    @pytest.mark.parametrize(
        "size", [0, 1, PACKED_BYTES_MAX, PACKED_BYTES_MAX + 1, 1024 * 1024, 1024 * 1024 + 1, len(LARGE)]
    )
    def test_a_blob_is_read_as_it_was_put(self, blobs: BlobStore, size: int) -> None:
        """Whole, in chunks, by range and as a file, a blob is what was put."""
        content = LARGE[:size]
        stored = blobs.put("a", content, media_type="text/csv")
        assert stored.was_new is True
        assert stored.reference.to_json() == {
            "$blob": "sha256:" + hashlib.sha256(content).hexdigest(),
            "size": size,
            "type": "text/csv",
        }
        blob = blobs.open("a", stored.reference.digest)
        assert (blob.digest, blob.size) == (stored.reference.digest, size)
        assert blob.read(0, size) == content
        assert blob.read(5, size + 100) == content[5:]
        assert blob.read(size, size + 1) == b""
        assert b"".join(blob.chunks()) == content
        assert b"".join(blob.chunks(7, 1_500_000)) == content[7:1_500_000]
        assert all(len(chunk) <= 1024 * 1024 for chunk in blob.chunks())
        assert blob.path().read_bytes() == content

    @pytest.mark.parametrize("size", [0, 12, 300_000, len(LARGE)])
    def test_content_is_taken_in_every_shape(self, blobs: BlobStore, size: int) -> None:
        """Bytes, a buffer, a file and chunks of any size are the same blob, stored once."""
        content = LARGE[:size]
        shapes: list[Content] = [
            content,
            bytearray(content),
            memoryview(content),
            io.BytesIO(content),
            iter([content[:5], b"", content[5:]]),
            [content[start : start + 999] for start in range(0, size, 999)],
        ]
        stored = [blobs.put("a", each, media_type="text/plain") for each in shapes]
        assert {each.reference.digest for each in stored} == {Digest.of(content)}
        assert [each.was_new for each in stored] == [True] + [False] * 5

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_the_type_is_the_callers(self, blobs: BlobStore, content: bytes) -> None:
        """Equal bytes put as another type are the same blob under a reference of that type."""
        blobs.put("a", content, media_type="text/plain")
        again = blobs.put("a", content, media_type="text/csv")
        assert (again.was_new, again.reference.type) == (False, "text/csv")

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_tenants_share_nothing(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """A tenant cannot open what another put, and putting the same bytes is new to it."""
        digest = blobs.put("a", content, media_type="text/plain").reference.digest
        with pytest.raises(NotFoundError) as theirs:
            blobs.open("b", digest)
        assert blobs.put("b", content, media_type="text/plain").was_new is True
        assert len(list(stores[0].keys())) == 2
        remove(stores[1], digest)
        assert blobs.open("b", digest).read(0, 5) == content[:5]
        with pytest.raises(NotFoundError) as nobodys:
            blobs.open("a", digest)
        assert str(theirs.value) == str(nobodys.value)

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_a_wrong_digest_stores_nothing(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """Bytes that do not have the declared digest are refused without a trace; the right digest is taken."""
        with pytest.raises(DigestMismatchError):
            blobs.put("a", iter([content]), media_type="text/plain", expected=Digest.of(b"other"))
        assert list(stores[0].keys()) == []
        assert stores[1].list_blobs("a") == []
        assert blobs.put("a", content, media_type="text/plain", expected=Digest.of(content)).was_new is True

    @pytest.mark.parametrize("over", [0, 1])
    def test_limits_hold_to_the_byte(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], over: int) -> None:
        """A blob of exactly the limit is stored, one byte more is refused without a trace."""
        for size, size_max in [(10 + over, 10), (500_000 + over, 500_000), (3_000_000 + over, None)]:
            chunks = iter([b"x" * (size - 5), b"yyyyy"])
            if over:
                with pytest.raises(LimitError):
                    blobs.put("a", chunks, media_type="text/plain", size_max=size_max)
            else:
                blobs.put("a", chunks, media_type="text/plain", size_max=size_max)
        assert len(list(stores[0].keys())) == len(stores[1].list_blobs("a")) == (0 if over else 3)

    @pytest.mark.parametrize("size", [10, 2_000_000])
    def test_content_that_breaks_off_stores_nothing(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], size: int
    ) -> None:
        """A sender that fails is heard as it is, and nothing of what it sent is kept."""

        def sender() -> Iterator[bytes]:
            yield LARGE[:size]
            raise ConnectionResetError("the client went away")

        with pytest.raises(ConnectionResetError):
            blobs.put("a", sender(), media_type="text/plain")
        assert list(stores[0].keys()) == []
        assert stores[1].list_blobs("a") == []

    def test_contents_that_are_put_together_are_stored_as_each_alone(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]
    ) -> None:
        """Of several tenants, new, equal and known ones; one that is refused has no part in it."""
        known = blobs.put("a", b"known", media_type="text/plain").reference
        contents = [
            NewContent("a", SMALL, "text/plain"),
            NewContent("b", SMALL, "text/html", Digest.of(SMALL)),
            NewContent("a", b"other", "text/plain", Digest.of(SMALL)),
            NewContent("a", SMALL, "text/css"),
            NewContent("a", b"known", "text/plain"),
            NewContent("a", LARGE[:PACKED_BYTES_MAX], "text/plain"),
            NewContent("a", b"", "text/plain"),
        ]
        stored = blobs.put_all(contents)
        assert isinstance(stored[2], DigestMismatchError)
        assert [each.was_new for each in stored if isinstance(each, Stored)].count(True) == 4
        for given, each in zip(contents, stored, strict=True):
            if isinstance(each, Stored):
                assert each.reference == Reference(Digest.of(given.content), len(given.content), given.media_type)
                found = blobs.open(given.tenant, each.reference.digest)
                assert found.read(0, len(given.content)) == given.content
        assert blobs.open("a", known.digest).read(0, 5) == b"known"
        with pytest.raises(NotFoundError):
            blobs.open("a", Digest.of(b"other"))
        assert len(list(stores[0].keys())) == 5
        assert blobs.put_all([]) == []

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_racing_puts_keep_one_copy(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """Of many threads that put the same bytes one is first, and only its bytes stay."""
        with ThreadPoolExecutor(8) as pool:
            stored = list(pool.map(lambda _: blobs.put("a", content, media_type="text/plain"), range(16)))
        assert [each.was_new for each in stored].count(True) == 1
        assert len(list(stores[0].keys())) == 1
        assert blobs.open("a", Digest.of(content)).read(0, len(content)) == content

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_missing_bytes_are_corruption_not_absence(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """A blob that is recorded but whose bytes are lost is said to be corrupt, in every way of reading."""
        digest = blobs.put("a", content, media_type="text/plain").reference.digest
        blob = blobs.open("a", digest)
        (key,) = stores[0].keys()
        stores[0].delete(key)
        with pytest.raises(CorruptError):
            blob.read(0, 5)
        with pytest.raises(CorruptError):
            list(blob.chunks())
        with pytest.raises(CorruptError):
            blob.path()

    def test_what_is_read_at_once_is_sound_or_refused(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]
    ) -> None:
        """The same bytes, or the news that one has to wait: so for what is large, lost, or noted as corrupt."""
        for content in (b"", SMALL, LARGE):
            digest = blobs.put("a", content, media_type="text/plain").reference.digest
            blob = blobs.open("a", digest)
            assert blob.read(0, len(content)) == content
            for start, stop in ((0, len(content)), (3, 7), (0, 10**9), (len(content), 10**9)):
                with suppress(BlockingIOError):
                    assert blobs.open_at_once("a", digest).read_at_once(start, stop) == content[start:stop]
            with pytest.raises(NotFoundError):
                blobs.open_at_once("b", digest)
            for key in list(stores[0].keys()):
                stores[0].delete(key)
            with pytest.raises(BlockingIOError):
                blob.read_at_once(0, 5)

    @pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
    def test_an_open_blob_follows_its_bytes(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """A blob that was removed and put again is read from its new place; one that was removed is not found."""
        digest = blobs.put("a", content, media_type="text/plain").reference.digest
        blob, other = blobs.open("a", digest), blobs.open("a", digest)
        for each in remove(stores[1], digest):
            stores[0].delete(each.key)
        with pytest.raises(NotFoundError):
            other.read(0, 5)
        assert blobs.put("a", content, media_type="text/plain").was_new is True
        assert blob.read(0, len(content)) == content
        assert blob.path().read_bytes() == content

    def test_a_file_given_out_is_never_written_again(self, blobs: BlobStore) -> None:
        """Paths asked for again are the same file, read-only and not another's."""
        small = blobs.open("a", blobs.put("a", SMALL, media_type="text/plain").reference.digest)
        large = blobs.open("a", blobs.put("a", LARGE, media_type="text/plain").reference.digest)
        for blob in (small, large):
            path = blob.path()
            inode = path.stat().st_ino
            assert stat.S_IMODE(path.stat().st_mode) == 0o444
            assert blob.path() == path
            assert path.stat().st_ino == inode
        assert small.path() != large.path()
