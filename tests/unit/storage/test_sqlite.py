"""The file of the SQLite catalog."""

import importlib
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, CorruptError, NotFoundError, SettingsError, StoreError
from blobs.storage import sqlite_schema, sqlite_session
from blobs.storage.sqlite import SqliteCatalog
from blobs.testing.catalog import RED, blob, name


@pytest.fixture
def path(tmp_path):
    return tmp_path / "catalog.db"


@pytest.fixture
def catalog(path):
    catalog = SqliteCatalog(path)
    yield catalog
    catalog.close()


def execute(path, *statements):
    """Run statements on the file as any other program would."""
    engine = sqlite_session._engine()
    connection = engine.connect(str(path), isolation_level=None)
    rows = [connection.execute(each).fetchone() for each in statements]
    connection.close()
    return rows


def test_records_outlive_the_process(path):
    """What was recorded is there when the file is opened again."""
    catalog = SqliteCatalog(path)
    catalog.add_blob("a", blob(RED))
    catalog.close()
    catalog = SqliteCatalog(path)
    assert catalog.find_blob("a", RED) == blob(RED)
    catalog.close()


def test_the_file_is_its_owners_alone(catalog, tmp_path):
    """The database and all files beside it are 0600."""
    catalog.add_blob("a", blob(RED))
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_commits_are_flushed(catalog):
    """The journal is a WAL and every commit is flushed: `synchronous` is FULL (2), on each connection."""
    for connection in (catalog._session._writer, catalog._session._connect()):
        values = [
            connection.execute(f"pragma {each}").fetchone()[0]
            for each in ("journal_mode", "synchronous", "foreign_keys")
        ]
        assert values == ["wal", 2, 1]
    connection.close()


def test_a_newer_catalog_is_refused_unchanged(path):
    """A file that a later version wrote is not touched."""
    SqliteCatalog(path).close()
    execute(path, "pragma user_version = 999")
    with pytest.raises(StoreError, match="version 999"):
        SqliteCatalog(path)
    assert execute(path, "pragma user_version") == [(999,)]


def test_an_older_catalog_is_brought_forward(path, monkeypatch):
    """Each missing step is applied once, and the records stay."""
    catalog = SqliteCatalog(path)
    catalog.add_blob("a", blob(RED))
    catalog.close()
    steps = (*sqlite_schema.MIGRATIONS, ("alter table blobs add column checked_ms integer",))
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", steps)
    for _ in range(2):
        catalog = SqliteCatalog(path)
        assert catalog.find_blob("a", RED) == blob(RED)
        catalog.close()
    assert execute(path, "pragma user_version", "select checked_ms from blobs") == [(len(steps),), (None,)]


def test_a_step_that_fails_leaves_the_catalog_as_it_was(path, monkeypatch):
    """A migration is applied whole or not at all."""
    SqliteCatalog(path).close()
    steps = (*sqlite_schema.MIGRATIONS, ("create table extra (x)", "create nonsense"))
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", steps)
    with pytest.raises(StoreError):
        SqliteCatalog(path)
    assert execute(path, "pragma user_version", "select count(*) from sqlite_schema where name = 'extra'") == [
        (len(steps) - 1,),
        (0,),
    ]


def test_another_programs_file_is_refused_unchanged(path):
    """A database that is not a catalog is not turned into one."""
    execute(path, "create table theirs (x)")
    with pytest.raises(StoreError, match="another program"):
        SqliteCatalog(path)
    assert execute(path, "select count(*) from sqlite_schema") == [(1,)]


def test_a_file_that_is_no_database_is_said_to_be_damaged(path):
    """Garbage is a corrupt catalog, not an internal error."""
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(CorruptError):
        SqliteCatalog(path)


def test_a_lost_or_replaced_file_is_said_and_nothing_is_acknowledged(catalog, path):
    """A catalog whose file was removed or exchanged under it records nothing into the void."""
    content = path.read_bytes()
    path.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match="missing"):
            catalog.add_blob("a", blob(RED))
        path.write_bytes(content)


