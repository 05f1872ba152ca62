"""The columnar copy: types that keep every value, and values that DuckDB reads back unchanged."""

import io
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.querying.cell_batches import batches
from blobs.querying.columnar import arrow_table, column_types, write_parquet
from blobs.querying.names import quoted, unique_names
from blobs.reading.reader import Column, Table


def text_type(*texts: str | None) -> str:
    return column_types([[each] for each in texts], ["c"], is_text=True)[0].type


def value_type(*cells: Any) -> str:
    return column_types([[each] for each in cells], ["c"], is_text=False)[0].type


def stored(table: Table) -> tuple[list[Column], bytes]:
    target = io.BytesIO()
    return write_parquet(table, target), target.getvalue()


def read_back(tmp_path: Path, content: bytes, query: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
        return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-20", "0"], "BIGINT"),
        (["999999999999999999"], "BIGINT"),
        (["1", "9" * 19], "DECIMAL(38,0)"),
        (["9" * 38], "DECIMAL(38,0)"),
        (["9" * 39], "VARCHAR"),
        (["00123", "4"], "VARCHAR"),
        (["-0"], "VARCHAR"),
        (["+1"], "VARCHAR"),
        ([" 1"], "VARCHAR"),
        (["1_000"], "VARCHAR"),
        (["1,000"], "VARCHAR"),
        (["1\n"], "VARCHAR"),
        (["\u0661"], "VARCHAR"),
        (["1.50", "2.25", "-0.05"], "DECIMAL(18,2)"),
        (["12345678901234567890.50"], "DECIMAL(38,2)"),
        (["1" * 37 + ".50"], "VARCHAR"),
        (["-0.00"], "VARCHAR"),
        (["1.5", "2.25"], "DOUBLE"),
        (["1.5", "2"], "VARCHAR"),
        (["1.5", "2.50"], "VARCHAR"),
        (["0.1", "1e-05"], "DOUBLE"),
        (["1.5", "0.1000000000000000055511151231257827"], "VARCHAR"),
        ([".5"], "VARCHAR"),
        (["1e5"], "VARCHAR"),
        (["nan"], "VARCHAR"),
        (["inf"], "VARCHAR"),
        (["true", "false"], "BOOLEAN"),
        (["True"], "VARCHAR"),
        (["yes"], "VARCHAR"),
        (["2024-02-29", "0001-01-01"], "DATE"),
        (["2023-02-29"], "VARCHAR"),
        (["0000-01-01"], "VARCHAR"),
        (["01/02/2024"], "VARCHAR"),
        (["2024-1-1"], "VARCHAR"),
        (["2024-01-01 10:00:00", "2024-01-01 10:00:00.5"], "TIMESTAMP"),
        (["2024-01-01 10:00:00.50"], "VARCHAR"),
        (["2024-01-01 10:00:00.1234567"], "VARCHAR"),
        (["2024-01-01 24:00:00"], "VARCHAR"),
        (["2024-01-01T10:00:00"], "VARCHAR"),
        (["2024-01-01 10:00:00Z"], "VARCHAR"),
        (["2024-01-01", "2024-01-01 10:00:00"], "VARCHAR"),
        (["1", ""], "VARCHAR"),
        (["1", "NA"], "VARCHAR"),
        (["\ud800"], "VARCHAR"),
        ([None, None], "VARCHAR"),
        ([None, "7", None], "BIGINT"),
        ([], "VARCHAR"),
    ],
)
def test_text_types(texts: list[str | None], expected: str) -> None:
    """Untyped text gets a type only where each value prints back as it was."""
    assert text_type(*texts) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1, 2**63 - 1, -(2**63)], "BIGINT"),
        ([2**63], "DECIMAL(38,0)"),
        ([-(10**38) + 1], "DECIMAL(38,0)"),
        ([10**38], "VARCHAR"),
        (["0.1", "1e3", "0.10"], "DOUBLE"),
        (["0.1", 7], "DOUBLE"),
        (["0.1", 2**53 + 1], "DECIMAL(38,1)"),
        (["0.1234567890123456789"], "DECIMAL(38,19)"),
        (["0.1234567890123456789", "1" * 30], "VARCHAR"),
        (["1e400"], "VARCHAR"),
        (["1e99999999999999999999"], "VARCHAR"),
        (["NaN", "0.5"], "DOUBLE"),
        (["NaN", "0.1234567890123456789"], "VARCHAR"),
        ([True, False, None], "BOOLEAN"),
        ([True, 1], "VARCHAR"),
        ([b"\0"], "BLOB"),
        ([b"\0", "x"], "VARCHAR"),
        ([1.5, 2], "DOUBLE"),
        ([{"a": 1}, "x", 3], "JSON"),
        ([[1]], "JSON"),
        ([None], "VARCHAR"),
    ],
)
def test_value_types(cells: list[Any], expected: str) -> None:
    """Values that have types get one that holds each of them exactly."""
    numbers = [
        exact_json.loads(each) if isinstance(each, str) and (each[0].isdigit() or each == "NaN") else each
        for each in cells
    ]
    assert value_type(*numbers) == expected


