"""Stores of every earlier version are brought to the newest one, whole or not at all.

`fixtures/stores/version-N.tar.gz` is a store as the last code of catalog version N wrote it: tenant `default` has the
conversation `chat-1` with a JSON of 3,000 orders (`blob1`, over which SQL was run) and a CSV (`blob2`), and besides a
blob that was never named; tenant `other` has the same CSV in its own `chat-1`.
"""

import tarfile

import pytest

from blobs import Blobs
from blobs.domain.digest import Digest
from blobs.domain.errors import StoreError
from blobs.storage.keeping import Derivation, Tombstone
from blobs.storage.sqlite import SqliteCatalog
from blobs.storage.sqlite_schema import MIGRATIONS, migrate
from blobs.storage.sqlite_session import SqliteSession, _engine
from blobs.storage.verifying import Verifier
from tests.material import FIXTURES

VERSIONS = range(1, len(MIGRATIONS))
THEIR_COPY = "columnar/2/json/"
"""The recipe of the columnar copy in the stores."""


@pytest.fixture(params=VERSIONS)
def store(request, tmp_path):
    """A store of an earlier version."""
    with tarfile.open(FIXTURES / "stores" / f"version-{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    return tmp_path / "store"


def schema(path):
    """Version, tables and rows of the small tables of a catalog."""
    connection = _engine().connect(str(path))
    found = [
        connection.execute("pragma user_version").fetchall(),
        connection.execute("select name, sql from sqlite_schema order by name").fetchall(),
        connection.execute("select tenant, hex(digest), size, key, created_ms from blobs").fetchall(),
        connection.execute("select * from names").fetchall(),
        connection.execute("select * from turns").fetchall(),
        connection.execute("select tenant, hex(digest), kind, text from findings").fetchall(),
        connection.execute("pragma foreign_key_check").fetchall(),
        connection.execute("pragma integrity_check").fetchall(),
    ]
    connection.close()
    return found


def test_what_was_stored_is_there(store):
    """Names resolve to the same bytes, what was derived is found, quotas count, and stale names say what they were."""
    with Blobs.open(store) as blobs:
        chat, catalog = blobs.conversation("chat-1"), blobs.service.catalog
        dump = chat.dump()
        assert blobs.content(dump["blobs"]["blob1"]).startswith(b'[{"id":0,"zip":"00000"},')
        assert blobs.content(dump["blobs"]["blob2"]) == b"a,b\n1,2\n"
        assert blobs.tenant("other").content(dump["blobs"]["blob2"]) == b"a,b\n1,2\n"
        kept = {each.digest for each in catalog.list_blobs("default")}
        source = Digest.parse(dump["blobs"]["blob1"]["$blob"])
        assert catalog.find_derived("default", Derivation(source, THEIR_COPY)) in kept
        question = {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1"}
        assert chat.call("blob_code", question)["data"]["rows"] == [[3000]]
        assert kept <= {each.digest for each in catalog.list_blobs("default")}
        assert catalog.list_tenants() == ["default", "other"]
        assert catalog.tenant_bytes("default") == sum(each.size for each in catalog.list_blobs("default"))
        assert all(each.fault is None for each in Verifier(blobs.service.content, catalog).verify())
    with Blobs.open(store, grace_ms=0) as blobs:
        blobs.service.collector().collect()
        names = blobs.service.catalog.names("default", "chat-1")
        assert blobs.content(dump["blobs"]["blob2"]) == b"a,b\n1,2\n"
        blobs.service.catalog.delete_conversation("default", "chat-1")
        blobs.service.collector().collect()
        assert blobs.service.catalog.list_blobs("default") == []
        tombstone = blobs.service.catalog.find_tombstone("default", names[0].digest)
        assert tombstone == Tombstone(
            names[0].digest, names[0].size, "application/json", "list_orders", tombstone.removed_ms
        )


def test_the_schema_is_that_of_a_new_catalog(store, tmp_path):
    """A catalog that was brought up has the tables of one that was made now."""
    for path in (store / "catalog.db", tmp_path / "new.db"):
        SqliteCatalog(path).close()
    assert schema(store / "catalog.db")[:2] == schema(tmp_path / "new.db")[:2]


def test_an_interrupted_migration_changes_nothing(store):
    """Whichever statement of it fails, the catalog is what it was, and the next opening brings it up."""
    path = store / "catalog.db"
    before = schema(path)
    failures = 0
    while True:
        left = failures

        def prepare(execute):
            def until(statement):
                nonlocal left
                if not statement.startswith("pragma application_id") and not statement.startswith("select exists"):
                    if left == 0:
                        raise StoreError("interrupted")
                    left -= 1
                return execute(statement)

            migrate(until)

        try:
            SqliteSession(path, prepare=prepare).close()
        except StoreError:
            assert schema(path) == before
            failures += 1
        else:
            break
    assert failures >= 3
    assert schema(path)[0] == [(len(MIGRATIONS),)]
    assert schema(path)[2:] == before[2:]


def test_a_newer_catalog_is_refused(store):
    """What a later version wrote is not touched; the refusal says both versions and what to do."""
    SqliteCatalog(store / "catalog.db").close()
    connection = _engine().connect(str(store / "catalog.db"))
    connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(
        StoreError, match=rf"has version {len(MIGRATIONS) + 1}; this agent-blobs knows {len(MIGRATIONS)}"
    ):
        Blobs.open(store)
