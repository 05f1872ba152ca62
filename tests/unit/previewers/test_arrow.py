"""Arrow IPC: files and streams give the same rows; nothing is touched before it is validated."""

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.arrow_ipc import FILE_TYPE, STREAM_TYPE, ArrowReader, ArrowView
from previewers.arrow_values import distinct_names, json_values
from previewers.parquet import ParquetReader
from tests.material import fixture


def written(table: pa.Table, *, is_file: bool = True, rows: int = 3, **options: Any) -> bytes:
    sink = io.BytesIO()
    opening = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with opening(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def opened(content: bytes) -> ArrowView:
    return ArrowReader().open(BytesSource(content))


WORDS = pa.table({"w": pa.array(["a", "b", "a", None, "c"]).dictionary_encode(), "n": [1, 2, 3, 4, 5]})


class TestArrowReader(ReaderContract):
    reader = ArrowReader()
    examples = {
        "file": Example(fixture("people.arrow"), FILE_TYPE, 50),
        "stream": Example(fixture("people.arrows"), STREAM_TYPE, 50),
        "compressed file": Example(written(WORDS, compression="zstd"), FILE_TYPE, 5),
        "stream of words": Example(written(WORDS, is_file=False), STREAM_TYPE, 5),
        "no rows": Example(written(WORDS[:0], is_file=False), STREAM_TYPE, 0),
    }


def test_reads_what_parquet_reads():
    """The same rows give the same items whatever they are stored in."""
    span = ItemRange(0, 50)
    parquet = list(ParquetReader().open(BytesSource(fixture("people.parquet"))).items(span))
    assert list(opened(fixture("people.arrow")).items(span)) == parquet
    assert list(opened(fixture("people.arrows")).items(span)) == parquet


def test_cut_stream_is_unreadable():
    """A stream that ends inside of a message is not taken for a shorter one."""
    content = fixture("people.arrows")
    with pytest.raises(UnreadableError):
        opened(content[: len(content) // 2])


def test_slice_keeps_values_exactly():
    """A slice is a stream of the same columns with exactly these rows."""
    view = opened(written(WORDS))
    content, media_type = view.slice(ItemRange(2, 5))
    assert media_type == STREAM_TYPE
    assert list(opened(content).items(ItemRange(0, 9))) == [["a", 3], [None, 4], ["c", 5]]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([[1], None, [2, 3]], pa.large_list(pa.int8())), [[1], None, [2, 3]]),
        (pa.array([[1], [2, 3], []], pa.list_view(pa.int8())), [[1], [2, 3], []]),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, 4]]),
        (pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())])), [{"a": 1}, None]),
        (pa.array([[(1, "x")], None], pa.map_(pa.int8(), pa.string())), [[{"key": 1, "value": "x"}], None]),
        (
            pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int8())),
            [[{"key": "k", "value": 1}, {"key": "k", "value": 2}]],
        ),
        (pa.array([(1, 2, 3_000_000_000)], pa.month_day_nano_interval()), ["P1M2DT3S"]),
        (pa.array([-1_500], pa.duration("ms")), ["PT-1.5S"]),
        (pa.array([3_723_000_000_001], pa.time64("ns")), ["01:02:03.000000001"]),
        (pa.array([60], pa.time32("s")), ["00:01:00"]),
        (pa.array([86_400_000], pa.date64()), ["1970-01-02"]),
        (pa.array([2**60], pa.timestamp("s")), [f"{2**60} s"]),
        (pa.array([None, None], pa.null()), [None, None]),
        (pa.array([True, None]), [True, None]),
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["x", None]), ["x", "x", None]),
        (pa.array([bytes(16)], pa.binary(16)).cast(pa.uuid()), ["00000000-0000-0000-0000-000000000000"]),
        (
            pa.UnionArray.from_dense(
                pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([7, 8]), pa.array(["x"])]
            ),
            [7, "x", 8],
        ),
        (pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([7, 8]), pa.array(["x", "y"])]), [7, "y"]),
    ],
)
def test_every_type_has_its_json(array, expected):
    """Each Arrow type has one exact form in JSON, also in the middle of a larger array."""
    assert json_values(array) == expected
    array.validate(full=True)
    assert json_values(array.slice(1)) == expected[1:]


def test_json_columns_are_json():
    """A column of JSON text is shown as the values that it holds, with their digits."""
    values = json_values(pa.array(['{"a": 1.10}', "not json"], pa.string()).cast(pa.json_()))
    assert exact_json.text(values) == '[{"a":1.10},"not json"]'


def test_whole_decimals_are_integers():
    """Decimals without decimals, also those of negative scale, are integers of any length."""
    assert json_values(pa.array([Decimal("9" * 38), None], pa.decimal128(38, 0))) == [10**38 - 1, None]
    assert json_values(pa.array([Decimal("1200")], pa.decimal128(5, -2))) == [1200]


def test_text_that_is_not_utf8_is_shown():
    """A text cell with bytes that are no UTF-8 shows them replaced instead of failing the batch."""
    array = pa.array([b"caf\xe9", b"ok"], pa.binary()).view(pa.string())
    assert json_values(array) == ["caf\ufffd", "ok"]


def test_distinct_names():
    """Names that repeat are numbered past every name that is taken."""
    assert distinct_names(["a", "b", "a", "a_1", "a"]) == ["a", "b", "a_2", "a_1", "a_3"]
