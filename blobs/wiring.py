"""From settings to the objects of a running service."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from blobs.conversations.desk import Desk
from blobs.domain.errors import StoreError
from blobs.domain.limits import Limits
from blobs.domain.redaction import Redactor
from blobs.operations.toolbox import Toolbox
from blobs.operations.view_task import registry_of
from blobs.operations.workshop import Workshop
from blobs.querying import portable
from blobs.reading.plug_ins import UNFINISHED
from blobs.reading.registry import Registry
from blobs.running.runner import Runner
from blobs.settings import Settings
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog
from blobs.storage.collecting import Collector
from blobs.storage.content import ContentStore
from blobs.storage.verifying import Verifier

TASKS = {
    "view": "blobs.operations.view_task:run",
    "sql": "blobs.querying.sql_task:run",
    "python": "blobs.querying.python_task:run",
}
"""What runs in a cell, by the names that jobs use."""

TRUSTED_TASKS = ("view", "sql")
"""Our own code over foreign data: where no cell can be had, it may run in a plain process with limits."""

STAND_INS = {"python": "blobs.querying.portable_task:run"}
"""What runs in place of a task where no cell can be had, with the extra `portable`: a sandbox of its own."""


READER_LOAD_S_MAX = 5.0
"""How long a file of the readers folder may take to be run: it defines a class, and imports what that needs."""

CATALOG_FILE = "catalog.db"


def has_store(settings: Settings) -> bool:
    """Whether the store that `build` would open is there already; `build` makes one where there is none."""
    return settings.store == ":memory:" or Path(settings.store, CATALOG_FILE).is_file()


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a service, made once per process."""

    settings: Settings
    store: BlobStore
    content: ContentStore
    catalog: Catalog
    runner: Runner
    workshop: Workshop
    toolbox: Toolbox
    temporary: "tempfile.TemporaryDirectory[str] | None"
    readers_copy: "tempfile.TemporaryDirectory[str] | None" = None

    @property
    def limits(self) -> Limits:
        """The limits of the service."""
        return self.settings.limits

    def desk(self, tenant: str) -> Desk:
        """One tenant's access."""
        return Desk(self.store, self.catalog, self.toolbox, self.limits, tenant)

    def collector(self) -> Collector:
        """What removes unused blobs, of all tenants."""
        return Collector(self.content, self.catalog, grace_ms=self.limits.grace_ms)

    def verifier(self) -> Verifier:
        """What hashes stored blobs anew, of all tenants."""
        return Verifier(self.content, self.catalog)

    def close(self) -> None:
        """End the cells, then close the stores."""
        self.runner.close()
        self.store.close()
        for folder in (self.temporary, self.readers_copy):
            if folder is not None:
                folder.cleanup()


def build(settings: Settings) -> Service:
    """Open the stores and make the rest; cells start with the first job. Raises `StoreError`, `SettingsError`."""
    temporary = tempfile.TemporaryDirectory(prefix="blobs-") if settings.store == ":memory:" else None
    folder = Path(temporary.name if temporary is not None else settings.store).absolute()
    content, catalog = _stores(folder, in_memory=temporary is not None)
    limits = settings.limits
    copies, scratch = folder / "copies", folder / "scratch"
    _make(scratch)
    redactor = Redactor(settings.redact_values, settings.redact_patterns)
    store = BlobStore(content, catalog, limits=limits, copies_folder=copies, redactor=redactor)
    # Cells work in a folder of their own, where a relative path would mean another place.
    readers_dir = str(Path(settings.readers_dir).absolute()) if settings.readers_dir else None
    registry = Registry(readers_dir, load_s_max=READER_LOAD_S_MAX) if readers_dir else registry_of(None)
    readers_copy = _readers_copy(Path(readers_dir), registry) if readers_dir else None
    readers_dir = readers_copy.name if readers_copy is not None else readers_dir
    runner = _runner(limits, readers_dir)
    workshop = Workshop(
        store, catalog, runner, limits, registry=registry, readers_dir=readers_dir, scratch=str(scratch)
    )
    toolbox = Toolbox(workshop)
    store.show(toolbox.intake.begin)
    return Service(settings, store, content, catalog, runner, workshop, toolbox, temporary, readers_copy)


def _readers_copy(readers_dir: Path, registry: Registry) -> "tempfile.TemporaryDirectory[str] | None":
    """A copy of a readers folder for cells, where they could not use the folder itself.

    That is one that only the server's user may read (cells of a server that is root are nobody), and one with files
    that do not end: each cell would wait for them again.
    """
    unfinished = {each.origin for each in registry.plug_ins() if UNFINISHED in each.problem}
    try:
        files = [each for each in readers_dir.iterdir() if each.suffix == ".py" and each.is_file()]
        modes = {readers_dir.stat().st_mode & 0o005 == 0o005, *(bool(each.stat().st_mode & 0o004) for each in files)}
        if not unfinished and (os.geteuid() != 0 or modes == {True}):
            return None
        copy = tempfile.TemporaryDirectory(prefix="blobs-readers-")
        Path(copy.name).chmod(0o755)
        for each in (file for file in files if file.name not in unfinished):
            Path(copy.name, each.name).write_bytes(each.read_bytes())
            Path(copy.name, each.name).chmod(0o644)
    except OSError:
        return None  # the registry says what is wrong with the folder
    return copy


def _stores(folder: Path, *, in_memory: bool) -> tuple[ContentStore, Catalog]:
    if in_memory:
        from blobs.storage.memory import MemoryCatalog, MemoryContentStore

        return MemoryContentStore(), MemoryCatalog()
    from blobs.storage.local import LocalContentStore
    from blobs.storage.sqlite import SqliteCatalog

    _make(folder)
    has_bytes, has_records = (folder / "store.json").is_file(), (folder / CATALOG_FILE).is_file()
    if has_bytes and not has_records and next(LocalContentStore(folder).keys(), None) is not None:
        raise StoreError(
            f"The store {folder} has blobs, but its catalog {CATALOG_FILE} is missing.",
            hint="Restore the catalog. A new one would know none of them.",
        )
    catalog = SqliteCatalog(folder / CATALOG_FILE)
    if has_records and not has_bytes and catalog.list_tenants(limit=1):
        catalog.close()
        raise StoreError(
            f"The store {folder} has a catalog of blobs, but their bytes are missing.",
            hint="Restore store.json, files and packs, or mount the disk that they are on.",
        )
    return LocalContentStore(folder), catalog


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The store folder {folder} cannot be made: {error.strerror}.") from None


def _runner(limits: Limits, readers_dir: str | None) -> Runner:
    from blobs.running.tiers import open_pool

    folders = [Path(readers_dir)] if readers_dir else []
    return open_pool(
        tasks=TASKS,
        trusted_tasks=TRUSTED_TASKS,
        stand_ins=STAND_INS if portable.version() else {},
        visible=folders,
        cells_max=limits.cells_max,
    )