def test_strings_of_typed_values_stay_text() -> None:
    """A string in JSON is a string, also where it looks like a number or a date."""
    assert value_type("1", "2") == "VARCHAR"
    assert value_type("2024-01-01") == "VARCHAR"


def test_late_values_count() -> None:
    """The last of many rows can still take a column's type away."""
    rows = [[str(number)] for number in range(70_000)]
    assert text_type(*[row[0] for row in rows]) == "BIGINT"
    assert text_type(*[row[0] for row in rows], "1.5") == "VARCHAR"
    assert text_type(*[row[0] for row in rows], "007") == "VARCHAR"


def test_names_are_unique_without_case() -> None:
    """DuckDB takes names that differ in case for the same; empty names are numbered by their place."""
    assert unique_names(["a", "A", "a", "", "a_1"]) == ["a", "A_2", "a_3", "column4", "a_1"]
    assert unique_names(["", ""]) == ["column1", "column2"]
    assert unique_names(["É", "é"]) == ["É", "é"]
    assert unique_names(["\ud800x"]) == ["?x"]
    assert len(set(unique_names(["a"] * 20_000))) == 20_000


def test_names_are_quoted_where_sql_needs_it() -> None:
    """Reserved words and odd characters need quotes."""
    assert [quoted(each) for each in ["a", "Order", 'x"y', "1a", "é"]] == ["a", '"Order"', '"x""y"', '"1a"', '"é"']


def test_text_survives(tmp_path: Path) -> None:
    """SQL gives back the text of every cell as it was in the file."""
    rows = [
        [
            "1",
            "00123",
            "123456789012345678901234567890",
            "1.50",
            "true",
            "2024-02-29",
            "2024-01-01 00:00:00.5",
            "é€𝄞 \t\"'",
        ],
        ["-7", "", "0", "-0.25", "false", "0001-01-01", "9999-12-31 23:59:59", "NA"],
        [None, "1e5", "-1", "10.00", None, None, None, "a\nb"],
    ]
    columns, content = stored(Table(list("abcdefgh"), rows=lambda: iter(rows), is_text=True))
    assert [each.type for each in columns] == [
        "BIGINT", "VARCHAR", "DECIMAL(38,0)", "DECIMAL(18,2)", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR",
    ]  # fmt: skip
    assert read_back(tmp_path, content, "SELECT COLUMNS(*)::VARCHAR FROM t") == [tuple(row) for row in rows]


def test_values_survive(tmp_path: Path) -> None:
    """SQL gives back equal values, nested ones with every digit of their text."""
    big = 123456789012345678901234567890
    rows = [
        [big, exact_json.loads("0.1"), {"p": exact_json.loads("0.1000"), "n": [big]}, float("nan"), b"\x00\xff", "x"],
        [None, 3, [], float("inf"), None, 10**40],
        [5, exact_json.loads("-1e-7"), None, -0.0, b"", True],
    ]
    columns, content = stored(Table(["a", "b", "c", "d", "e", "f"], rows=lambda: iter(rows)))
    assert [each.type for each in columns] == ["DECIMAL(38,0)", "DOUBLE", "JSON", "DOUBLE", "BLOB", "VARCHAR"]
    found = read_back(tmp_path, content)
    assert [row[0] for row in found] == [Decimal(big), None, Decimal(5)]
    assert [row[1] for row in found] == [0.1, 3.0, -1e-7]
    assert [row[2] for row in found] == ['{"p":0.1000,"n":[123456789012345678901234567890]}', "[]", None]
    assert [repr(row[3]) for row in found] == ["nan", "inf", "-0.0"]
    assert [row[4] for row in found] == [b"\x00\xff", None, b""]
    assert [row[5] for row in found] == ["x", "1" + "0" * 40, "true"]


