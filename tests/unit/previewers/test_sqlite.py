"""SQLite databases: tables and views as parts, values of any type in any column, damage told."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from blobs import Conversation
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.sqlite_database import SQLITE, SqliteReader
from tests.material import fixture, truth


def made(script: str) -> bytes:
    database = sqlite3.connect(":memory:")
    database.executescript(script)
    content = database.serialize()
    database.close()
    return content


def open_database(content: bytes):
    return SqliteReader().open(BytesSource(content))


def items(view) -> list[Any]:
    return list(view.items(ItemRange(0, view.count)))


class TestSqliteReader(ReaderContract):
    reader = SqliteReader()
    examples = {
        "gauges": Example(fixture("gauges.sqlite"), SQLITE, 13),
        "one table": Example(made("create table t (a, b); insert into t values (1, 'x'), (2, null);"), SQLITE, 2),
        "UTF-16": Example(
            made("pragma encoding='UTF-16le'; create table t (a); insert into t values ('é😀');"), SQLITE, 1
        ),
        "nothing": Example(made("create table t (a); drop table t;"), SQLITE, 0),
    }


def test_tables_and_views_are_parts():
    """Each table and view has its count; a view is said to be one."""
    view = open_database(fixture("gauges.sqlite"))
    assert {part.name: part.count for part in view.parts} == truth("gauges.sqlite")["parts"]
    assert [part.note for part in view.parts] == ["", "", "view", ""]
    assert view.place(8) == {"part": "line items", "part_item": 1}
    assert items(view.part("LINE ITEMS")) == [["A-1", 2.5], ["A-2", "inf"]]


def test_mixed_columns_keep_every_value(chat: Conversation):
    """Read gives values as they are; SQL has them as text, and says beside it what each one was."""
    view = open_database(fixture("gauges.sqlite")).part("gauge")
    values = [row[1] for row in items(view)]
    assert values == [5, "", "n/a", 7.5, None, "\\x00\\xFF", 9_007_199_254_740_993]
    blob = chat.attach(fixture("gauges.sqlite"))["blob"]
    query = f"select value, value_typeof from {blob}.gauge order by id"
    rows = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"]
    kinds = ["integer", "text", "text", "real", "null", "blob", "integer"]
    assert rows == [[None if value is None else str(value), kind] for value, kind in zip(values, kinds, strict=True)]
    assert any("value holds numbers, texts and blobs" in note for note in chat.describe(blob)["preview"]["notes"])


def test_numbers_of_every_size(chat: Conversation):
    """64-bit integers, infinities and long texts of digits are unchanged in read and SQL."""
    script = """create table n (i, r, d);
        insert into n values (9223372036854775807, 9e999, '0123456789012345678901234567890'),
            (-9223372036854775808, -9e999, '007');"""
    content = made(script)
    rows = items(open_database(content))
    assert [row[0] for row in rows] == [9_223_372_036_854_775_807, -9_223_372_036_854_775_808]
    assert [row[2] for row in rows] == ["0123456789012345678901234567890", "007"]
    blob = chat.attach(content)["blob"]
    answer = chat.call("blob_code", {"blob": blob, "language": "sql", "code": f"select * from {blob}"})["data"]
    assert answer["rows"] == [
        [9_223_372_036_854_775_807, "Infinity", "0123456789012345678901234567890"],
        [-9_223_372_036_854_775_808, "-Infinity", "007"],
    ]


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("create view v as select * from gone", "view 'v' cannot be read"),
        ("create view v as select nofunction(a) from t", "view 'v' cannot be read"),
        ("create virtual table f using fts5(x)", "virtual tables are left out: 'f'"),
        (
            "create view v as with recursive c(n) as (select 1 union all select n + 1 from c) select n from c",
            "not counted",
        ),
    ],
)
def test_what_cannot_be_read_is_said(script, note):
    """A view that fails, one that never ends and virtual tables leave the rest readable."""
    try:
        content = made(f"create table t (a); insert into t values (1); {script};")
    except sqlite3.OperationalError as problem:
        pytest.skip(f"this SQLite cannot make it: {problem}")
    view = open_database(content)
    told = [*view.notes, *(part.note for part in view.parts)]
    assert any(note in each for each in told), told
    assert "t" in [part.name for part in view.parts]


def test_names_of_any_kind(chat: Conversation):
    """Names with quotes, blanks, dots and letters beyond ASCII are parts and tables as they are."""
    content = made(
        'create table "a ""b"" c" ("x y", "x""y"); insert into "a ""b"" c" values (1, 2);'
        'create table "p.q" (id); insert into "p.q" values (3); create table "größe" (id);'
    )
    view = open_database(content)
    assert [part.name for part in view.parts] == ['a "b" c', "p.q", "größe"]
    blob = chat.attach(content)["blob"]
    for query, expected in (
        (f'select "x y", "x""y" from {blob}."a ""b"" c"', [[1, 2]]),
        (f'select id from {blob}."p.q"', [[3]]),
    ):
        answer = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})
        assert answer["ok"], answer
        assert answer["data"]["rows"] == expected


def test_text_that_is_not_utf8_is_told():
    """Bad bytes inside a text are shown and said."""
    content = made("create table t (a text); insert into t values (cast(x'61ff62' as text));")
    view = open_database(content)
    assert items(view) == [["a\\xffb"]]
    assert any("not valid UTF-8" in note for note in view.notes)


def test_a_wal_left_behind_is_said(tmp_path: Path):
    """A database in WAL mode is read without the file beside it, and a note says what that may cost."""
    path = tmp_path / "wal.db"
    database = sqlite3.connect(path)
    database.executescript("pragma journal_mode=wal; create table t (a); insert into t values (1);")
    database.close()
    view = open_database(path.read_bytes())
    assert items(view) == [[1]]
    assert view.notes[0].startswith("in WAL mode")


def test_damage_is_told():
    """The rows before a damaged page are read and counted; what is no database at all is unreadable."""
    content = bytearray(made(
        "create table t (a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < 5000)"
        " insert into t select n, 'some text ' || n from c;"
    ))  # fmt: skip
    half = len(content) // 2
    content[half:] = b"\xff" * (len(content) - half)
    view = open_database(bytes(content))
    assert 0 < view.count < 5000
    assert items(view)[0] == [1, "some text 1"]
    assert any("damaged" in each for each in [*view.notes, *(part.note for part in view.parts)])
    with pytest.raises(UnreadableError):
        open_database(b"SQLite format 3\x00" + b"\xff" * 5000)
    with pytest.raises(UnreadableError):
        open_database(b"no database")


def test_a_schema_cannot_act():
    """What a hostile schema calls is not run: only what SELECT needs is allowed."""
    content = made("create table t (a); insert into t values (1); create view v as select load_extension('x') from t;")
    view = open_database(content)
    assert any("view 'v' cannot be read" in note for note in view.notes) or [part.name for part in view.parts] == ["t"]
