"""Whatever the table, SQL gives back what was in it."""

import io
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from blobs.querying.columnar import column_types, write_parquet
from blobs.querying.names import unique_names
from blobs.reading.reader import Column, Table

CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.from_regex(r"-?[0-9]{1,40}", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,20}\.[0-9]{1,3}", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.dates().map(str),
    st.datetimes().map(lambda each: str(each).rstrip("0") if each.microsecond else str(each)),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?", fullmatch=True),
    st.sampled_from(
        ["true", "false", "True", "", "NA", "null", "-0", "-0.0", "1e5", "0x1", "١", "1_0", " 1", "nan", "inf"]
    ),
    st.text(CHARACTERS, max_size=8),
)
NUMBERS = st.one_of(
    st.from_regex(r"-?(0|[1-9][0-9]{0,25})\.[0-9]{1,20}", fullmatch=True),
    st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,5})?[eE][+-]?[0-9]{1,3}", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
).map(Number)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(CHARACTERS, max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=5), inner, max_size=3),
    max_leaves=6,
)


@contextmanager
def queried(table: Table) -> Iterator[tuple[list[Column], Any]]:
    """The table's columns, and a function that runs SQL over its copy `t`."""
    target = io.BytesIO()
    columns = write_parquet(table, target)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / "t.parquet"
        path.write_bytes(target.getvalue())
        connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
        yield columns, lambda query: connection.execute(query).fetchall()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(st.none() | TEXTS, min_size=width, max_size=width), max_size=12)
    )
)
def test_text_comes_back_as_it_was(rows: list[list[str | None]]) -> None:
    """Every cell of untyped text is, cast to VARCHAR, the same text; types do not depend on the order of rows."""
    names = [f"c{place}" for place in range(len(rows[0]) if rows else 1)]
    with queried(Table(names, rows=lambda: iter(rows), is_text=True)) as (columns, ask):
        assert ask("SELECT COLUMNS(*)::VARCHAR FROM t") == [tuple(row) for row in rows]
    assert column_types(reversed(rows), names, is_text=True) == columns


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | TEXTS, min_size=1, max_size=3), st.sampled_from([20, 9000]))
def test_one_form_of_text_comes_back(texts: list[str | None], repeat: int) -> None:
    """The same over more rows than one batch, where a late row may take a type away."""
    rows = [[texts[0]]] * repeat + [[each] for each in texts]
    with queried(Table(["c"], rows=lambda: iter(rows), is_text=True)) as (_, ask):
        found = ask("SELECT DISTINCT c::VARCHAR FROM t")
    assert {row[0] for row in found} == set(texts)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.integers() | NUMBERS | st.floats(allow_infinity=False), max_size=12))
def test_numbers_are_the_same_numbers(cells: list[Any]) -> None:
    """Every number is, as a decimal, the same number, or its text where no type holds them all."""
    with queried(Table(["c"], rows=lambda: iter([[each] for each in cells]))) as (columns, ask):
        found = [row[0] for row in ask("SELECT c FROM t")]
    for cell, value in zip(cells, found, strict=True):
        if cell is None or value is None:
            assert cell is value is None
        elif isinstance(cell, float) and math.isnan(cell):
            assert columns[0].type == "VARCHAR" or math.isnan(value)
        else:
            assert exact(value) == exact(cell)


def exact(value: Any) -> Decimal:
    return Decimal(value if isinstance(value, int | Decimal | str) else repr(value))


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=8))
def test_json_comes_back_digit_by_digit(cells: list[Any]) -> None:
    """A column with lists or objects in it keeps each value as JSON text that reads back equal."""
    cells = [[], *cells]
    with queried(Table(["c"], rows=lambda: iter([[each] for each in cells]))) as (columns, ask):
        assert columns == [Column("c", "JSON")]
        assert ask("SELECT DISTINCT typeof(c) FROM t") == [("JSON",)]
        found = [row[0] for row in ask("SELECT c::VARCHAR FROM t")]
    assert found == [None if each is None else exact_json.text(each) for each in cells]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.none(), st.booleans(), st.integers(), NUMBERS, st.text(CHARACTERS, max_size=5), st.binary(max_size=4)
        ),
        max_size=10,
    )
)
def test_mixed_columns_lose_no_row(cells: list[Any]) -> None:
    """Nulls stay nulls, everything else stays something, whatever is mixed."""
    with queried(Table(["c"], rows=lambda: iter([[each] for each in cells]))) as (_, ask):
        found = [row[0] for row in ask("SELECT c FROM t")]
    assert [value is None for value in found] == [cell is None for cell in cells]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(CHARACTERS | st.sampled_from("aA_1"), max_size=3), min_size=1, max_size=8))
def test_any_names_make_a_table(names: list[str]) -> None:
    """Columns of any names can be asked for by the names they were given."""
    row = [list(range(len(names)))]
    with queried(Table(names, rows=lambda: iter(row))) as (columns, ask):
        assert [each.name for each in columns] == unique_names(names)
        asked = ", ".join('"' + each.name.replace('"', '""') + '"' for each in columns)
        assert ask(f"SELECT {asked} FROM t") == [tuple(row[0])]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(CHARACTERS, max_size=3), max_size=5), max_size=8), st.integers(0, 4))
def test_ragged_rows_keep_every_cell(rows: list[list[str]], width: int) -> None:
    """Cells beyond the columns are kept in order in `extra`."""
    with queried(Table([f"c{place}" for place in range(width)], rows=lambda: iter(rows))) as (columns, ask):
        found = ask("SELECT * FROM t")
    assert len(found) == len(rows)
    for row, stored in zip(rows, found, strict=True):
        cells = list(stored[:width])
        if columns[-1].name == "extra":
            cells += exact_json.loads(stored[-1] or "[]")
        assert cells == row + [None] * (width - len(row))
