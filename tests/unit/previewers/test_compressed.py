"""gzip, zstd, xz, bzip2: read as what is inside, all streams of it, as far as it goes; bombs are refused."""

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zlib

import pytest
from backports import zstd

from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.inside import INSIDE_BYTES_MAX
from blobs.reading.opening import take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.compressed import CompressedReader
from tests.material import fixture, truth

ORDERS = b"id,city\n1,Oslo\n2,Bergen\n3,Troms\xc3\xb8\n"
ROWS = [["1", "Oslo"], ["2", "Bergen"], ["3", "Tromsø"]]
TYPES = {
    "gzip": "application/gzip",
    "zstd": "application/zstd",
    "xz": "application/x-xz",
    "bzip2": "application/x-bzip2",
}
COMPRESS = {
    "gzip": lambda content: gzip.compress(content, mtime=0),
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
KINDS = pytest.mark.parametrize("kind", TYPES)


def tarred(**files: bytes) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return sink.getvalue()


def named_gzip(name: str, content: bytes) -> bytes:
    sink = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=sink, mtime=0) as file:
        file.write(content)
    return sink.getvalue()


def opened(content: bytes):
    return CompressedReader().open(BytesSource(content))


def items(view) -> list:
    return list(view.items(ItemRange(0, view.count or 0)))


class TestCompressedReader(ReaderContract):
    reader = CompressedReader()
    examples = {
        **{kind: Example(COMPRESS[kind](ORDERS), media_type, 3) for kind, media_type in TYPES.items()},
        "several streams": Example(fixture("two-streams.gz"), "application/gzip", 30),
        "several frames": Example(fixture("two-frames.zst"), "application/zstd", 30),
        "an archive": Example(gzip.compress(tarred(a=b"one\n", b=ORDERS), mtime=0), "application/gzip", 2),
        "binary inside": Example(gzip.compress(b"\x00\x01\x02" * 99, mtime=0), "application/gzip", None),
    }


@pytest.mark.parametrize("file", ["orders.csv.gz", "orders.csv.zst", "orders.csv.xz", "orders.csv.bz2"])
def test_the_fixtures_are_as_known(file):
    """The table inside is as it was made, with its columns."""
    view, known = opened(fixture(file)), truth(file)
    assert [column.name for column in view.columns] == known["columns"]
    assert (view.count, items(view)[0], items(view)[29]) == (30, known["item_0"], known["item_29"])


@KINDS
def test_what_is_inside_is_told_by_its_bytes(kind):
    """Tables, documents, records and text, without any name; a note says what was unpacked."""
    assert items(opened(COMPRESS[kind](ORDERS))) == ROWS
    document = {"results": [{"a": 1}, {"a": 2}], "n": 12345678901234567890123}
    view = opened(COMPRESS[kind](json.dumps(document).encode()))
    assert (view.unit, view.count, view.part("results").count) == ("entries", 2, 2)
    assert items(opened(COMPRESS[kind](b'{"a":1}\n{"a":2}\n'))) == [{"a": 1}, {"a": 2}]
    view = opened(COMPRESS[kind](b"one\ntwo\n"))
    assert (view.unit, items(view)) == ("lines", ["one", "two"])
    assert view.notes == [f"{kind}-compressed text/plain, 8 bytes unpacked"]
    assert opened(COMPRESS[kind](b"")).count in (0, None)


@KINDS
def test_streams_one_after_the_other_are_one(kind):
    """Wherever they were split, in the middle of a row or of a character."""
    for cut in (1, 13, len(ORDERS) - 2):
        content = COMPRESS[kind](ORDERS[:cut]) + COMPRESS[kind](b"") + COMPRESS[kind](ORDERS[cut:])
        view = opened(content)
        assert items(view) == ROWS
        assert len(view.notes) == 1


def test_padding_and_skippable_frames_are_no_content():
    """Zeros after gzip and between xz streams, and frames of zstd that carry something else."""
    assert items(opened(gzip.compress(ORDERS) + bytes(1000))) == ROWS
    assert items(opened(lzma.compress(ORDERS[:9]) + bytes(8) + lzma.compress(ORDERS[9:]))) == ROWS
    skipped = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    view = opened(skipped + zstd.compress(ORDERS[:9]) + skipped + zstd.compress(ORDERS[9:]) + skipped)
    assert (items(view), len(view.notes)) == (ROWS, 1)