def test_json_is_json_in_sql(tmp_path: Path) -> None:
    """A nested column has DuckDB's type JSON, with its paths and functions."""
    rows = [[{"verdict": "ok"}, [{"id": 1}, {"id": 2}]]]
    _, content = stored(Table(["tail", "results"], rows=lambda: iter(rows)))
    query = "SELECT typeof(tail), tail->>'verdict', tail.verdict, json_array_length(results), results[1].id FROM t"
    assert read_back(tmp_path, content, query) == [("JSON", "ok", '"ok"', 2, "2")]


def test_mixed_scalars_are_text(tmp_path: Path) -> None:
    """A column of numbers and words is text, numbers as they were written."""
    rows = [[exact_json.loads("1.50")], ["x"], [True], [None], [10**30], [2.5]]
    _, content = stored(Table(["c"], rows=lambda: iter(rows)))
    assert [row[0] for row in read_back(tmp_path, content)] == ["1.50", "x", "true", None, "1" + "0" * 30, "2.5"]


def test_ragged_rows_lose_nothing(tmp_path: Path) -> None:
    """Short rows end in nulls; what is beyond the columns is kept in a column of its own."""
    rows = [["1"], ["2", "x", "y"], ["3", "z"]]
    columns, content = stored(Table(["a", "b"], rows=lambda: iter(rows), is_text=True))
    assert columns == [Column("a", "BIGINT"), Column("b", "VARCHAR"), Column("extra", "JSON")]
    assert read_back(tmp_path, content) == [(1, None, None), (2, "x", '["y"]'), (3, "z", None)]


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    """Rows of no columns are still rows."""
    _, content = stored(Table([], rows=lambda: iter([[], [], []])))
    assert read_back(tmp_path, content, "SELECT count(*) FROM t") == [(3,)]


def test_no_rows(tmp_path: Path) -> None:
    """A table of no rows has its columns."""
    columns, content = stored(Table(["a"], rows=lambda: iter([]), is_text=True))
    assert columns == [Column("a", "VARCHAR")]
    assert read_back(tmp_path, content) == []


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    """What UTF-8 cannot say becomes U+FFFD; the rest of the text stays."""
    _, content = stored(Table(["c"], rows=lambda: iter([["a\ud800b"], ["c😀"]])))
    assert read_back(tmp_path, content) == [("a\ufffdb",), ("c😀",)]


def test_row_groups_are_small(tmp_path: Path) -> None:
    """Row groups have 32,768 rows, so that rows in the middle are reached fast; order and count are kept."""
    rows = [[str(number), f"name {number}"] for number in range(70_000)]
    _, content = stored(Table(["id", "name"], rows=lambda: iter(rows), is_text=True))
    described = pq.ParquetFile(io.BytesIO(content)).metadata
    assert [described.row_group(i).num_rows for i in range(described.num_row_groups)] == [32_768, 32_768, 4_464]
    assert described.row_group(0).column(0).compression == "ZSTD"
    query = "SELECT count(*), min(id), max(id), bool_and(name = 'name ' || id), bool_and(file_row_number = id) FROM "
    query += f"read_parquet('{tmp_path / 't.parquet'}')"
    assert read_back(tmp_path, content, query) == [(70_000, 0, 69_999, True, True)]


def test_numbers_are_written_as_they_are_read_fastest(tmp_path: Path) -> None:
    """Integers and short decimals as differences, whose ends are kept; fractions by a dictionary where they repeat."""
    ends = [-(2**63), 2**63 - 1, 0, -1]
    rows = [[ends[each % 4], f"{(-1) ** each * (10**16 - 1)}.99", each / 7, each % 9 / 7] for each in range(40_000)]
    typed = Table(["i", "d", "f", "g"], rows=lambda: iter([[i, exact_json.Number(d), f, g] for i, d, f, g in rows]))
    columns, content = stored(typed)
    assert [each.type for each in columns] == ["BIGINT", "DECIMAL(38,2)", "DOUBLE", "DOUBLE"]
    texts = Table(["d"], rows=lambda: iter([[d] for _, d, _, _ in rows]), is_text=True)
    shorter, decimals = stored(texts)
    assert shorter == [Column("d", "DECIMAL(18,2)")]
    group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    assert "DELTA_BINARY_PACKED" in group.column(0).encodings
    assert [group.column(place).has_dictionary_page for place in (2, 3)] == [False, True]
    assert read_back(tmp_path, content, "SELECT i, f, g FROM t") == [(i, f, g) for i, _, f, g in rows]
    assert read_back(tmp_path, decimals) == [(Decimal(d),) for _, d, _, _ in rows]
    described = pq.ParquetFile(io.BytesIO(decimals)).metadata.row_group(0).column(0)
    assert (described.physical_type, described.has_dictionary_page) == ("INT64", False)


