"""Tar: every dialect's members listed as they are stored, each file read as what it is, nothing followed, no bombs."""

import io
import tarfile

import pytest

from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.tar_archive import TarReader, TarView
from tests.material import fixture, truth

TAR = "application/x-tar"
ORDERS = b"id,city\n1,Oslo\n2,Bergen\n3,Troms\xc3\xb8\n"
BIG = bytes(range(256)) * 200
WHEN = 1_709_115_072  # 2024-02-28T10:11:12Z
LONG = "a folder with a long name/" * 9 + "orders.csv"
DIALECTS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def member(name: str, content: bytes = b"", **fields) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(content), WHEN
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tarred(*members: tuple[tarfile.TarInfo, bytes], **options) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", **options) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return sink.getvalue()


def opened(content: bytes) -> TarView:
    return TarReader().open(BytesSource(content))


def names(view: TarView) -> list[str]:
    return [row[0] for row in view.items(ItemRange(0, view.count or 0))]


def rows(view, part: str) -> list:
    inside = view.part(part)
    return list(inside.items(ItemRange(0, inside.count or 0)))


SEVERAL = tarred(
    member("data", type=tarfile.DIRTYPE),
    member("data/orders.csv", ORDERS),
    member("entries.json", b'[{"a":1},{"a":2}]'),
    member("latest", type=tarfile.SYMTYPE, linkname="data/orders.csv"),
    member("same", type=tarfile.LNKTYPE, linkname="entries.json"),
    member("pipe", type=tarfile.FIFOTYPE),
)


def old_style() -> bytes:
    """A member as the first tar wrote it: no signature, numbers with a space at their ends."""
    header = bytearray(512)
    for at, field in ((0, b"notes.txt"), (100, b"   644 \0"), (124, b"          4 "), (136, b" 14567604100 ")):
        header[at : at + len(field)] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%6o\0 " % sum(header)
    return bytes(header) + b"one\n".ljust(512, b"\0") + bytes(1024)


class TestTarReader(ReaderContract):
    reader = TarReader()
    examples = {
        "a fixture": Example(fixture("members.tar"), TAR, 5),
        "every kind of member": Example(SEVERAL, TAR, 6),
        "no signature": Example(old_style(), TAR, 1),
        "a long name": Example(tarred(member(LONG, ORDERS), format=tarfile.GNU_FORMAT), TAR, 1),
    }


def test_members_are_rows():
    """A row has the name as stored, size, time in UTC and kind; folders, links and pipes are members too."""
    view = opened(SEVERAL)
    assert [column.name for column in view.columns] == ["name", "size", "modified", "kind"]
    assert list(view.items(ItemRange(0, 2))) == [
        ["data", 0, "2024-02-28T10:11:12Z", "folder"],
        ["data/orders.csv", len(ORDERS), "2024-02-28T10:11:12Z", "file"],
    ]
    assert [row[3] for row in view.items(ItemRange(2, 6))] == ["file", "link", "link", "other"]
    assert view.facts() == {"files": 2, "folders": 1, "links": 2, "others": 1, "bytes_inside": len(ORDERS) + 17}
    assert [part.name for part in view.parts] == ["data/orders.csv", "entries.json"]


def test_the_fixtures_are_as_known():
    """What is known of them from how they were made comes out; of the one that is cut, what is there."""
    view, known = opened(fixture("members.tar")), truth("members.tar")
    assert names(view) == known["names"]
    assert rows(view, "orders.csv")[:2] == known["orders"]
    cut = opened(fixture("cut.tar"))
    assert (cut.count, len(rows(cut, "orders.csv"))) == (3, 30)
    assert cut.notes == ["damaged or cut short: no member can be read after byte 2560 of 2600"]


