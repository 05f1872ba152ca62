"""The tables of the SQLite catalog, as the steps that lead to them."""

from collections.abc import Callable
from typing import Any

from blobs.domain.errors import StoreError

APPLICATION_ID = 0x424C4F42
"""`BLOB` in ASCII; marks the file as a catalog of this project."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """create table blobs (
            tenant text not null, digest blob not null, size integer not null, key text not null,
            created_ms integer not null,
            primary key (tenant, digest)
        ) strict, without rowid""",
        """create table findings (
            tenant text not null, digest blob not null, kind text not null, text text not null,
            primary key (tenant, digest, kind),
            foreign key (tenant, digest) references blobs on delete cascade
        ) strict""",
        """create table conversations (
            tenant text not null, id text not null, version integer not null, service text, tools text,
            created_ms integer not null,
            primary key (tenant, id)
        ) strict""",
        """create table names (
            tenant text not null, conversation text not null, number integer not null,
            digest blob not null, size integer not null, type text not null, turn integer, tool text,
            is_previewed integer not null, previewed_turn integer,
            primary key (tenant, conversation, number),
            foreign key (tenant, conversation) references conversations on delete cascade,
            foreign key (tenant, digest) references blobs
        ) strict, without rowid""",
        "create index names_by_blob on names (tenant, digest)",
        """create table turns (
            tenant text not null, conversation text not null, number integer not null,
            request_digest text not null, answer text not null,
            record_digest blob, record_size integer, record_type text,
            primary key (tenant, conversation, number),
            foreign key (tenant, conversation) references conversations on delete cascade,
            foreign key (tenant, record_digest) references blobs
        ) strict""",
        "create index turns_by_blob on turns (tenant, record_digest) where record_digest is not null",
    ),
)
"""Step n takes a catalog from version n to n + 1. A released step is never changed: a new one is added after it."""


def migrate(execute: Callable[[str], Any]) -> None:
    """Bring a catalog to the newest version, inside the transaction that `execute` runs in.

    Raises `StoreError` where the catalog is newer than this code, or the file is some other program's.
    """
    application, version = (execute(f"pragma {each}").fetchone()[0] for each in ("application_id", "user_version"))
    is_empty = not execute("select exists (select 1 from sqlite_schema)").fetchone()[0]
    if not is_empty and application != APPLICATION_ID:
        raise StoreError("The file is another program's SQLite database.", hint="Choose another path for the catalog.")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The catalog has version {version}; this agent-blobs knows {len(MIGRATIONS)}.",
            hint="Open it with the version of agent-blobs that wrote it, or a newer one.",
        )
    for step in MIGRATIONS[version:]:
        for statement in step:
            execute(statement)
    if version < len(MIGRATIONS):
        execute(f"pragma application_id = {APPLICATION_ID}")
        execute(f"pragma user_version = {len(MIGRATIONS)}")