def test_texts_are_written_as_they_are_read_fastest(tmp_path: Path) -> None:
    """By a dictionary where they repeat, else one after the other; empty ones, nulls and JSON are kept in both."""
    cells = [[None, "", "é" * (each % 7)][min(each % 9, 2)] for each in range(40_000)]
    rows = [[cell, f"{cell} {place}", [place]] for place, cell in enumerate(cells)]
    columns, content = stored(Table(["few", "many", "json"], rows=lambda: iter(rows)))
    assert [each.type for each in columns] == ["VARCHAR", "VARCHAR", "JSON"]
    group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    assert [group.column(place).has_dictionary_page for place in range(3)] == [True, False, False]
    assert all("DELTA_LENGTH_BYTE_ARRAY" in group.column(place).encodings for place in (1, 2))
    assert read_back(tmp_path, content) == [(few, many, f"[{json[0]}]") for few, many, json in rows]


def test_batches_are_bounded_by_bytes() -> None:
    """Rows of a megabyte come in batches of a few megabytes, wide rows in few."""
    sizes = [len(batch) for batch in batches([["x" * 1_000_000]] * 40)]
    assert sum(sizes) == 40
    assert max(sizes) <= 8
    assert max(len(batch) for batch in batches([["x"] * 10_000] * 200)) <= 50


def test_sink_needs_only_write() -> None:
    """Parquet is streamed: any object with `write` takes it, piece by piece."""

    class Sink:
        pieces: list[bytes] = []

        def write(self, chunk: bytes) -> None:
            self.pieces.append(chunk)

    write_parquet(Table(["a"], rows=lambda: iter([["1"]] * 100_000), is_text=True), Sink())
    content = b"".join(Sink.pieces)
    assert len(Sink.pieces) > 3
    assert pq.read_table(io.BytesIO(content)).column("a").to_pylist() == [1] * 100_000


