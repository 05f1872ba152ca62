"""Tables of JSON that are read many values at a time are those that are read value by value, their types too."""

import io
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import blobs.querying.cell_batches
import blobs.querying.columnar
import previewers.json_document
import previewers.json_table
import previewers.ndjson
import previewers.ndjson_rows
from blobs.domain import exact_json
from blobs.domain.errors import BlobsError
from blobs.querying.columnar import types_of, write_parquet, write_parquet_in_one_pass
from blobs.querying.json_cells import JsonCells
from blobs.reading.reader import Column, Table
from blobs.reading.source import BytesSource
from previewers.json_document import JsonReader
from previewers.ndjson import NdjsonReader


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Borders between runs lie everywhere."""
    monkeypatch.setattr(previewers.ndjson, "ROWS_PER_MARK", 2)
    monkeypatch.setattr(previewers.ndjson_rows, "ROWS_PER_MARK", 2)
    monkeypatch.setattr(previewers.ndjson, "RUN_BYTES", 40)
    monkeypatch.setattr(previewers.json_document, "RUN_BYTES", 40)
    monkeypatch.setattr(blobs.querying.cell_batches, "_BATCH_ROWS_MAX", 3)
    monkeypatch.setattr(blobs.querying.columnar, "_FIRST_BATCHES", 1)


NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(
        ["-0", "-0.0", "0.10", "1e5", "1E-7", "9007199254740993", "-9223372036854775808", "1e400", "5e-324"]
    ),
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})\.[0-9]{1,20}", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
STRINGS = st.one_of(
    st.text(max_size=4).map(exact_json.text),
    st.sampled_from(
        ['"2026-01-02"', '"007"', '"a\\u0041"', '"\\u00e9\\/"', '"\\"x"', '"null"', '"é"', '"1,2"', '"[]"']
    ),
)
NESTED = st.sampled_from(
    ['["rio","x"]', "[]", "{}", '{"a":1,"a":2}', '{"p": 0.10}', "[1, 2]", "[-0]", "[1.50,-0.5]", '["\\u0041"]',
     "[[null]]", '{"a":{"b":[1]}}', '["a b"]', "[12345678901234567890123]"]
)  # fmt: skip
ODD = st.sampled_from(["NaN", "-Infinity", '"\\ud800"', '["\\udfff"]', "[NaN]"])
COLUMNS = {
    "a number": NUMBERS,
    "a string": STRINGS,
    "a boolean": st.sampled_from(["true", "false"]),
    "something": NUMBERS | STRINGS | NESTED | st.sampled_from(["true", "null"]),
    "something nested": NESTED | NUMBERS,
    "sometimes odd": st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD),
}
KEYS = ["a", "A", "é", 'q"', "b\\", "", "a.b", "n"]
BLANKS = st.sampled_from(["", "", "", " ", "\t"])


@st.composite
def objects(draw: st.DrawFn) -> list[str]:
    """Objects, of which most have the same keys with values of one kind each; some end with what is no object."""
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))
    kinds = [COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))] for _ in keys]
    texts = ["{}"] * draw(st.sampled_from([0, 0, 0, 0, 1, 9]))
    for _ in range(draw(st.integers(0, 12))):
        blank = draw(BLANKS)
        members = [
            f"{exact_json.text(key)}:{blank}{draw(kind | st.just('null'))}"
            for key, kind in zip(keys, kinds, strict=True)
            if draw(st.integers(0, 9))
        ]
        if not draw(st.integers(0, 15)):
            members.append(f"{exact_json.text(draw(st.sampled_from(KEYS)))}:{draw(NUMBERS)}")
        texts.append("{" + f"{blank},".join(members) + "}")
    if not draw(st.integers(0, 15)):
        texts.append(draw(NUMBERS | STRINGS | NESTED))
    return texts


def by_value(table: Table) -> Table:
    return replace(table, json_columns=None)


def copied(table: Table) -> tuple[list[Column], Any]:
    target = io.BytesIO()
    return write_parquet(table, target), pq.read_table(io.BytesIO(target.getvalue()))


def copied_in_one_pass(table: Table) -> tuple[list[Column], Any]:
    target = io.BytesIO()
    columns, is_whole = write_parquet_in_one_pass(table, target)
    if not is_whole:
        target = io.BytesIO()
        write_parquet(table, target, columns)
    return columns, pq.read_table(io.BytesIO(target.getvalue()))


def check(table: Table | None) -> None:
    assert table is not None
    assert table.json_columns is not None
    wanted, expected = copied(by_value(table))
    for columns, made in (copied(table), copied_in_one_pass(table), copied_in_one_pass(by_value(table))):
        assert columns == wanted
        assert made.schema == expected.schema
        # Equal to the bit: -0.0 is not 0.0, and Arrow takes them for the same.
        assert repr(made.to_pylist()) == repr(expected.to_pylist())


@given(objects(), st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\nbad\n"]))
@settings(max_examples=250, deadline=None)
@example([f'{{"k{each}":1}}' for each in range(501)], "\n")
@example(['{"a":1}', '{"a":1.5}', '{"a":"x"}'], "\n")
@example(['{"a":1}', '{"a":9223372036854775808}'], "\n")
@example(['{"a":0.1}', '{"a":9007199254740993}'], "\n")
@example(['{"a":1}', "[1]"], "\n")
@example(['{"a":1,"a":2}', '{"b":3,"b":[{"x":1,"x":2}]}'], "\n")
@example(['"a"', '"b"'], "\n")
@example(["{}"] * 20, "\n")
@example(["{}"] * 20 + ['{"a":1}'] * 3, "\n")
@example(['{"a":1}'] * 20 + ["7"], "\n")
@example(['{"a":0.10000000000000001}', '{"a":0.30000000000000004}', '{"a":12345678901234567890.123}'], "\n")
def test_lines(texts: list[str], end: str) -> None:
    """Lines of JSON, also with bad and blank lines between them."""
    content = (end.join(texts) + "\n").encode()
    try:
        view = NdjsonReader().open(BytesSource(content))
    except BlobsError:
        return
    check(view.table())


@given(objects(), st.sampled_from([",", ", ", ",\n", "\n,\t"]))
@settings(max_examples=150, deadline=None)
@example(['{\n "a": [\n  1,\n  2\n ]\n}', '{"a":null}'], ",")
@example(["1", "2.5", '"x"'], ",")
@example(["1", "2", "3"], ",\n")
@example([], ",")
def test_arrays(texts: list[str], between: str) -> None:
    """The elements of an array, however it is laid out."""
    content = f"[{between.join(texts)}]".encode()
    try:
        view = JsonReader().open(BytesSource(content))
    except BlobsError:
        return
    check(view.table())


def test_the_quick_way_is_taken() -> None:
    """Nothing is read value by value but the first run, for its keys, where nothing is odd."""
    texts = [f'{{"a":{each},"b":"x{each}"}}' for each in range(100)]
    table = NdjsonReader().open(BytesSource("\n".join(texts).encode())).table()
    assert table is not None
    assert table.json_columns is not None
    assert all(isinstance(run, list) for _, run in table.json_columns())


def test_keys_come_in_the_order_of_their_first_appearance() -> None:
    """A key of the last line alone is a column too, and what has a key that SQL must quote is read all the same."""
    lines = ['{"b":1}'] * 50 + ['{"a":2,"b":3}', '{"q\\"":4}']
    table = NdjsonReader().open(BytesSource("\n".join(lines).encode())).table()
    assert table is not None
    assert table.columns == ["b", "a", 'q"']
    assert types_of(table) == [Column("b", "BIGINT"), Column("a", "BIGINT"), Column('q"', "BIGINT")]


@pytest.mark.parametrize(
    ("lines", "kind", "cells"),
    [
        (b"1\nnull\n-0", "BIGINT", [1, None, 0]),
        (b"0.5\nnull\n-0.0", "DOUBLE", [0.5, None, -0.0]),
        (b'"a"\nnull\n""', "VARCHAR", ["a", None, ""]),
        (b'"\\n"\n"\xc3\xa9"', "VARCHAR", ["\n", "é"]),
        (b"true\nnull\nfalse", "BOOLEAN", [True, None, False]),
        (b'["a"]\nnull\n"x"', "JSON", ['["a"]', None, '"x"']),
        (b'{"a": 1.50, "a": -0}', "JSON", ['{"a":0}']),
        (b"null\nnull", "VARCHAR", [None, None]),
    ],
)
def test_cells(lines: bytes, kind: str, cells: list[Any]) -> None:
    """What the texts of a column become."""
    array = JsonCells(lines).array(kind)
    assert repr(array.to_pylist()) == repr(cells)