def test_a_file_is_read_as_what_it_is():
    """A table as rows, a document as entries; a link, a folder or an unknown name is refused with one that works."""
    view = opened(SEVERAL)
    assert rows(view, "data/orders.csv") == [["1", "Oslo"], ["2", "Bergen"], ["3", "Tromsø"]]
    assert rows(view, "entries.json") == [{"a": 1}, {"a": 2}]
    with pytest.raises(ToolInputError, match=r"a link to 'data/orders\.csv'"):
        view.part("latest")
    with pytest.raises(ToolInputError, match="is a folder"):
        view.part("data/")
    with pytest.raises(ToolInputError) as refused:
        view.part("order.csv")
    assert "data/orders.csv" in refused.value.hint


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_of_any_length_and_script(dialect):
    """Long names are whole in each dialect, and names in UTF-8 are that."""
    view = opened(tarred(member(LONG, ORDERS), member("Tromsø 😀.txt", b"x\n"), format=DIALECTS[dialect]))
    assert names(view) == [LONG, "Tromsø 😀.txt"]
    assert rows(view, LONG)[2] == ["3", "Tromsø"]
    assert rows(view, "Tromsø 😀.txt") == ["x"]


@pytest.mark.parametrize(
    ("codec", "written", "label"),
    [
        ("cp932", ["日本語.txt", "テスト.csv"], "Shift-JIS"),
        ("gb18030", ["报告.txt", "测试文件.csv"], "GBK"),
        ("cp866", ["Привет.txt", "отчёт за год.csv"], "code page 866"),
    ],
)
def test_names_in_legacy_encodings(codec, written, label):
    """Names that are not UTF-8 are read in the likeliest code page, and a note says which; a part has that name."""
    content = tarred(*(member(name, b"x\n") for name in written), format=tarfile.USTAR_FORMAT, encoding=codec)
    view = opened(content)
    assert names(view) == written
    assert view.notes == [f"2 names are not UTF-8, decoded as {label}"]
    assert rows(view, written[0]) == ["x"]


def test_pax_fields_count():
    """Sizes, times with a fraction, names and link targets come from the extended header where it has them."""
    fields = {"mtime": "1709115072.25", "comment": "x" * 600}
    view = opened(tarred(member("a.csv", ORDERS, pax_headers=fields), format=tarfile.PAX_FORMAT))
    assert list(view.items(ItemRange(0, 1))) == [["a.csv", len(ORDERS), "2024-02-28T10:11:12.25Z", "file"]]


@pytest.mark.parametrize("number", [-1, 2**40])
def test_times_beyond_the_usual(number):
    """Before 1970 and after any calendar: a time or none, never a failure."""
    view = opened(tarred(member("a", mtime=number), format=tarfile.GNU_FORMAT))
    assert next(iter(view.items(ItemRange(0, 1))))[2] in ("1969-12-31T23:59:59Z", None)


def sparse() -> bytes:
    """GNU's old form of a file with holes: 512 bytes at 1,024 and 3 at 100,000 are there of 100,003."""
    info = tarfile.TarInfo("holes.bin")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[124:136] = b"%011o\0" % 515
    at = 386
    for offset, size in ((1024, 512), (100_000, 3)):
        header[at : at + 24] = b"%011o\0%011o\0" % (offset, size)
        at += 24
    header[483:495] = b"%011o\0" % 100_003
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"x" * 512 + b"end".ljust(512, b"\0") + tarred(member("after.txt", b"one\n"))


def test_sparse_files_are_filled():
    """Holes are zeros, the size is that of the file, and the member after it is found; a huge hole is refused."""
    view = opened(sparse())
    assert [row[:2] for row in view.items(ItemRange(0, 2))] == [["holes.bin", 100_003], ["after.txt", 4]]
    content = view.part("holes.bin").bytes_source
    assert content.read(0, 100_003) == bytes(1024) + b"x" * 512 + bytes(100_000 - 1536) + b"end"
    huge = bytearray(sparse())
    huge[483:495] = b"%011o\0" % (7 << 30)
    huge[410:422] = b"%011o\0" % ((7 << 30) - 3)
    huge[148:156] = b" " * 8
    huge[148:156] = b"%06o\0 " % sum(huge[:512])
    view = opened(bytes(huge))
    assert any("bomb" in note for note in view.notes)
    with pytest.raises(UnreadableError, match=r"bomb.*python") as refused:
        view.part("holes.bin")
    assert refused.value.code == "bomb"


