"""Avro: rows counted by their blocks, every value exactly as written, whatever the schema says of it."""

import io
import json
import struct
from datetime import date
from decimal import Decimal
from uuid import UUID

import fastavro
import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.avro import AVRO, AvroReader, AvroView

CODECS = ["null", "deflate", "bzip2", "xz", "zstandard"]
SYNC = b"0123456789abcdef"


def record(*fields: tuple, name: str = "row", **more) -> dict:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields], **more}


def number(value: int) -> bytes:
    """A number as Avro writes it."""
    value, raw = value << 1 ^ value >> 63, bytearray()
    while value > 127:
        raw.append(value & 127 | 128)
        value >>= 7
    return bytes([*raw, value])


def container(schema, *blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    """A file with these blocks: how many rows each claims, and its bytes."""
    metadata = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec.encode()}
    content = b"Obj\x01" + number(len(metadata))
    for key, value in metadata.items():
        content += number(len(key)) + key + number(len(value)) + value
    content += number(0) + SYNC
    for rows, raw in blocks:
        content += number(rows) + number(len(raw)) + raw + SYNC
    return content


def written(schema, rows: list, codec: str = "null", **options) -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, schema, rows, codec=codec, sync_marker=SYNC, **options)
    return sink.getvalue()


def opened(content: bytes) -> AvroView:
    return AvroReader().open(BytesSource(content))


def items(view: AvroView) -> list:
    return json.loads(exact_json.text(list(view.items(ItemRange(0, view.count or 0)))), parse_float=str)


ORDERS = record(("id", "long"), ("city", ["null", "string"]), ("total", "double"))
ROWS = [{"id": n, "city": ("Oslo", "Tromsø", None)[n % 3], "total": n * 1.25} for n in range(300)]


class TestAvroReader(ReaderContract):
    reader = AvroReader()
    mutations_count = 60
    examples = {
        **{codec: Example(written(ORDERS, ROWS, codec, sync_interval=500), AVRO, 300) for codec in CODECS[:3]},
        "no rows": Example(written(ORDERS, []), AVRO, 0),
        "no record": Example(written("string", ["a", "b"]), AVRO, 2),
        "no columns": Example(container(record(), (3, b"")), AVRO, 3),
        "unions": Example(written(record(("v", ["null", "long", "string"])), [{"v": 1}, {"v": "x"}]), AVRO, 2),
    }


@pytest.mark.parametrize("codec", CODECS)
def test_any_codec(codec):
    """The same rows whatever packs the blocks, any range of them, over several blocks."""
    view = opened(written(ORDERS, ROWS, codec, sync_interval=500))
    assert view.facts()["blocks"] > 3
    assert [f"{column.name} {column.type}" for column in view.columns] == ["id BIGINT", "city VARCHAR", "total DOUBLE"]
    expected = [[row["id"], row["city"], row["total"]] for row in ROWS]
    assert list(view.items(ItemRange(0, 300))) == expected
    assert list(view.items(ItemRange(133, 135))) == expected[133:135]


def test_snappy():
    """What Spark and Hadoop write: with the checksum of what is inside behind it, which must be right."""
    import zlib

    import pyarrow as pa

    raw = b"".join(number(n) + number(1) + b"x" for n in range(50))
    packed = pa.Codec("snappy").compress(raw, asbytes=True) + struct.pack(">I", zlib.crc32(raw))
    schema = record(("n", "int"), ("s", "string"))
    assert items(opened(container(schema, (50, packed), codec="snappy")))[49] == [49, "x"]
    with pytest.raises(UnreadableError, match="checksum"):
        items(opened(container(schema, (50, packed[:-1] + b"\0"), codec="snappy")))