@KINDS
def test_bytes_after_the_end_are_told(kind):
    """What follows the last stream is left out, and a note says how much."""
    view = opened(COMPRESS[kind](ORDERS) + b"no stream")
    assert items(view) == ROWS
    assert "9 bytes after the end of the compressed data are left out" in view.notes


@KINDS
def test_cut_short(kind):
    """What comes before the cut is read, and a note says that its end is missing; of nothing, nothing is read."""
    lines = [f"{number} {zlib.crc32(b'%d' % number)}" for number in range(60_000)]
    whole = "".join(line + "\n" for line in lines).encode()
    content = bz2.compress(whole, 1) if kind == "bzip2" else COMPRESS[kind](whole)
    view = opened(content[: len(content) * 2 // 3])
    assert any("cut short" in note for note in view.notes)
    assert 0 < view.count < 60_000
    assert items(view)[:-1] == lines[: view.count - 1]
    with pytest.raises(UnreadableError, match="cut short"):
        opened(content[:20])


def test_damage_is_told():
    """A checksum that is wrong, or bytes that make no sense: what comes before, with a note; or nothing."""
    content = bytearray(gzip.compress(b"".join(b"line %d\n" % number for number in range(9000)), mtime=0))
    content[-8] ^= 1
    view = opened(bytes(content))
    assert view.count == 9000
    assert any("damaged" in note for note in view.notes)
    content = bytearray(gzip.compress(b"".join(b"line %d\n" % zlib.crc32(b"%d" % n) for n in range(90_000)), mtime=0))
    content[len(content) // 2] ^= 0xFF
    view = opened(bytes(content))
    assert any("damaged" in note for note in view.notes)
    assert items(view)[:30_000] == [f"line {zlib.crc32(b'%d' % n)}" for n in range(30_000)]
    content[10] = 0xFF
    with pytest.raises(UnreadableError, match="damaged"):
        opened(bytes(content))


def test_the_name_inside_declares_what_bytes_leave_open():
    """gzip may hold the name of the file; it decides where the bytes allow several kinds, and never against them."""
    assert opened(named_gzip("notes.csv", b"a\nb\n")).unit == "rows"
    assert opened(gzip.compress(b"a\nb\n")).unit == "lines"
    assert opened(named_gzip("notes.csv", b'{"a":1}\n{"a":2}\n')).count in (1, 2)
    assert opened(named_gzip("x.txt", tarred(a=b"1\n"))).unit == "members"
    packed = {"one.ndjson.zst": zstd.compress(b'{"a":1}\n'), "one.json.xz": lzma.compress(b'{"a":1}\n')}
    view = opened(gzip.compress(tarred(**packed)))
    assert [view.part(name).unit for name in packed] == ["rows", "entries"]


def test_nested():
    """An archive, or compressed again: members by part, through every level, up to a few."""
    view = opened(gzip.compress(tarred(**{"d/orders.csv": ORDERS, "more.json.gz": gzip.compress(b'[{"a":1}]')})))
    assert (view.unit, view.count) == ("members", 2)
    assert items(view.part("d/orders.csv")) == ROWS
    assert items(view.part("more.json.gz")) == [{"a": 1}]
    with pytest.raises(ToolInputError, match=r"no part 'orders\.csv'"):
        view.part("orders.csv")
    content = ORDERS
    for kind in ("gzip", "xz", "zstd"):
        content = COMPRESS[kind](content)
    assert items(opened(content)) == ROWS
    for _ in range(3):
        content = gzip.compress(content)
    assert opened(content).unit != "rows"


@KINDS
def test_bombs_are_refused_by_ratio(kind):
    """What unpacks to hundreds of times its size is refused long before it is unpacked, with what to do instead."""
    content = COMPRESS[kind](bytes(70 << 20))
    with pytest.raises(UnreadableError, match=r"decompression bomb.*blob_code.*python") as refused:
        opened(content)
    assert refused.value.code == "bomb"


def test_bombs_are_refused_by_size(monkeypatch):
    """More than what may be held in memory is refused however little it was packed; the message says the limit."""
    assert INSIDE_BYTES_MAX == 256 << 20
    monkeypatch.setattr("blobs.reading.inside.INSIDE_BYTES_MAX", 1 << 20)
    noise = zlib.crc32
    content = gzip.compress(b"".join(b"%d\n" % noise(b"%d" % number) for number in range(200_000)), 1)
    with pytest.raises(UnreadableError, match=r"more than the 1 MiB .*python") as refused:
        opened(content)
    assert refused.value.code == "too_large_inside"


def test_signatures_need_sense():
    """Text that begins like a signature is text."""
    for content in (b"BZh is how bzip2 begins\n", b"\x1f\x8bx", b"BZh9", b"\x1f\x8b\x08" + b"\xff" * 40):
        assert CompressedReader().sniff(take_sample(BytesSource(content), None)).level == 0


@KINDS
def test_the_bytes_say_it_whatever_was_declared(kind):
    """A wrong type, a type of what is inside, or none: compressed is what the bytes are."""
    for declared in (None, "text/csv", "application/json", "application/octet-stream"):
        choice = Registry().choose(take_sample(BytesSource(COMPRESS[kind](ORDERS)), declared))[0]
        assert (choice.plug_in.name, choice.type) == ("compressed", TYPES[kind])


@KINDS
def test_from_attaching_to_answers(chat, kind):
    """What every tool sees of a compressed table is what it sees of the table."""
    handle = chat.attach(COMPRESS[kind](ORDERS))
    chat.attach(ORDERS)
    assert (handle["type"], handle["items"]) == (TYPES[kind], 3)
    assert handle["preview"]["columns"] == ["id BIGINT", "city VARCHAR"]
    calls = [
        ("blob_read", {"start": 1}),
        ("blob_read", {"unit": "lines"}),
        ("blob_search", {"pattern": "o", "ignore_case": True}),
        ("blob_code", {"language": "sql", "code": "select sum(id), max(city) from BLOB"}),
        ("blob_code", {"language": "python", "code": "[BLOB.rows(), BLOB.text(), len(BLOB.df())]"}),
    ]
    for tool, arguments in calls:
        packed, plain = (
            chat.call(tool, {**arguments, "blob": name, **_code(arguments, name)})["data"]
            for name in ("blob1", "blob2")
        )
        for told in (packed, plain):
            for key in ("blob", "printed", "searched"):
                told.pop(key, None)
        assert packed == plain


def _code(arguments: dict, name: str) -> dict:
    return {"code": arguments["code"].replace("BLOB", name)} if "code" in arguments else {}


def test_a_document_inside_is_a_document_in_python(chat):
    """`.json()` gives the value, not a list of entries; a Parquet file inside is a table for SQL and frames."""
    chat.attach(zstd.compress(b'{"a": [1, 2.50], "n": 12345678901234567890}'))
    chat.attach(gzip.compress(fixture("people.parquet")))
    code = {"blob": "blob1", "language": "python", "code": "blob1.json()['n'] + 1"}
    assert chat.call("blob_code", code)["data"]["result"] == 12345678901234567891
    rows = chat.call("blob_read", {"blob": "blob2"})["data"]["total"]
    code = {"blob": "blob2", "language": "sql", "code": "select count(*) from blob2"}
    assert chat.call("blob_code", code)["data"]["rows"] == [[rows]]
    code = {"blob": "blob2", "language": "python", "code": "len(blob2.df())"}
    assert chat.call("blob_code", code)["data"]["result"] == rows


def test_a_bomb_is_told_to_the_model(chat):
    """It stays stored; its handle and answers say why it is not unpacked."""
    handle = chat.attach(gzip.compress(bytes(70 << 20)))
    assert any("bomb" in note for note in handle["preview"]["notes"])
    refused = chat.call("blob_read", {"blob": "blob1"})
    assert not refused["ok"]
    assert "bytes" in refused["message"]