def test_an_unusable_folder_is_a_store_error(tmp_path):
    """A path whose folder is a file is told as a fault of the store."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError):
        SqliteCatalog(tmp_path / "file" / "catalog.db")


def test_a_closed_catalog_says_so(path):
    """A use after close is a store error."""
    catalog = SqliteCatalog(path)
    catalog.close()
    with pytest.raises(StoreError, match="closed"):
        catalog.add_blob("a", blob(RED))
    with pytest.raises(StoreError, match="closed"):
        catalog.find_blob("a", RED)


def test_an_unsafe_sqlite_is_refused(path, monkeypatch):
    """Without a version that is free of the WAL-reset bug there is no catalog, at start."""
    monkeypatch.setattr(sqlite_session, "SQLITE_VERSION_MIN", (99, 0, 0))
    with pytest.raises(SettingsError, match=r"3\.51\.3"):
        SqliteCatalog(path)


def test_pythons_own_sqlite_serves_where_it_is_new_enough(monkeypatch):
    """Without the bundled one, the standard library's is taken if its version allows."""

    def import_module(name):
        if name.startswith("pysqlite3"):
            raise ImportError(name)
        return importlib.__import__(name)

    monkeypatch.setattr(sqlite_session.importlib, "import_module", import_module)
    monkeypatch.setattr(sqlite_session, "SQLITE_VERSION_MIN", (3, 0, 0))
    assert sqlite_session._engine().__name__ == "sqlite3"


def test_writes_of_many_threads_share_a_flush_and_not_their_faults(catalog):
    """Jobs that wait together are one transaction; the one that fails takes nothing of the others with it."""
    begun, gate, commits = threading.Event(), threading.Event(), []
    catalog._session._writer.set_trace_callback(lambda sql: commits.append(sql) if sql.lower() == "commit" else None)

    def hold(execute):
        begun.set()
        gate.wait()

    def add(number):
        if number == 3:
            return catalog.save_finding("a", Digest.of(b"nobody's"), "profile", "x")
        return catalog.add_blob("a", blob(Digest.of(bytes([number])), f"key {number}")).key

    with ThreadPoolExecutor(9) as pool:
        holder = pool.submit(catalog._session.write, hold)
        begun.wait()
        futures = [pool.submit(add, number) for number in range(8)]
        while len(catalog._session._writes._waiting) < 8:
            pass
        gate.set()
        holder.result()
        outcomes = [each.exception() or each.result() for each in futures]
    assert isinstance(outcomes.pop(3), NotFoundError)
    assert outcomes == [f"key {number}" for number in (0, 1, 2, 4, 5, 6, 7)]
    assert len(commits) == 2
    assert len(catalog.list_blobs("a")) == 7


def test_a_flush_that_fails_undoes_the_whole_batch(catalog, monkeypatch):
    """Where the transaction cannot be ended, nothing of it was recorded and the next one is begun cleanly."""
    with pytest.raises(StoreError):
        catalog._session.write(
            lambda execute: (
                execute("insert into blobs (tenant, digest, size, key, created_ms) values ('a', x'00', 1, 'k', 1)", ()),
                execute("nonsense", ()),
            )
        )
    assert catalog.list_blobs("a") == []
    assert catalog.add_blob("a", blob(RED)) == blob(RED)


def test_the_version_counts_the_writes_of_others(catalog, path):
    """Another process's, that is: here, another object over the same file."""
    other = SqliteCatalog(path)
    before = catalog.version()
    assert catalog.version() == before
    other.add_blob("a", blob(RED))
    changed = catalog.version()
    assert changed != before
    catalog.find_blob("a", RED)
    assert catalog.version() == changed
    other.close()


def test_numbers_that_do_not_fit_are_the_callers_fault(catalog):
    """A number of more than 63 bits is refused as such, in lookups too."""
    for look in (
        lambda: catalog.find_turn("a", "chat", 10**30),
        lambda: catalog.add_blob("a", blob(RED, size=2**63)),
        lambda: catalog.create_conversation("a", "chat", created_ms=1, names=(name(2**64),)),
    ):
        with pytest.raises(BlobsError) as refusal:
            look()
        assert refusal.value.status < 500