ARROW = [
    (pa.array([1, None], pa.uint64()), "UBIGINT", ["1", None]),
    (pa.array([2**64 - 1], pa.uint64()), "UBIGINT", ["18446744073709551615"]),
    (pa.array([1.5], pa.float16()), "FLOAT", ["1.5"]),
    (pa.array([Decimal("1.50")], pa.decimal256(30, 2)), "DECIMAL(30,2)", ["1.50"]),
    (pa.array([Decimal(10) ** 40], pa.decimal256(60, 2)), "VARCHAR", ["1" + "0" * 40 + ".00"]),
    (pa.array([Decimal("1.5")], pa.decimal32(5, 2)), "DECIMAL(5,2)", ["1.50"]),
    (pa.array([Decimal("1200")], pa.decimal128(5, -2)), "VARCHAR", ["1200"]),
    (pa.array([93_784_000_000_001, None], pa.duration("ns")), "VARCHAR", ["26:03:04.000000001", None]),
    (pa.array([-1_500], pa.duration("ms")), "VARCHAR", ["-00:00:01.5"]),
    (pa.array([90], pa.duration("s")), "VARCHAR", ["00:01:30"]),
    (pa.array([(1, 2, 3_000_000_000)], pa.month_day_nano_interval()), "VARCHAR", ["1 months 2 days 00:00:03"]),
    (pa.array(["x", None, "x"]).dictionary_encode(), "VARCHAR", ["x", None, "x"]),
    (pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"]), "VARCHAR", ["x", "x", "y"]),
    (pa.array(["x"], pa.string_view()), "VARCHAR", ["x"]),
    (pa.array([b"ab"], pa.binary(2)), "BLOB", ["ab"]),
    (pa.nulls(2), "VARCHAR", [None, None]),
    (pa.array([1], pa.timestamp("ns")), "TIMESTAMP_NS", ["1970-01-01 00:00:00.000000001"]),
    (pa.array([1], pa.timestamp("s")), "TIMESTAMP", ["1970-01-01 00:00:01"]),
    (pa.array([2**60], pa.timestamp("s")), "BIGINT", [str(2**60)]),
    (pa.array([0], pa.timestamp("us", "America/New_York")), "TIMESTAMP WITH TIME ZONE", ["1970-01-01 00:00:00+00"]),
    (pa.array([date(2020, 1, 1)], pa.date64()), "DATE", ["2020-01-01"]),
    (pa.array([3_723], pa.time32("s")), "TIME", ["01:02:03"]),
    (pa.array([1], pa.time64("ns")), "TIME_NS", ["00:00:00.000000001"]),
    (pa.array([[1, 2], None]), "BIGINT[]", ["[1, 2]", None]),
    (pa.array([[1, 2]], pa.list_(pa.int32(), 2)), "INTEGER[]", ["[1, 2]"]),
    (pa.array([{"a": 1, "b c": "x"}]), 'STRUCT(a BIGINT, "b c" VARCHAR)', ["{'a': 1, 'b c': x}"]),
    (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "MAP(VARCHAR, TINYINT)", ["{k=1}"]),
    (pa.array([{}], pa.struct([])), "JSON", ["{}"]),
    (pa.array([{"t": 1}], pa.struct([("t", pa.duration("s"))])), "JSON", ['{"t":"00:00:01"}']),
    (pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["i", "I"]), "JSON", ['{"i":1,"I_1":2}']),
    (
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([5, 6]), pa.array(["w", "x"])]),
        "JSON",
        ["5", '"x"'],
    ),
    (pa.array([["x", "y"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), "VARCHAR[]", ["[x, y]"]),
    (pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())), "BIGINT[]", ["[1]", None, "[2, 3]"]),
    (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), "INTEGER[]", ["[1, 2]", None]),
    (pa.array([[], [9], None, [1, 2]]).slice(1), "BIGINT[]", ["[9]", None, "[1, 2]"]),
    (pa.array([{"a": [1]}, None, {"a": None}]), "STRUCT(a BIGINT[])", ["{'a': [1]}", None, "{'a': NULL}"]),
    (pa.array([[3_723_000_000_001]], pa.list_view(pa.time64("ns"))), "TIME_NS[]", ["['01:02:03.000000001']"]),
    (pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1.0}'])), "JSON", ['{"a":1.0}']),
    (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(15) + b"\x01"], pa.binary(16))),
        "UUID",
        ["00000000-0000-0000-0000-000000000001"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("array", "kind", "texts"), ARROW, ids=[str(each[0].type)[:40] for each in ARROW])
def test_arrow_types(tmp_path: Path, array: pa.Array, kind: str, texts: list[str | None]) -> None:
    """Arrow columns keep their values; what Parquet or DuckDB has no type for is exact text."""
    table = pa.table([array], names=["c"])
    columns, content = stored(Table(["c"], arrow=table.to_reader))
    assert columns == [Column("c", kind)]
    assert read_back(tmp_path, content, "SET TimeZone='UTC'; SELECT c::VARCHAR FROM t") == [(each,) for each in texts]
    assert read_back(tmp_path, content, "SELECT DISTINCT replace(typeof(c), '\"NULL\"', 'VARCHAR') FROM t") == [(kind,)]


def test_arrow_names_are_made_unique(tmp_path: Path) -> None:
    """Columns of one name are told apart."""
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "A"])
    columns, content = stored(Table(["a", "A"], arrow=table.to_reader))
    assert [each.name for each in columns] == ["a", "A_1"]
    assert read_back(tmp_path, content) == [(1, 2)]


def test_damaged_arrow_is_refused() -> None:
    """What is no Arrow data inside (here: text that is no UTF-8) is found before it is written."""
    offsets = pa.array([0, 1], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    batch = pa.record_batch([broken], names=["c"])
    with pytest.raises(UnreadableError):
        stored(Table(["c"], arrow=lambda: pa.RecordBatchReader.from_batches(batch.schema, [batch])))


def test_arrow_table_in_memory() -> None:
    """The same typed columns are to be had without a file."""
    rows = [["2024-01-01 00:00:00", "1"], [None, "2"]]
    table = arrow_table(Table(["t", "n"], rows=lambda: iter(rows), is_text=True))
    assert table.column("t").to_pylist() == [datetime(2024, 1, 1), None]
    assert table.column("n").to_pylist() == [1, 2]