def test_links_and_names_that_lead_outside_are_noted():
    """They are listed as they are, never followed."""
    view = opened(
        tarred(
            member("../../etc/passwd", b"root\n"),
            member("evil", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
            member("up", type=tarfile.LNKTYPE, linkname="../secret"),
        )
    )
    assert names(view) == ["../../etc/passwd", "evil", "up"]
    assert view.notes == [
        "1 name leads out of the folder it is unpacked to: '../../etc/passwd'",
        "2 links point to an absolute place or upwards; no link is followed here",
    ]
    assert rows(view, "../../etc/passwd") == ["root"]


def test_equal_names_are_told_apart():
    """A file that was added again is a part of its own."""
    view = opened(tarred(member("a", b"first\n"), member("a", b"second\n")))
    assert rows(view, "a") == ["first"]
    assert rows(view, "a (2)") == ["second"]


def test_cut_anywhere():
    """What is there is listed, the last member read as far as it goes; without a whole header it is no tar."""
    content = tarred(member("1.txt", b"1\n" * 300), member("2.txt", b"2\n" * 300), member("3.txt", b"3\n" * 300))
    view = opened(content[: 1536 * 2 + 512 + 100])
    assert names(view) == ["1.txt", "2.txt", "3.txt"]
    assert view.notes == ["cut short: the end of the last member is missing"]
    last = view.part("3.txt")
    assert last.count == 50
    assert last.notes == ["cut short: the last 500 of its 600 bytes are missing"]
    view = opened(content[: 1536 * 2 + 200])
    assert names(view) == ["1.txt", "2.txt"]
    assert any("damaged" in note or "cut short" in note for note in view.notes)
    assert TarReader().sniff(take_sample(BytesSource(content[:300]), None)).level < 100


def test_damage_in_the_middle_is_told():
    """A header that makes no sense ends the listing with a note; the members before it can be read."""
    content = bytearray(tarred(member("1.txt", b"1\n"), member("2.txt", b"2\n"), member("3.txt", b"3\n")))
    content[1024 + 10] ^= 0xFF
    view = opened(bytes(content))
    assert names(view) == ["1.txt"]
    assert any("damaged" in note for note in view.notes)
    assert rows(view, "1.txt") == ["1"]


def test_an_empty_archive():
    """No members are written as nothing but zeros, so only the declared type tells them from other zeros."""
    content = tarred()
    assert TarReader().sniff(take_sample(BytesSource(content), None)).level == 0
    choice = Registry().choose(take_sample(BytesSource(content), TAR))[0]
    assert choice.plug_in.name == "tar"
    assert opened(content).count == 0
    assert opened(content).notes == []


def test_from_attaching_to_answers(chat):
    """An attached archive is previewed, read and searched by part, and queried: the listing, and a table inside."""
    members = [member("data/orders.csv", ORDERS), member("entries.json", b'[{"a":1},{"a":2}]'), member("big.bin", BIG)]
    handle = chat.attach(tarred(*members))
    assert (handle["type"], handle["items"], handle["preview"]["unit"]) == (TAR, 3, "members")
    assert [each["part"] for each in handle["preview"]["parts"]] == ["data/orders.csv", "entries.json", "big.bin"]
    data = chat.call("blob_read", {"blob": "blob1", "part": "data/orders.csv", "start": 1})["data"]
    assert (data["unit"], data["items"], data["complete"]) == ("rows", [["2", "Bergen"], ["3", "Tromsø"]], True)
    raw = chat.call("blob_read", {"blob": "blob1", "part": "entries.json", "unit": "bytes", "count": 3})["data"]
    assert (raw["total"], raw["items"]) == (17, [b'[{"'.hex()])
    stored = chat.call("blob_read", {"blob": "blob1", "part": "big.bin", "unit": "bytes", "start": 5, "count": 20_000})
    assert chat.content(stored["data"]["blob"]) == BIG[5:20_005]
    found = chat.call("blob_search", {"blob": "blob1", "part": "data/orders.csv", "pattern": "Troms"})["data"]
    assert found["matches"] == [{"item": 2, "column": "city", "text": "Tromsø"}]
    sql = 'select city from "blob1.data/orders.csv" where id > 1 order by id'
    assert chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": sql})["data"]["rows"] == [
        ["Bergen"],
        ["Tromsø"],
    ]
    code = (
        "[blob1.rows(part='data/orders.csv')[0], blob1.bytes('entries.json')[:4].decode(), blob1.json('entries.json')]"
    )
    result = chat.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["data"]["result"]
    assert result == [{"id": "1", "city": "Oslo"}, '[{"a', [{"a": 1}, {"a": 2}]]
