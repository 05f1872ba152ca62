"""Zip: members listed as they are stored, each file read by its name as what it is, bombs refused, nothing on disk."""

import io
import struct
import zipfile
import zlib

import pytest

from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.zip_archive import ZipReader, ZipView
from tests.material import fixture, truth

ZIP = "application/zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ORDERS = b"id,city\n1,Oslo\n2,Bergen\n3,Troms\xc3\xb8\n"


def member(name: str, content: bytes = b"", **fields) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name, (2024, 2, 28, 10, 11, 12))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def zipped(*members: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for info, content in members:
            archive.writestr(info, content)
    return sink.getvalue()


def named(*names: bytes) -> bytes:
    """An archive whose names are these bytes, as an old program would write them: without the UTF-8 flag."""
    stand_ins = [f"{place:03}".ljust(len(name), "x") for place, name in enumerate(names)]
    content = zipped(*(member(name) for name in stand_ins))
    for stand_in, name in zip(stand_ins, names, strict=True):
        content = content.replace(stand_in.encode(), name)
    return content


def opened(content: bytes) -> ZipView:
    return ZipReader().open(BytesSource(content))


def names(view: ZipView) -> list[str]:
    return [row[0] for row in view.items(ItemRange(0, view.count or 0))]


def rows(view, part: str) -> list:
    inside = view.part(part)
    return list(inside.items(ItemRange(0, inside.count or 0)))


SEVERAL = zipped(
    member("data/", external_attr=0o40755 << 16, compress_type=zipfile.ZIP_STORED),
    member("data/orders.csv", ORDERS),
    member("notes.txt", b"one\ntwo\n", compress_type=zipfile.ZIP_STORED),
    member("entries.json", b'[{"a":1},{"a":2}]', compress_type=zipfile.ZIP_BZIP2),
    member("more.txt", b"xyz\n" * 20, compress_type=zipfile.ZIP_LZMA),
    member("latest", b"notes.txt", external_attr=0o120777 << 16),
)


class TestZipReader(ReaderContract):
    reader = ZipReader()
    examples = {
        "a fixture": Example(fixture("members.zip"), ZIP, 5),
        "every kind of member": Example(SEVERAL, ZIP, 6),
        "no members": Example(zipped(), ZIP, 0),
        "a document": Example(zipped(member("[Content_Types].xml"), member("word/document.xml", b"<w/>")), DOCX, 2),
        "Japanese names": Example(named("日本語.txt".encode("cp932"), "テスト.csv".encode("cp932")), ZIP, 2),
    }


def test_members_are_rows():
    """A row has the name as stored, both sizes, the time as stored and the kind; folders and links are members too."""
    view = opened(SEVERAL)
    assert [column.name for column in view.columns] == ["name", "size", "compressed_size", "modified", "kind"]
    listed = list(view.items(ItemRange(0, 6)))
    assert listed[0] == ["data/", 0, 0, "2024-02-28T10:11:12", "folder"]
    assert listed[1][:2] == ["data/orders.csv", len(ORDERS)]
    assert listed[2] == ["notes.txt", 8, 8, "2024-02-28T10:11:12", "file"]
    assert listed[5][4] == "link"
    assert view.facts() == {"files": 4, "folders": 1, "links": 1, "bytes_inside": len(ORDERS) + 8 + 17 + 80 + 9}
    assert [part.name for part in view.parts] == ["data/orders.csv", "notes.txt", "entries.json", "more.txt"]


def test_the_fixture_is_as_known():
    """What is known of the fixture from how it was made comes out."""
    view = opened(fixture("members.zip"))
    known = truth("members.zip")
    assert names(view) == known["names"]
    orders = rows(view, "orders.csv")
    assert (len(orders), orders[: len(known["orders"])]) == (30, known["orders"])


def test_a_file_is_read_as_what_it_is():
    """A part is opened by its bytes: a table as rows, a document as entries, text as lines, whatever packs it."""
    view = opened(SEVERAL)
    assert rows(view, "data/orders.csv") == [["1", "Oslo"], ["2", "Bergen"], ["3", "Tromsø"]]
    assert rows(view, "notes.txt") == ["one", "two"]
    assert rows(view, "entries.json") == [{"a": 1}, {"a": 2}]
    assert rows(view, "more.txt") == ["xyz"] * 20


def test_zstd_members_are_read():
    """Method 93, which newer archivers write."""
    from backports import zstd

    packed = zstd.compress(b"hello\n" * 9)
    content = bytearray(zipped(member("a.txt", packed, compress_type=zipfile.ZIP_STORED)))
    central = content.find(b"PK\x01\x02")
    for method_at, checksum_at in ((8, 14), (central + 10, central + 16)):
        content[method_at : method_at + 2] = (93).to_bytes(2, "little")
        content[checksum_at : checksum_at + 4] = zlib.crc32(b"hello\n" * 9).to_bytes(4, "little")
        content[checksum_at + 8 : checksum_at + 12] = (54).to_bytes(4, "little")
    assert rows(opened(bytes(content)), "a.txt") == ["hello"] * 9


def test_what_is_no_file_has_no_part():
    """A folder, a link and an unknown name are refused with a name that works; a link says where it points."""
    view = opened(SEVERAL)
    with pytest.raises(ToolInputError, match="is a folder"):
        view.part("data")
    with pytest.raises(ToolInputError, match=r"a link to 'notes\.txt'"):
        view.part("latest")
    with pytest.raises(ToolInputError) as refused:
        view.part("order.csv")
    assert "data/orders.csv" in refused.value.hint


def test_archives_inside_are_read_by_both_names():
    """A member of an archive in an archive is reached by both names with a slash between them."""
    view = opened(zipped(member("in/ner.zip", SEVERAL)))
    assert rows(view, "in/ner.zip/data/orders.csv")[0] == ["1", "Oslo"]
    assert view.part("in/ner.zip").count == 6
    with pytest.raises(ToolInputError):
        view.part("in/ner.zip/nothing")


@pytest.mark.parametrize(
    ("codec", "written", "label"),
    [
        ("cp437", ["Müller.txt", "café/größe.csv"], "code page 437"),
        ("cp932", ["日本語.txt", "テスト.csv"], "Shift-JIS"),
        ("gb18030", ["报告.txt", "测试文件.csv"], "GBK"),
        ("cp949", ["한글 파일.txt", "보고서.csv", "회의록.txt"], "EUC-KR"),
        ("cp866", ["Привет.txt", "отчёт за год.csv"], "code page 866"),
    ],
)
def test_names_in_legacy_encodings(codec, written, label):
    """Names that do not say their encoding are read in the likeliest code page, and a note says which."""
    view = opened(named(*(name.encode(codec) for name in written)))
    assert names(view) == written
    assert any(label in note for note in view.notes)
    assert view.part(written[0]).count == 0


def test_names_in_utf8():
    """The flag says UTF-8; without the flag, names that are UTF-8 are taken for it."""
    assert names(opened(zipped(member("Tromsø 😀.txt")))) == ["Tromsø 😀.txt"]
    view = opened(named("Tromsø 😀.txt".encode()))
    assert names(view) == ["Tromsø 😀.txt"]
    assert view.notes == []


def test_the_unicode_field_names_a_member():
    """The UTF-8 name in the extra field counts where its checksum is that of the plain name, else the plain one."""
    for raw, expected in ((b"plain", "Ærø"), (b"other", "plain")):
        field = b"\x01" + zlib.crc32(raw).to_bytes(4, "little") + "Ærø".encode()
        extra = b"up" + len(field).to_bytes(2, "little") + field
        assert names(opened(zipped(member("plain", extra=extra)))) == [expected]


def test_names_that_lead_outside_are_noted():
    """Names that are absolute or climb are listed as they are, with a note; they can be read like any other."""
    view = opened(zipped(member("../../etc/passwd", b"root\n"), member("/abs"), member("C:\\x"), member("a..b")))
    assert names(view) == ["../../etc/passwd", "/abs", "C:\\x", "a..b"]
    assert any(note.startswith("3 names lead out of the folder") for note in view.notes)
    assert rows(view, "../../etc/passwd") == ["root"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_equal_names_are_told_apart():
    """Of files of one name the first has it, the others have a number after it that no other name has."""
    view = opened(
        zipped(member("a", b"first\n"), member("a", b"second\n"), member("a (2)", b"itself\n"), member("a", b"third\n"))
    )
    assert names(view) == ["a", "a", "a (2)", "a"]
    assert rows(view, "a") == ["first"]
    assert rows(view, "a (2)") == ["itself"]
    assert rows(view, "a (3)") == ["second"]
    assert rows(view, "a (4)") == ["third"]
    assert any("2 files have the name of an earlier one" in note for note in view.notes)


def test_encrypted_members_are_told():
    """They are listed; a note counts them, and reading one says why not."""
    content = bytearray(zipped(member("secret.txt", b"x"), member("open.txt", b"y\n")))
    central = content.find(b"PK\x01\x02")
    content[6] |= 1
    content[central + 8] |= 1
    view = opened(bytes(content))
    assert view.notes == ["encrypted: 1 of 2 members can be listed, but not read"]
    with pytest.raises(UnreadableError, match="encrypted"):
        view.part("secret.txt")
    assert [part.name for part in view.parts] == ["open.txt"]
    assert rows(view, "open.txt") == ["y"]


@pytest.mark.parametrize("streamed", [False, True])
def test_cut_short(streamed):
    """Without the directory at the end the members found are listed, with a note; the last may be incomplete."""
    sink = io.BytesIO()
    sink.seekable = lambda: not streamed  # sizes then come after the bytes
    with zipfile.ZipFile(sink, "w") as archive:
        for number in range(3):
            archive.writestr(*member(f"{number}.txt", "".join(f"{number} {n * n}\n" for n in range(1000)).encode()))
    content = sink.getvalue()
    assert len(rows(opened(content), "2.txt")) == 1000
    view = opened(content[: content.find(b"PK\x01\x02") - 60])
    assert names(view) == ["0.txt", "1.txt", "2.txt"]
    assert any("cut short" in note for note in view.notes)
    assert rows(view, "1.txt") == [f"1 {n * n}" for n in range(1000)]
    assert len(rows(opened(content[: content.find(b"PK\x01\x02")]), "2.txt")) == 1000
    last = view.part("2.txt")
    assert any("cut short" in note for note in last.notes)


@pytest.mark.parametrize("before", [b"#!/bin/sh\nexec unzip $0\n", b"MZ" + bytes(70_000), b"id,n\n1,2\n" * 9000])
def test_bytes_before_the_archive(before):
    """An archive behind a program or anything else is known by its end, read from its directory, and told."""
    content = before + SEVERAL
    choice = Registry().choose(take_sample(BytesSource(content), None))[0]
    assert (choice.plug_in.name, choice.type) == ("zip", ZIP)
    view = opened(content)
    assert view.count == 6
    assert rows(view, "notes.txt") == ["one", "two"]
    assert view.notes == [f"the archive begins after {len(before)} other bytes"]


def test_what_only_ends_like_an_archive_is_none():
    """The record at the end must fit the bytes before it; a picture with an archive behind it is a picture."""
    for content in (b"words\n" + b"PK\x05\x06" + bytes(18), b"words\n" + SEVERAL[-22:], SEVERAL[-22:-3]):
        assert Registry().choose(take_sample(BytesSource(b"hello " + content), None))[0].plug_in.name != "zip"
    picture = fixture("halves.png") + SEVERAL
    assert Registry().choose(take_sample(BytesSource(picture), None))[0].plug_in.name == "image"


def test_members_that_overlap_are_told():
    """Many entries over the same bytes: each is read by itself, and a note says that they cannot all be true."""
    packed = zipped(member("a.txt", b"".join(b"%d\n" % (n * n) for n in range(300))))
    central, end = packed.find(b"PK\x01\x02"), packed.find(b"PK\x05\x06")
    entry = packed[central:end]
    entries = b"".join(entry.replace(b"a.txt", b"%05d" % number) for number in range(9))
    record = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 9, 9, len(entries), central, 0)
    view = opened(packed[:central] + entries + record)
    assert view.count == 9
    assert any("overlap" in note for note in view.notes)
    assert rows(view, "00008")[-1] == str(299 * 299)


def test_large_archives_have_longer_numbers():
    """Sizes and places in the 64-bit fields, and more members than 16 bits count."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive, archive.open("a.txt", "w", force_zip64=True) as file:
        file.write(b"one\n")
    content = bytearray(sink.getvalue())
    central = content.find(b"PK\x01\x02")
    extra = struct.pack("<HHQQ", 1, 16, 4, 4)
    struct.pack_into("<II", content, central + 20, 0xFFFF_FFFF, 0xFFFF_FFFF)
    struct.pack_into("<H", content, central + 30, len(extra))
    content[central + 51 : central + 51] = extra
    struct.pack_into("<I", content, content.find(b"PK\x05\x06") + 12, 51 + len(extra))
    view = opened(bytes(content))
    assert next(iter(view.items(ItemRange(0, 1))))[:3] == ["a.txt", 4, 4]
    assert rows(view, "a.txt") == ["one"]


def test_a_directory_that_lies_is_told():
    """A number of members that is not theirs, or a header that is elsewhere, is a note or a refusal, not a guess."""
    content = bytearray(SEVERAL)
    struct.pack_into("<HH", content, content.rfind(b"PK\x05\x06") + 8, 7, 7)
    view = opened(bytes(content))
    assert view.count == 6
    assert view.notes == ["damaged: its directory should have 7 members, 6 can be read"]
    content = bytearray(SEVERAL)
    second = content.find(b"PK\x01\x02", content.find(b"PK\x01\x02") + 1)
    struct.pack_into("<I", content, second + 42, 5)
    with pytest.raises(UnreadableError, match="not where it should be"):
        opened(bytes(content)).part("data/orders.csv")


def test_wrong_checksums_and_sizes_are_told():
    """A member whose content is not what the archive says is read, with a note."""
    content = bytearray(SEVERAL)
    content[content.find(b"one\ntwo\n")] = ord("O")
    view = opened(bytes(content)).part("notes.txt")
    assert list(view.items(ItemRange(0, 1))) == ["One"]
    assert any("checksum" in note for note in view.notes)


def test_lzma_properties_that_make_no_sense_are_told():
    """What the member says of how it is packed is wrong: it is unreadable, and the others are not."""
    content = bytearray(SEVERAL)
    content[content.find(b"more.txt") + len("more.txt") + 4] = 224
    view = opened(bytes(content))
    with pytest.raises(UnreadableError, match="damaged"):
        view.part("more.txt")
    assert rows(view, "notes.txt") == ["one", "two"]


def test_a_lying_size_is_no_way_past_the_limits():
    """A bomb that claims ten bytes is refused while it unpacks; the message says what to do."""
    content = bytearray(zipped(member("zeros", bytes(100_000_000))))
    central = content.find(b"PK\x01\x02")
    content[central + 24 : central + 28] = (10).to_bytes(4, "little")
    view = opened(bytes(content))
    with pytest.raises(UnreadableError, match=r"bomb.*python") as refused:
        view.part("zeros")
    assert refused.value.code == "bomb"


def test_a_nested_bomb_unpacks_one_member_at_a_time():
    """Of archives in archives in archives only what is asked for is unpacked, and not more than a few levels."""
    content = zipped(member("zeros.txt", bytes(20_000_000)))
    for _ in range(6):
        content = zipped(*(member(f"{number}.zip", content) for number in range(16)))
    view = opened(content)
    assert view.count == 16
    assert view.part("0.zip/1.zip").count == 16
    deepest = view.part("0.zip/0.zip/0.zip")
    assert deepest.count == 16
    with pytest.raises((UnreadableError, ToolInputError)):
        view.part("0.zip/0.zip/0.zip/0.zip/0.zip/0.zip/zeros.txt")


def test_bombs_are_announced():
    """An archive that claims hundreds of times its size says so."""
    view = opened(zipped(*(member(f"{number}", bytes(40_000_000)) for number in range(3))))
    assert any("bomb" in note for note in view.notes)


def test_many_members():
    """More members than 16 bits count are all there, the last ones listed and read."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for number in range(70_000):
            archive.writestr(zipfile.ZipInfo(f"folder/{number:06}.txt"), b"x\n")
    view = opened(sink.getvalue())
    assert view.count == 70_000
    assert [row[0] for row in view.items(ItemRange(69_999, 70_000))] == ["folder/069999.txt"]
    assert len(view.parts) == 100
    assert rows(view, "folder/069999.txt") == ["x"]


def test_sql_reaches_every_file(chat):
    """Also those that no profile lists, and those in an archive inside; a name that is none is refused with some."""
    inner = zipped(member("in.csv", ORDERS))
    chat.attach(zipped(*(member(f"{n}.csv", b"n\n%d\n" % n) for n in range(120)), member("inner.zip", inner)))

    def sql(code: str) -> dict:
        return chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": code})

    assert sql('select n from "blob1.119.csv"')["data"]["rows"] == [[119]]
    assert sql('select n from blob1."118.csv"')["data"]["rows"] == [[118]]
    assert sql('select max(id) from blob1."inner.zip/in.csv"')["data"]["rows"] == [[3]]
    both = 'select blob1."name", t.n from blob1, "blob1.117.csv" t where blob1."name" = \'117.csv\''
    assert sql(both)["data"]["rows"] == [["117.csv", 117]]
    assert "there is no part '120.csv'" in sql('select * from blob1."120.csv"')["message"]


@pytest.mark.parametrize(
    ("beginning", "media_type"),
    [
        (["[Content_Types].xml", "ppt/presentation.xml"], SLIDES),
        (["META-INF/MANIFEST.MF", "a/B.class"], "application/java-archive"),
        (["word/list.txt", "readme.txt"], ZIP),
    ],
)  # fmt: skip
def test_formats_that_are_zip_archives(beginning, media_type):
    """They are told by their own media type and listed like any archive."""
    content = zipped(*(member(name, b"x") for name in beginning))
    choice = Registry().choose(take_sample(BytesSource(content), None))[0]
    assert (choice.plug_in.name, choice.type) == ("zip", media_type)


def test_a_mimetype_member_is_the_type():
    """EPUB and OpenDocument begin with a member that holds it."""
    epub = zipped(member("mimetype", b"application/epub+zip", compress_type=zipfile.ZIP_STORED), member("a.xhtml"))
    assert Registry().choose(take_sample(BytesSource(epub), None))[0].type == "application/epub+zip"


def test_from_attaching_to_answers(chat):
    """An attached archive is previewed, read by part, searched, and queried: the listing, and a table inside."""
    handle = chat.attach(SEVERAL)
    assert (handle["type"], handle["items"]) == (ZIP, 6)
    assert handle["preview"]["unit"] == "members"
    assert {"part": "data/orders.csv"} in handle["preview"]["parts"]
    table = chat.call("blob_read", {"blob": "blob1", "part": "data/orders.csv"})["data"]
    assert (table["unit"], table["total"], table["items"][2]) == ("rows", 3, ["3", "Tromsø"])
    lines = chat.call("blob_read", {"blob": "blob1", "part": "data/orders.csv", "unit": "lines"})["data"]
    assert lines["items"][0] == "id,city"
    text = chat.call("blob_read", {"blob": "blob1", "part": "notes.txt", "unit": "chars", "start": 4})["data"]
    assert text["items"] == ["two\n"]
    found = chat.call("blob_search", {"blob": "blob1", "pattern": "orders"})["data"]
    assert [match["item"] for match in found["matches"]] == [1]
    chat.attach(zipped(member("p.bin", bytes(range(256)))))
    refused = chat.call("blob_read", {"blob": "blob2", "part": "p.bin"})["message"]
    assert "'p.bin' has no items" in refused
    assert "blob2.bytes(part='p.bin')" in refused
    nothing = chat.call("blob_search", {"blob": "blob1", "pattern": "Bergen"})
    assert "what is in them was not searched: name one with part" in nothing["message"]
    nothing = chat.call("blob_search", {"blob": "blob1", "pattern": "Paris", "part": "data/orders.csv"})
    assert nothing["data"]["searched"] == {"items": 3, "bytes": len(ORDERS)}
    found = chat.call("blob_search", {"blob": "blob1", "pattern": "Berg", "part": "data/orders.csv"})["data"]
    assert [match["item"] for match in found["matches"]] == [1]
    query = "select kind, count(*), sum(size) from blob1 group by kind order by kind"
    counted = chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": query})["data"]
    assert [row[:2] for row in counted["rows"]] == [["file", 4], ["folder", 1], ["link", 1]]
    query = 'select city from "blob1.data/orders.csv" where id = 2'
    answer = chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": query})
    assert answer["data"]["rows"] == [["Bergen"]]
    refused = chat.call("blob_read", {"blob": "blob1", "part": "orders"})
    assert not refused["ok"]
    assert "data/orders.csv" in refused["message"]
