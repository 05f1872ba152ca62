"""The contract suite for quotas over a pair of stores; see `blobs.testing.storage`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import LimitError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog
from blobs.storage.content import ContentStore
from blobs.storage.keeping import Derivation

ROOM_BYTES = 1_000_000


class QuotaContract:
    """What `tenant_bytes_max` keeps; `make_stores` answers an empty pair of stores."""

    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        """Make the stores under test."""
        raise NotImplementedError

    @pytest.fixture
    def stores(self, tmp_path: Path) -> Iterator[tuple[ContentStore, Catalog]]:
        """The stores under test, closed afterwards."""
        stores = self.make_stores(tmp_path)
        yield stores
        for each in stores:
            each.close()

    @pytest.fixture
    def blobs(self, stores: tuple[ContentStore, Catalog], tmp_path: Path) -> BlobStore:
        """A blob store over them, with room for a megabyte a tenant."""
        limits = replace(Limits(), tenant_bytes_max=ROOM_BYTES)
        return BlobStore(*stores, limits=limits, copies_folder=tmp_path / "copies")

    @pytest.mark.parametrize("size", [1, 300_000], ids=["small", "large"])
    def test_the_last_byte_fits_and_no_further(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog], size: int
    ) -> None:
        """A tenant can have exactly its limit; what is over it is refused without a trace, and others are not."""
        blobs.put("a", b"x" * (ROOM_BYTES - size), media_type="x/y")
        with pytest.raises(LimitError, match="tenant_bytes_max is 1,000,000") as refusal:
            blobs.put("a", b"y" * (size + 1), media_type="x/y")
        assert refusal.value.code == "over_quota"
        assert len(list(stores[0].keys())) == 1
        blobs.put("b", b"y" * (size + 1), media_type="x/y")
        blobs.put("a", b"z" * size, media_type="x/y")
        assert stores[1].tenant_bytes("a") == ROOM_BYTES

    def test_bytes_count_once(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]) -> None:
        """What the tenant has takes no room again: small, or large where it says so beforehand."""
        small, large = b"small", b"x" * (ROOM_BYTES - 5)
        for content in (small, large):
            blobs.put("a", content, media_type="x/y")
        assert blobs.put("a", small, media_type="x/y").was_new is False
        assert blobs.put("a", large, media_type="x/y", expected=Digest.of(large)).was_new is False
        assert stores[1].tenant_bytes("a") == ROOM_BYTES

    def test_a_stream_is_stopped_when_there_is_no_room(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]
    ) -> None:
        """Content of unknown length is read no further than a chunk past the limit, and leaves nothing."""
        read = 0

        def chunks() -> Iterator[bytes]:
            nonlocal read
            while True:
                read += 100_000
                yield b"x" * 100_000

        with pytest.raises(LimitError):
            blobs.put("a", chunks(), media_type="x/y")
        assert read <= ROOM_BYTES + 100_000
        assert list(stores[0].keys()) == []
        blobs.put("a", b"x" * ROOM_BYTES, media_type="x/y")

    def test_a_put_that_fails_gives_its_room_back(self, blobs: BlobStore) -> None:
        """Whatever ended it."""

        def chunks() -> Iterator[bytes]:
            yield b"x" * 900_000
            raise RuntimeError("cut off")

        for _ in range(3):
            with pytest.raises(RuntimeError):
                blobs.put("a", chunks(), media_type="x/y")
        blobs.put("a", b"x" * ROOM_BYTES, media_type="x/y")

    def test_what_is_held_beforehand_is_used(self, blobs: BlobStore) -> None:
        """Room that is held is nobody else's, until the put has used it or it is released."""
        with blobs.room("a") as room:
            room.hold(600_000)
            with pytest.raises(LimitError):
                blobs.put("a", b"y" * 400_001, media_type="x/y")
            blobs.put("a", b"x" * 600_000, media_type="x/y", room=room)
        with pytest.raises(LimitError):
            blobs.put("a", b"y" * 400_001, media_type="x/y")
        with blobs.room("a") as room:
            room.hold(400_000)
        blobs.put("a", b"y" * 400_000, media_type="x/y")

    def test_racing_puts_do_not_overshoot(self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]) -> None:
        """Of many puts at once as many succeed as fit, and never more."""

        def put(number: int) -> bool:
            try:
                blobs.put("a", bytes([number]) * 120_000, media_type="x/y")
            except LimitError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(put, range(24))).count(True) == ROOM_BYTES // 120_000
        assert stores[1].tenant_bytes("a") == 960_000

    def test_derived_blobs_count_and_are_not_refused(
        self, blobs: BlobStore, stores: tuple[ContentStore, Catalog]
    ) -> None:
        """A tool that has to derive a copy works for a tenant without room, and the copy counts."""
        source = blobs.put("a", b"x" * ROOM_BYTES, media_type="x/y").reference.digest
        blobs.put("a", b"y" * 300_000, media_type="x/y", derivation=Derivation(source, "columnar"))
        assert stores[1].tenant_bytes("a") == ROOM_BYTES + 300_000
