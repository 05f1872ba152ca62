"""Every content store and catalog of this project under its public contract."""

from collections.abc import Callable
from pathlib import Path

from blobs.storage.catalog import Catalog
from blobs.storage.content import ContentStore
from blobs.storage.local import LocalContentStore
from blobs.storage.memory import MemoryCatalog, MemoryContentStore
from blobs.storage.packs import Slice
from blobs.storage.sqlite import SqliteCatalog
from blobs.testing.collecting import CollectingContract
from blobs.testing.quotas import QuotaContract
from blobs.testing.storage import BlobStoreContract, CatalogContract, ContentStoreContract


class TestMemoryContentStore(ContentStoreContract):
    def make_store(self, folder: Path) -> ContentStore:
        return MemoryContentStore()


class TestLocalContentStore(ContentStoreContract):
    def make_store(self, folder: Path) -> ContentStore:
        return LocalContentStore(folder)


class TestMemoryCatalog(CatalogContract):
    def make_catalog(self, folder: Path) -> Catalog:
        return MemoryCatalog()


class TestSqliteCatalog(CatalogContract):
    def make_catalog(self, folder: Path) -> Catalog:
        return SqliteCatalog(folder / "catalog.db")


class TestBlobStoreInMemory(BlobStoreContract):
    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return MemoryContentStore(), MemoryCatalog()


class TestBlobStoreOnDisk(BlobStoreContract):
    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")


class TestCollectingInMemory(CollectingContract):
    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return MemoryContentStore(), MemoryCatalog()

    def damage(self, content: ContentStore, key: str, change: Callable[[bytearray], None]) -> None:
        held = bytearray(content._contents[key])
        change(held)
        content._contents[key] = bytes(held)


class TestCollectingOnDisk(CollectingContract):
    interleavings_max = 40

    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")

    def damage(self, content: ContentStore, key: str, change: Callable[[bytearray], None]) -> None:
        where = Slice.parse(key)
        path = content._path(key) if where is None else content._packs._path(where.pack)
        start, stop = (0, path.stat().st_size) if where is None else (where.offset, where.offset + where.size)
        path.chmod(0o600)
        whole = path.read_bytes()
        held = bytearray(whole[start:stop])
        change(held)
        path.write_bytes(whole[:start] + held + whole[stop:])


class TestQuotasInMemory(QuotaContract):
    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return MemoryContentStore(), MemoryCatalog()


class TestQuotasOnDisk(QuotaContract):
    def make_stores(self, folder: Path) -> tuple[ContentStore, Catalog]:
        return LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")
