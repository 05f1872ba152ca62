"""Parquet: counted from the footer, read by row group, every value exact."""

import io
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import PARQUET
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Column
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.parquet import ParquetReader, ParquetView
from tests.material import FIXTURES, ROOT, fixture, truth


def written(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink, **options)
    return sink.getvalue()


def opened(content: bytes) -> ParquetView:
    return ParquetReader().open(BytesSource(content))


def rows(view: ParquetView, start: int = 0, stop: int = 1_000_000) -> list[Any]:
    return list(view.items(ItemRange(start, stop)))


class TestParquetReader(ReaderContract):
    reader = ParquetReader()
    examples = {
        "every kind of value": Example(fixture("people.parquet"), PARQUET, 50),
        "no rows": Example(written(pa.table({"a": pa.array([], pa.int64())})), PARQUET, 0),
        "no columns": Example(written(pa.table({})), PARQUET, 0),
        "equal names": Example(
            written(pa.table([pa.array([1, 2]), pa.array(["x", "y"])], names=["a", "a"])), PARQUET, 2
        ),
    }


def test_values_are_exact():
    """Every value reads as JSON with all of its digits, nulls apart from NaN and infinities."""
    view = opened(fixture("people.parquet"))
    known = truth("people.parquet")
    assert [column.name for column in view.columns or []] == known["columns"]
    first, null, hard = rows(view, 0, 1) + rows(view, 3, 5)
    said = [
        str(cell) if name in {"price", "big", "ratio"} else cell
        for name, cell in zip(known["columns"], first, strict=True)
    ]
    assert said == known["item_0"]
    assert null == known["item_3"]
    by_name = dict(zip(known["columns"], hard, strict=True))
    assert str(by_name["big"]) == known["item_4_big"]
    assert by_name["count"] == known["item_4_count"]
    assert by_name["at"] == known["item_4_at"]
    assert by_name["seen"] == known["item_4_seen"]
    assert by_name["name"] == known["item_4_name"]
    assert exact_json.text([by_name["score"], by_name["ratio"], by_name["price"]]) == '["NaN","-Infinity",-0.10]'
    assert by_name["tags"] == [None, "y"]
    assert by_name["place"] == {"city": None, "at": None}
    assert by_name["attrs"] == {"a": 1, "b": None}
    assert by_name["day"] == "0001-01-01"


def test_columns_have_their_sql_types():
    """A column is typed as SQL sees it."""
    types = [column.type for column in opened(fixture("people.parquet")).columns or []]
    assert types == [
        *("BIGINT", "VARCHAR", "DECIMAL(12,2)", "DECIMAL(38,0)", "UBIGINT", "BOOLEAN", "DOUBLE", "FLOAT", "DATE"),
        *("TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "STRUCT(city VARCHAR, at INTEGER[])"),
        *("MAP(VARCHAR, BIGINT)", "BLOB"),
    ]


def test_binary_cells_are_bounded_and_literal():
    """A binary cell is written as a BLOB literal of SQL, its first 256 bytes, the rest counted; a note says so."""
    view = opened(written(pa.table({"b": [b"plain", b"\x00'\\\"\xff", b"\x01" * 1000]})))
    assert [row[0] for row in rows(view)] == ["plain", r"\x00\x27\x5C\x22\xFF", r"\x01" * 256 + "…(+744 bytes)"]
    assert any("256 bytes" in note for note in view.notes)


def test_short_floats_keep_their_digits():
    """A 32-bit 0.1 reads as 0.1, not as the nearest double's digits."""
    view = opened(written(pa.table({"f": pa.array([0.1, 1e20, -0.0, None], pa.float32())})))
    assert exact_json.text(rows(view)) == "[[0.1],[1e+20],[-0.0],[null]]"


def test_footer_alone_gives_the_count():
    """Pages are not touched to count: a file whose pages are destroyed still counts, and reading it is an error."""
    content = bytearray(written(pa.table({"a": list(range(1000))}), compression="none", use_dictionary=False))
    content[4:1000] = b"\xff" * 996
    view = opened(bytes(content))
    assert view.count == 1000
    with pytest.raises(UnreadableError):
        rows(view)


def test_row_groups_before_the_range_are_skipped():
    """The last rows are read although the first row group is destroyed."""
    table = pa.table({"a": list(range(300))})
    content = bytearray(written(table, row_group_size=100, compression="none", use_dictionary=False))
    content[4:300] = b"\xff" * 296
    view = opened(bytes(content))
    assert rows(view, 297) == [[297], [298], [299]]


def test_cut_short_is_unreadable():
    """A file without its footer says that it is cut short."""
    with pytest.raises(UnreadableError, match="cut short"):
        opened(fixture("truncated.parquet"))


def test_encrypted_is_unreadable():
    """An encrypted file says so."""
    with pytest.raises(UnreadableError, match="encrypted"):
        opened(b"PARE" + bytes(100) + b"PARE")


def test_slice_keeps_values_exactly():
    """A slice is Parquet again with the same rows, binary cells whole."""
    view = opened(fixture("people.parquet"))
    content, media_type = view.slice(ItemRange(15, 45))
    assert media_type == PARQUET
    assert rows(opened(content)) == rows(view, 15, 45)
    assert (
        pa.parquet.read_table(io.BytesIO(content))
        == pa.parquet.read_table(io.BytesIO(fixture("people.parquet")))[15:45]
    )


def test_equal_names_stay_as_written():
    """Columns of one name keep it, in the view and in its table."""
    view = opened(written(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])))
    assert view.columns == [Column("a", "BIGINT"), Column("a", "BIGINT")]
    assert view.table().columns == ["a", "a"]


def test_long_types_are_cut():
    """The type of a struct of hundreds of fields is cut with a mark."""
    wide = pa.array([{f"field_{n}": n for n in range(300)}])
    column = (opened(written(pa.table({"wide": wide}))).columns or [])[0]
    assert column.type.startswith("STRUCT(")
    assert column.type.endswith(" chars)")
    assert len(column.type) < 230


def test_old_timestamps_do_not_wrap():
    """INT96 timestamps after the year 2262 keep their date; a note says that they are cut to microseconds."""
    moment = pa.array([253_402_214_400_000_000], pa.timestamp("us"))  # 9999-12-31 UTC
    view = opened(written(pa.table({"t": moment}), use_deprecated_int96_timestamps=True))
    assert rows(view) == [["9999-12-31T00:00:00"]]
    assert any("INT96" in note for note in view.notes)


def test_tables_hold_valid_text():
    """Text that is not UTF-8 in the file is replaced on its way to SQL, which would refuse it."""
    view = opened(written(pa.table({"t": pa.array([b"caf\xe9", b"ok"], pa.binary()).view(pa.string())})))
    assert view.table().arrow().read_all().to_pylist() == [{"t": "caf\ufffd"}, {"t": "ok"}]


def test_reading_loads_no_pandas():
    """Values of every kind are read without pandas, which takes longer to load than most blobs to read."""
    script = (
        "import sys; from blobs.reading.source import FileSource; from blobs.domain.ranges import ItemRange; "
        "from previewers.parquet import ParquetReader; view = ParquetReader().open(FileSource(sys.argv[1])); "
        "assert len(list(view.items(ItemRange(0, 50)))) == 50; view.slice(ItemRange(0, 9)); "
        "view.table().arrow().read_all(); assert 'pandas' not in sys.modules"
    )
    file = FIXTURES / "files" / "people.parquet"
    subprocess.run([sys.executable, "-c", script, str(file)], check=True, timeout=60, cwd=ROOT)
