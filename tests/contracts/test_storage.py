"""Every content store and catalog of this project under its public contract."""

from pathlib import Path

from blobs.storage.catalog import Catalog
from blobs.storage.content import ContentStore
from blobs.storage.local import LocalContentStore
from blobs.storage.memory import MemoryCatalog, MemoryContentStore
from blobs.storage.sqlite import SqliteCatalog
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