def test_values_are_exact():
    """Long integers, decimals of any length, times to the nanosecond and dates after any calendar keep every digit."""
    logical = {
        "n": ("long", 2**63 - 1, 2**63 - 1),
        "f": ("float", struct.pack("<f", 0.1), "0.1"),
        "nan": ("double", struct.pack("<d", float("nan")), float("nan")),
        "price": (
            {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4},
            b"\x04\xff\xfe\x1d\xc0",
            "-12.3456",
        ),
        "big": (
            {"type": "bytes", "logicalType": "decimal", "precision": 90, "scale": 2},
            number(30) + (10**70 + 1).to_bytes(30, "big"),
            "1" + "0" * 68 + ".01",
        ),
        "day": ({"type": "int", "logicalType": "date"}, number(3_000_000), "10183-09-21"),
        "at": (
            {"type": "long", "logicalType": "timestamp-micros"},
            number(1_709_115_072_000_001),
            "2024-02-28T10:11:12.000001Z",
        ),
        "nanos": (
            {"type": "long", "logicalType": "timestamp-nanos"},
            number(1_709_115_072_000_000_001),
            "2024-02-28T10:11:12.000000001Z",
        ),
        "local": (
            {"type": "long", "logicalType": "local-timestamp-millis"},
            number(1_709_115_072_500),
            "2024-02-28T10:11:12.5",
        ),
        "clock": ({"type": "long", "logicalType": "time-micros"}, number(3_600_000_001), "01:00:00.000001"),
        "id": ({"type": "fixed", "size": 16, "name": "id", "logicalType": "uuid"}, UUID(int=7).bytes, str(UUID(int=7))),
        "for": (
            {"type": "fixed", "size": 12, "name": "d", "logicalType": "duration"},
            struct.pack("<III", 14, 3, 1500),
            "P14M3DT1.5S",
        ),
        "odd": ({"type": "bytes", "logicalType": "decimal", "precision": -1}, number(1) + b"a", "a"),
        "new": ({"type": "long", "logicalType": "of tomorrow"}, number(5), 5),
    }
    raw = b"".join(number(value) if isinstance(value, int) else value for _, value, _ in logical.values())
    raw = raw.replace(b"\x04\xff\xfe\x1d\xc0", number(3) + (-123456).to_bytes(3, "big", signed=True))
    schema = record(*((name, kind) for name, (kind, _, _) in logical.items()))
    view = opened(container(schema, (1, raw)))
    (row,) = view.items(ItemRange(0, 1))
    told = dict(zip(logical, row, strict=True))
    for name, (_, _, expected) in logical.items():
        assert str(told[name]).lower() == str(expected).lower(), name


def test_what_holds_other_values():
    """Records, lists, maps and enums are values of their own, also in each other; a column has the type of all that."""
    inner = record(("x", "int"), ("tags", {"type": "array", "items": "string"}), name="inner")
    colour = {"type": "enum", "name": "colour", "symbols": ["RED", "GREEN"]}
    schema = record(
        ("at", inner), ("by", {"type": "map", "values": "long"}), ("c", colour), ("again", ["null", "inner"])
    )
    row = {"at": {"x": 1, "tags": ["a"]}, "by": {"k": 2}, "c": "GREEN", "again": {"x": 2, "tags": []}}
    view = opened(written(schema, [row, {**row, "again": None}]))
    assert items(view) == [[row["at"], row["by"], "GREEN", row["again"]], [row["at"], row["by"], "GREEN", None]]
    assert [column.type for column in view.columns] == [
        "STRUCT(x INTEGER, tags VARCHAR[])",
        "MAP(VARCHAR, BIGINT)",
        "VARCHAR",
        "STRUCT(x INTEGER, tags VARCHAR[])",
    ]


def test_unions_are_the_value_of_their_branch():
    """Of several types, or of types that differ only in their logical type, each value is told by its own branch."""
    day = {"type": "int", "logicalType": "date"}
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    pair = record(("a", "int"), name="pair")
    schema = record(("v", ["null", day, moment, "string", "bytes", pair, {"type": "array", "items": "int"}]))
    parts = [
        number(0),
        number(1) + number(19_781),
        number(2) + number(1_709_115_072_000),
        number(3) + number(2) + b"hi",
        number(4) + number(1) + b"\xff",
        number(5) + number(4),
        number(6) + number(2) + number(1) + number(2) + number(0),
    ]
    view = opened(container(schema, (7, b"".join(parts))))
    expected = [None, str(date(2024, 2, 28)), "2024-02-28T10:11:12Z", "hi", "\\xFF", {"a": 4}, [1, 2]]
    assert [row[0] for row in items(view)] == expected
    assert [column.type for column in view.columns] == ["JSON"]


