"""ORC: rows counted by the footer, read by stripe, with the types that they have."""

import io
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.orc
import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.orc import ORC, OrcReader, OrcView


def written(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pa.orc.write_table(table, sink, **options)
    return sink.getvalue()


def opened(content: bytes) -> OrcView:
    return OrcReader().open(BytesSource(content))


VALUES = pa.table(
    {
        "id": pa.array([2**62, None, -1], pa.int64()),
        "price": pa.array([Decimal("0.10"), None, Decimal("-12345678901234567890.05")], pa.decimal128(30, 2)),
        "day": pa.array([date(1, 1, 1), None, date(9999, 12, 31)]),
        "at": pa.array([datetime(1969, 12, 31, 23, 59, 59, 500_000), None, datetime(2024, 2, 28)], pa.timestamp("ns")),
        "name": pa.array(["Tromsø 😀", None, ""]),
        "raw": pa.array([b"a\xff", None, b""]),
        "tags": pa.array([["x", None], None, []], pa.list_(pa.string())),
        "place": pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int32())])),
        "by": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "score": pa.array([0.1, None, float("nan")], pa.float32()),
    }
)
MANY = pa.table({"n": list(range(20_000)), "word": [f"word {n}" * 9 for n in range(20_000)]})
STRIPES = written(MANY, stripe_size=4096, compression="zlib")


class TestOrcReader(ReaderContract):
    reader = OrcReader()
    mutations_count = 60
    examples = {
        "every kind of value": Example(written(VALUES), ORC, 3),
        "zstd": Example(written(VALUES, compression="zstd"), ORC, 3),
        "snappy": Example(written(VALUES.select(["id", "name"]), compression="snappy"), ORC, 3),
        "no rows": Example(written(VALUES[:0]), ORC, 0),
        "several stripes": Example(written(MANY[:4000], stripe_size=4096, compression="lz4"), ORC, 4000),
    }


def test_values_are_exact():
    """Every digit and character is there, null is told apart from what is empty."""
    view = opened(written(VALUES))
    rows = [exact_json.text(row) for row in view.items(ItemRange(0, 3))]
    assert rows[0] == (
        '[4611686018427387904,0.10,"0001-01-01","1969-12-31T23:59:59.5","Tromsø 😀","a\\\\xFF",'
        '["x",null],{"x":1},{"k":1},0.1]'
    )
    assert rows[1] == "[null,null,null,null,null,null,null,null,null,null]"
    assert rows[2].startswith('[-1,-12345678901234567890.05,"9999-12-31","2024-02-28T00:00:00","","",[],{"x":null},{}')
    assert [column.type for column in view.columns][:3] == ["BIGINT", "DECIMAL(30,2)", "DATE"]


def test_any_rows_of_many_stripes():
    """Ranges inside, across and at the ends of stripes are the same rows."""
    view = opened(STRIPES)
    assert view.facts()["stripes"] > 5
    assert view.count == 20_000
    for start, stop in ((0, 3), (1022, 1027), (19_998, 20_000), (9_000, 12_000)):
        rows = list(opened(STRIPES).items(ItemRange(start, stop)))
        assert rows == [[n, f"word {n}" * 9] for n in range(start, stop)]


def test_what_is_cut_or_only_begins_alike():
    """Without its footer it is unreadable; text that begins with the letters is text."""
    for size in (len(STRIPES) // 2, len(STRIPES) - 1, 50):
        with pytest.raises(UnreadableError):
            opened(STRIPES[:size])
    text = b"ORC is a columnar format\n"
    assert OrcReader().sniff(take_sample(BytesSource(text), None)).level == 0
    choice = Registry().choose(take_sample(BytesSource(STRIPES), "text/csv"))[0]
    assert (choice.plug_in.name, choice.type) == ("orc", ORC)


def test_from_attaching_to_answers(chat):
    """Read, search, SQL and Python see the same values."""
    handle = chat.attach(STRIPES)
    assert (handle["type"], handle["items"]) == (ORC, 20_000)
    assert handle["preview"]["columns"] == ["n BIGINT", "word VARCHAR"]
    data = chat.call("blob_read", {"blob": "blob1", "start": -1, "columns": ["n"]})["data"]
    assert data["items"] == [[19_999]]
    found = chat.call("blob_search", {"blob": "blob1", "pattern": "word 17345word"})["data"]
    assert [match["item"] for match in found["matches"]] == [17_345]
    code = "select count(*), sum(n) from blob1"
    sql = chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": code})["data"]
    assert sql["rows"] == [[20_000, 199_990_000]]
    code = "[int(blob1.df()['n'].sum()), blob1.rows()[-1]['n']]"
    python = chat.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["data"]
    assert python["result"] == [199_990_000, 19_999]
