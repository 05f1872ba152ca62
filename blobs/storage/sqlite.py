"""The catalog in a SQLite file: one machine, any number of processes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from blobs.domain.digest import Digest
from blobs.domain.reference import Reference
from blobs.storage import refusals
from blobs.storage.catalog import Change, ConversationRecord, Finding, NameRecord, TurnRecord, named_blobs
from blobs.storage.keeping import NewBlob
from blobs.storage.sqlite_access import SqliteAccess
from blobs.storage.sqlite_keeping import label, record_blob, require_blobs
from blobs.storage.sqlite_schema import migrate
from blobs.storage.sqlite_session import Execute, Row, SqliteSession

_NAME = """select number, digest, size, type, turn, tool, is_previewed, previewed_turn from names
    where tenant = ? and conversation = ?"""
_TURN = """select number, request_digest, answer, record_digest, record_size, record_type from turns
    where tenant = ? and conversation = ?"""
_CONVERSATION = """select id, version,
    (select max(number) from turns where turns.tenant = own.tenant and conversation = own.id),
    (select coalesce(max(number), 0) + 1 from names where names.tenant = own.tenant and conversation = own.id),
    service, tools, created_ms from conversations as own where tenant = ?"""


class SqliteCatalog(SqliteAccess):
    """A `Catalog` in one SQLite file and the two that SQLite keeps beside it; never on a network file system."""

    def __init__(self, path: Path) -> None:
        """Open the catalog, creating it or bringing it to the newest schema.

        Raises `StoreError` where the file cannot be used or is of a newer version, and `SettingsError` where no safe
        version of SQLite is installed.
        """
        super().__init__(SqliteSession(path, prepare=migrate))

    def version(self) -> int | None:
        return self._session.version()

    def find_finding(self, tenant: str, digest: Digest, kind: str) -> str | None:
        rows = self._session.read(
            "select text from findings where tenant = ? and digest = ? and kind = ?", (tenant, digest.to_bytes(), kind)
        )
        return rows[0][0] if rows else None

    def save_finding(self, tenant: str, digest: Digest, kind: str, text: str) -> None:
        finding = Finding(digest, kind, text)
        self._session.write(lambda execute: _save_finding(execute, tenant, finding), is_lasting=False)

    def create_conversation(
        self,
        tenant: str,
        conversation: str,
        *,
        created_ms: int,
        service: str | None = None,
        tools: str | None = None,
        names: tuple[NameRecord, ...] = (),
        turns: tuple[TurnRecord, ...] = (),
    ) -> ConversationRecord:
        def create(execute: Execute) -> ConversationRecord:
            added = execute(
                "insert into conversations values (?, ?, 1, ?, ?, ?) on conflict do nothing",
                (tenant, conversation, service, tools, created_ms),
            )
            if added.rowcount == 0:
                raise refusals.conversation_exists(conversation)
            require_blobs(execute, tenant, named_blobs(names, turns))
            _add_names(execute, tenant, conversation, names)
            _add_turns(execute, tenant, conversation, turns)
            row = execute(f"{_CONVERSATION} and id = ?", (tenant, conversation)).fetchone()
            return ConversationRecord(*row)

        return self._session.write(create)

    def find_conversation(self, tenant: str, conversation: str) -> ConversationRecord | None:
        rows = self._session.read(f"{_CONVERSATION} and id = ?", (tenant, conversation))
        return ConversationRecord(*rows[0]) if rows else None

    def list_conversations(
        self, tenant: str, *, after: str | None = None, limit: int = 1000
    ) -> list[ConversationRecord]:
        rows = self._session.read(
            f"{_CONVERSATION} and (? is null or id > ?) order by id limit ?", (tenant, after, after, limit)
        )
        return [ConversationRecord(*row) for row in rows]

    def delete_conversation(self, tenant: str, conversation: str) -> bool:
        statement = "delete from conversations where tenant = ? and id = ?"
        return self._session.write(lambda execute: bool(execute(statement, (tenant, conversation)).rowcount))

    def names(self, tenant: str, conversation: str) -> list[NameRecord]:
        return [_name(row) for row in self._session.read(f"{_NAME} order by number", (tenant, conversation))]

    def find_name(self, tenant: str, conversation: str, number: int) -> NameRecord | None:
        rows = self._session.read(f"{_NAME} and number = ?", (tenant, conversation, number))
        return _name(rows[0]) if rows else None

    def turns(self, tenant: str, conversation: str, *, after: int = -1, limit: int = 1000) -> list[TurnRecord]:
        rows = self._session.read(
            f"{_TURN} and number > ? order by number limit ?", (tenant, conversation, after, limit)
        )
        return [_turn(row) for row in rows]

    def find_turn(self, tenant: str, conversation: str, number: int) -> TurnRecord | None:
        rows = self._session.read(f"{_TURN} and number = ?", (tenant, conversation, number))
        return _turn(rows[0]) if rows else None

    def commit(self, tenant: str, conversation: str, expected_version: int, change: Change) -> int:
        def apply(execute: Execute) -> int:
            place = (tenant, conversation)
            found = execute("select version from conversations where tenant = ? and id = ?", place).fetchone()
            if found is None:
                raise refusals.no_conversation(conversation)
            if found[0] != expected_version:
                raise refusals.version_moved(conversation, expected=expected_version, found=found[0])
            turns = () if change.turn is None else (change.turn,)
            for blob in change.blobs:
                record_blob(NewBlob(tenant, blob), execute)
            for finding in change.findings:
                _save_finding(execute, tenant, finding)
            require_blobs(execute, tenant, named_blobs(change.names, turns))
            if change.drop_turns_from is not None:
                _drop_turns(execute, tenant, conversation, change.drop_turns_from)
            for each in turns:
                if execute(f"{_TURN} and number = ?", (*place, each.number)).fetchone():
                    raise refusals.turn_exists(each.number)
            _add_turns(execute, tenant, conversation, turns)
            _add_names(execute, tenant, conversation, change.names)
            execute(
                "update conversations set version = version + 1, service = coalesce(?, service),"
                " tools = coalesce(?, tools) where tenant = ? and id = ?",
                (change.service, change.tools, *place),
            )
            return expected_version + 1

        return self._session.write(apply)

    def close(self) -> None:
        self._session.close()


def _save_finding(execute: Execute, tenant: str, finding: Finding) -> None:
    require_blobs(execute, tenant, [finding.digest])
    execute(
        "insert or replace into findings values (?, ?, ?, ?)",
        (tenant, finding.digest.to_bytes(), finding.kind, finding.text),
    )


def _add_names(execute: Execute, tenant: str, conversation: str, names: Iterable[NameRecord]) -> None:
    for each in names:
        execute(
            "insert or replace into names values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant,
                conversation,
                each.number,
                each.digest.to_bytes(),
                each.size,
                each.type,
                each.turn,
                each.tool,
                each.is_previewed,
                each.previewed_turn,
            ),
        )
        label(execute, tenant, each.digest, each.type, each.tool)


def _add_turns(execute: Execute, tenant: str, conversation: str, turns: Iterable[TurnRecord]) -> None:
    for each in turns:
        record: tuple[Any, ...] = (None, None, None)
        if each.record is not None:
            record = (each.record.digest.to_bytes(), each.record.size, each.record.type)
        execute(
            "insert or replace into turns values (?, ?, ?, ?, ?, ?, ?, ?)",
            (tenant, conversation, each.number, each.request_digest, each.answer, *record),
        )


def _drop_turns(execute: Execute, tenant: str, conversation: str, first: int) -> None:
    for statement in (
        "delete from turns where tenant = ? and conversation = ? and number >= ?",
        "delete from names where tenant = ? and conversation = ? and turn >= ?",
        """update names set is_previewed = 0, previewed_turn = null
            where tenant = ? and conversation = ? and previewed_turn >= ?""",
    ):
        execute(statement, (tenant, conversation, first))


def _name(row: Row) -> NameRecord:
    number, digest, size, media_type, turn, tool, is_previewed, previewed_turn = row
    return NameRecord(
        number, Digest.from_bytes(digest), size, media_type, turn, tool, bool(is_previewed), previewed_turn
    )


def _turn(row: Row) -> TurnRecord:
    number, request_digest, answer, digest, size, media_type = row
    record = None if digest is None else Reference(Digest.from_bytes(digest), size, media_type)
    return TurnRecord(number, request_digest, answer, record)
