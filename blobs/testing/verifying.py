"""The contract suite for verifying over a pair of stores; see `blobs.testing.storage`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blobs.domain.errors import CorruptError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog
from blobs.storage.content import ContentStore
from blobs.storage.keeping import Derivation
from blobs.storage.stored_blob import StoredBlob
from blobs.storage.verifying import Verified, Verifier

SMALL, LARGE = b"small", b"large" * 80_000


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def __call__(self) -> int:
        """The time now."""
        return self.ms


class VerifyingContract:
    """What verifying keeps; `make_stores` answers an empty pair of stores."""

    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        """Make the stores under test."""
        raise NotImplementedError

    def damage(self, content: ContentStore, key: str, change: Callable[[bytearray], None]) -> None:
        """Change the stored bytes of a key behind the store's back."""
        raise NotImplementedError

    @pytest.fixture
    def stores(self, tmp_path: Path) -> Iterator[tuple[ContentStore, Catalog]]:
        """The stores under test, closed afterwards."""
        stores = self.make_stores(tmp_path)
        yield stores
        for each in stores:
            each.close()

    @pytest.fixture
    def clock(self) -> "Clock":
        """The time, which tests move."""
        return Clock()

    @pytest.fixture
    def blobs(self, stores: tuple[ContentStore, Catalog], tmp_path: Path, clock: "Clock") -> BlobStore:
        """A blob store over them."""
        return BlobStore(*stores, limits=Limits(), copies_folder=tmp_path / "copies", clock=clock)

    @pytest.mark.parametrize("content", [b"small" * 9, LARGE], ids=["small", "large"])
    @pytest.mark.parametrize("fault", ["flipped", "cut", "missing"])
    def test_damage_is_found_and_healed(
        self,
        blobs: BlobStore,
        stores: tuple[ContentStore, Catalog],
        content: bytes,
        fault: str,
    ) -> None:
        """Flipped, cut or missing bytes are found, reads fail loudly, a put of the same bytes heals."""
        sound = blobs.put("a", b"sound", media_type="text/plain").reference.digest
        digest = blobs.put("a", content, media_type="text/plain").reference.digest
        found = stores[1].find_blob("a", digest)
        assert found is not None
        if fault == "missing":
            stores[0].delete(found.key)
        else:
            self.damage(stores[0], found.key, _flip if fault == "flipped" else _cut)
        verified = {each.digest: each for each in Verifier(*stores).verify()}
        assert verified[sound] == Verified("a", sound, 5)
        assert (
            verified[digest].fault
            in {
                "flipped": ("wrong bytes",),
                "cut": ("wrong length", "wrong bytes", "missing"),
                "missing": ("missing",),
            }[fault]
        )
        for read in (
            lambda: blobs.open("a", digest).read(0, len(content)),
            lambda: blobs.open("a", digest).read(3, 9),
            lambda: list(blobs.open("a", digest).chunks()),
            lambda: blobs.open("a", digest).path(),
        ):
            with pytest.raises(CorruptError):
                read()
        healed = blobs.put("a", content, media_type="text/plain")
        assert healed.was_new
        assert blobs.open("a", digest).read(0, len(content)) == content
        assert [each.fault for each in Verifier(*stores).verify()] == [None, None]

    @pytest.mark.parametrize("content", [b"small" * 9, LARGE], ids=["small", "large"])
    def test_damage_is_never_read_unnoticed(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], content: bytes
    ) -> None:
        """Also before anybody verified: whole, in part, in chunks or as a file, where the bytes lie in files."""
        reads: list[Callable[[StoredBlob], object]] = [
            lambda blob: blob.read(0, blob.size),
            lambda blob: list(blob.chunks()),
            lambda blob: blob.path(),
            lambda blob: blob.read(3, 9),
            lambda blob: list(blob.chunks(5)),
        ]
        for number, read in enumerate(reads):
            each = content + bytes([number])
            digest = blobs.put("a", each, media_type="text/plain").reference.digest
            found = stores[1].find_blob("a", digest)
            assert found is not None
            if number >= 3 and content == LARGE and stores[0].path(found.key) is None:
                continue
            self.damage(stores[0], found.key, _flip)
            with pytest.raises(CorruptError):
                read(blobs.open("a", digest))

    def test_a_damaged_derived_copy_is_dropped(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]) -> None:
        """It is reported as derived and gone, so that it is made anew; one that was put besides stays, marked."""
        source = blobs.put("a", SMALL, media_type="text/csv").reference
        derivation = Derivation(source.digest, "columnar")
        for content, is_kept in ((LARGE, False), (LARGE + b"put", True)):
            digest = blobs.put("a", content, media_type="x/y", derivation=derivation).reference.digest
            if is_kept:
                blobs.put("a", content, media_type="x/y")
            found = stores[1].find_blob("a", digest)
            assert found is not None
            self.damage(stores[0], found.key, _flip)
            faults = [each for each in Verifier(*stores).verify() if each.fault]
            assert faults == [Verified("a", digest, len(content), "wrong bytes", is_derived=True)]
            assert stores[1].find_derived("a", derivation) is None
            assert (stores[1].find_blob("a", digest) is not None) == is_kept

    def test_bytes_that_come_back_are_sound_again(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]) -> None:
        """What a backup restored is found sound and can be read."""
        digest = blobs.put("a", LARGE, media_type="text/plain").reference.digest
        found = stores[1].find_blob("a", digest)
        assert found is not None
        for fault in ("wrong bytes", None):
            self.damage(stores[0], found.key, _flip)
            assert [each.fault for each in Verifier(*stores).verify()] == [fault]
        assert blobs.open("a", digest).read(0, len(LARGE)) == LARGE

    def test_a_sample_is_a_share(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]) -> None:
        """Of a hundred blobs a tenth is about ten, and of all tenants."""
        for number in range(100):
            blobs.put("ab"[number % 2], str(number).encode(), media_type="text/plain")
        assert len(list(Verifier(*stores).verify())) == 100
        counts = [len(list(Verifier(*stores).verify(share=0.1))) for _ in range(10)]
        assert 40 < sum(counts) < 180


def _flip(content: bytearray) -> None:
    content[len(content) // 2] ^= 1


def _cut(content: bytearray) -> None:
    del content[len(content) // 2 :]