def test_types_inside_of_themselves():
    """A list of records that hold the next one is told as deep as it is."""
    node = record(("n", "int"), ("next", ["null", "node"]), name="node", namespace="a.b")
    node["fields"][1]["type"] = ["null", "node"]
    chain = {"n": 1, "next": {"n": 2, "next": {"n": 3, "next": None}}}
    view = opened(written(node, [chain]))
    assert items(view) == [[1, {"n": 2, "next": {"n": 3, "next": None}}]]


def test_names_that_the_library_refuses():
    """Files of other programs have names with dashes and spaces, and symbols of all kinds."""
    colour = {"type": "enum", "name": "c-d", "symbols": ["light-red", "2"]}
    schema = record(("first name", "string"), ("col-our", colour), name="my-record")
    view = opened(container(schema, (1, number(2) + b"Bo" + number(1))))
    assert [column.name for column in view.columns] == ["first name", "col-our"]
    assert items(view) == [["Bo", "2"]]


def test_cut_and_damaged():
    """Whole blocks before the cut are read, with a note; a header or schema that makes no sense is unreadable."""
    content = written(ORDERS, ROWS, sync_interval=500)
    view = opened(content[: len(content) // 2])
    assert 0 < view.count < 300
    assert next(iter(view.items(ItemRange(view.count - 1, view.count))))[0] == view.count - 1
    assert any("cut short" in note for note in view.notes)
    for broken in (content[:40], b"Obj\x01" + bytes(50), container({"type": "record"}), container("no.such")):
        with pytest.raises(UnreadableError):
            opened(broken)


def test_counts_that_lie():
    """A block that holds fewer or more rows than it says is damaged; one that claims what cannot be is left out."""
    two = number(1) + number(2)
    for claimed in (1, 3):
        with pytest.raises(UnreadableError, match="damaged"):
            items(opened(container(record(("n", "int")), (claimed, two))))
    view = opened(container(record(), (3, b""), (2**60, b"")))
    assert view.count == 3
    assert any("damaged" in note for note in view.notes)


def test_text_that_begins_alike_is_no_avro():
    """The three letters and a byte are not enough."""
    assert AvroReader().sniff(take_sample(BytesSource(b"Obj\x01 of desire\n" * 99), None)).level < 100
    assert AvroReader().sniff(take_sample(BytesSource(b"Object: a\n"), None)).level == 0


def test_from_attaching_to_answers(chat):
    """Read, search, SQL and Python see the same values."""
    price = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}
    schema = record(("id", "long"), ("price", price), ("any", ["null", "string", "long"]))
    rows = [{"id": 2**60 + n, "price": Decimal(f"{10**20 + n}.25"), "any": ["x", n][n % 2]} for n in range(4)]
    handle = chat.attach(written(schema, rows, "deflate"))
    assert (handle["type"], handle["items"]) == (AVRO, 4)
    assert handle["preview"]["columns"] == ["id BIGINT", "price DECIMAL(30,2)", "any JSON"]
    read = chat.call("blob_read", {"blob": "blob1", "start": 3})
    assert [str(cell) for cell in read["data"]["items"][0]] == ["1152921504606846979", "100000000000000000003.25", "3"]
    found = chat.call("blob_search", {"blob": "blob1", "pattern": "00003.25"})["data"]
    assert [match["item"] for match in found["matches"]] == [3]
    code = 'select sum(price), max(id), any_value("any") filter (id % 4 = 2) from blob1'
    sql = chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": code})["data"]["rows"]
    assert [str(cell) for cell in sql[0]] == ["400000000000000000007.00", "1152921504606846979", "x"]
    code = "[blob1.rows()[3]['price'] + 1, blob1.df()['id'].max(), len(blob1.arrow())]"
    result = chat.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["data"]["result"]
    assert [str(each) for each in result] == ["100000000000000000004.25", "1152921504606846979", "4"]
