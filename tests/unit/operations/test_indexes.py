"""Large blobs are read by an index: made once, on the way in or at first need, and anew when it is lost."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

import pytest

from blobs import Blobs
from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.operations import view_task
from blobs.operations.workshop import SEARCHED_BYTES_MAX, Workshop
from blobs.reading.source import BytesSource, Source
from blobs.storage.content import PACKED_BYTES_MAX
from blobs.storage.stored_blob import StoredBlob

REGISTRY = view_task.registry_of(None)
SMALL, LARGE = 2_000_000, 16_000_000
TOUCHED_MAX = 2_000_000
"""Of a read: some blocks, whatever the size of the blob."""


def csv(size: int) -> bytes:
    row = "{:09d},name {:09d},some words that fill the line up\n"
    return ("id,name,words\n" + "".join(row.format(i, i) for i in range(size // 60))).encode()


LOG_LINE_BYTES = 40


def log(size: int) -> bytes:
    return "".join(f"{i:09d} INFO a line as logs have them\n" for i in range(size // LOG_LINE_BYTES)).encode()


def ndjson(size: int) -> bytes:
    return b"".join(b'{"id":1%09d,"name":"some name","words":"some more words"}\n' % i for i in range(size // 60))


def json(size: int) -> bytes:
    return b'{"meta":{"page":1},"rows":[' + b",".join(ndjson(size).splitlines()) + b"]}"


MAKERS: dict[str, Callable[[int], bytes]] = {"text": log, "csv": csv, "ndjson": ndjson, "json": json}


class CountingSource(BytesSource):
    """Counts the bytes that are read. Of a buffer nothing is counted: all of it but the last pieces is zeros."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.touched_bytes = 0

    def read(self, start: int, stop: int) -> bytes:
        piece = super().read(start, stop)
        self.touched_bytes += len(piece)
        return piece

    def open(self) -> BinaryIO:
        self.touched_bytes += self.size  # whoever asks for a file may read all of it
        return super().open()

    def buffer(self) -> memoryview:
        kept = len(self._content) - TOUCHED_MAX // 4
        return memoryview(bytes(kept) + self._content[kept:])


def work(source: Source, arguments: dict[str, Any], reply: Any = None, **more: Any) -> Any:
    return view_task.work(source, arguments, reply or io.BytesIO(), registry=REGISTRY, **more)


def index_of(content: bytes, reader: str) -> memoryview:
    reply = io.BytesIO()
    assert work(BytesSource(content), {"op": "index", "reader": reader}, reply)["is_indexed"]
    return memoryview(reply.getvalue())


def read(**call: Any) -> dict[str, Any]:
    return {"op": "read", "call": {"blob": "blob1", **call}, "type": "text/plain", "bytes_max": 32_768}


@pytest.mark.parametrize("reader", MAKERS)
def test_reads_touch_no_more_of_a_larger_blob(reader: str) -> None:
    """Fifty items from anywhere, their text and their lines: so many bytes at most, not so many a megabyte."""
    for size in (SMALL, LARGE):
        content = MAKERS[reader](size)
        indexes = {each: index_of(content, each) for each in {reader, "text"}}
        for call in (
            read(start=-50, count=50),
            read(start=-40, count=40, unit="lines"),
            read(start=size // 2, count=50, unit="chars"),
            read(start=-50, count=50, path="/rows") if reader == "json" else read(start=3, count=3),
        ):
            if reader == "json" and "path" not in call["call"]:
                continue  # its items are two: one key each, and one of them is all there is
            source = CountingSource(content)
            answer = work(source, {**call, "reader": reader}, indexes=indexes)
            assert answer["data"]["count"] in (3, 40, 50)
            assert source.touched_bytes <= TOUCHED_MAX, f"{call} of {size} bytes"


class RepeatedSource:
    """A block again and again, made as it is read; counts what is."""

    def __init__(self, block: bytes, count: int) -> None:
        self.size = len(block) * count
        self.touched_bytes = 0
        self._block = block

    def read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)
        self.touched_bytes += max(0, stop - start)
        first = start % len(self._block)
        return (self._block * ((first + stop - start) // len(self._block) + 1))[first : first + stop - start]

    def open(self) -> BinaryIO:
        raise AssertionError("all of it was asked for")

    def buffer(self) -> memoryview:
        raise AssertionError("all of it was asked for")


def test_a_gigabyte_is_read_as_ten_megabytes_are() -> None:
    """Fifty lines from the middle and from the end: of a gigabyte no more than a few blocks, as of ten megabytes."""
    block = log(2_000_000)
    touched = []
    for size in (10**7, 10**9):
        source, reply = RepeatedSource(block, size // len(block)), io.BytesIO()
        assert work(source, {"op": "index", "reader": "text"}, reply)["is_indexed"]
        source.touched_bytes = 0
        lines = source.size // LOG_LINE_BYTES
        for start in (lines // 2, lines - 50):
            call = read(start=start, count=50)
            answer = work(source, {**call, "reader": "text"}, indexes={"text": memoryview(reply.getvalue())})
            assert answer["data"]["items"][0].startswith(f"{start % (len(block) // LOG_LINE_BYTES):09d} INFO")
        touched.append(source.touched_bytes)
    assert touched[1] <= touched[0] + TOUCHED_MAX // 4


@pytest.mark.parametrize("reader", MAKERS)
def test_the_index_changes_no_answer(reader: str) -> None:
    """The same call with the index and without it is answered by the same bytes."""
    content = MAKERS[reader](SMALL)
    indexes = {each: index_of(content, each) for each in {reader, "text"}}
    calls = [
        read(start=0), read(start=1, count=1), read(start=-1), read(unit="lines", start=-3),
        read(unit="chars", start=1_000_000), read(unit="chars", start=-10),
        {
            "op": "search",
            "call": {"blob": "blob1", "pattern": "000001234"},
            "type": "text/plain",
            "bytes_max": 32_768,
            "wall_ms": 60_000,
        },
    ]  # fmt: skip
    for call in calls:
        plain, indexed = io.BytesIO(), io.BytesIO()
        told = work(BytesSource(content), {**call, "reader": reader}, plain)
        again = work(BytesSource(content), {**call, "reader": reader}, indexed, indexes=indexes)
        assert exact_json.dumps(again) == exact_json.dumps(told)
        assert indexed.getvalue() == plain.getvalue()


def test_an_index_is_kept_with_the_profile(service: Blobs) -> None:
    """The preview job keeps the index that it found on its way; other conversations of the tenant use the same."""
    tenant = service.tenant("indexed")
    chat = tenant.conversation()
    chat.attach(csv(SMALL), type="text/csv")
    digests = stored(tenant)
    assert len(digests) == 2  # the blob and its index
    first = chat.call("blob_read", {"blob": "blob1", "start": -3})
    other = tenant.conversation()
    other.attach(csv(SMALL), type="text/csv")
    assert other.call("blob_read", {"blob": "blob1", "start": -3}) == first
    assert stored(tenant) == digests


def test_a_lost_index_is_made_anew(service: Blobs) -> None:
    """A call that finds no index makes it, and is answered as before."""
    tenant = service.tenant("lost")
    chat = tenant.conversation()
    handle = chat.attach(csv(SMALL), type="text/csv")
    before = stored(tenant)
    first = chat.call("blob_read", {"blob": "blob1", "start": -3})
    (index,) = [each for each in before if Digest.parse(each) != Digest.of(csv(SMALL))]
    catalog, lost = tenant.service.catalog, Digest.parse(index)
    assert catalog.forget_derived("lost", lost)
    assert catalog.remove_unused("lost", [lost], since_ms=2**50, now_ms=2**50)
    assert chat.call("blob_read", {"blob": "blob1", "start": -3}) == first
    assert stored(tenant) == before
    assert handle["items"] == first["data"]["total"]


def test_small_blobs_have_no_index(service: Blobs) -> None:
    """A blob of so few bytes is opened as soon as its index would be."""
    tenant = service.tenant("small")
    chat = tenant.conversation()
    chat.attach(csv(PACKED_BYTES_MAX // 2), type="text/csv")
    chat.call("blob_read", {"blob": "blob1", "start": -3})
    assert len(stored(tenant)) == 1


def test_a_few_items_are_read_without_a_cell(service: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its index a large table is read in the server's process, as long as that reads no more than of a small one."""
    chat = service.conversation()
    chat.attach(csv(SMALL), type="text/csv")
    chat.attach(b"short\n" + b"long " * 600_000 + b"\nshort\n", type="text/plain")
    whole = [chat.call("blob_read", {"blob": "blob2", "start": start}) for start in (0, 1, 2)]
    monkeypatch.setattr(Workshop, "task", no_cell)
    answer = chat.call("blob_read", {"blob": "blob1", "start": 20_000, "count": 2})
    assert [row[0] for row in answer["data"]["items"]] == ["000020000", "000020001"]
    assert chat.call("blob_read", {"blob": "blob2", "start": 2}) == whole[2]
    with pytest.raises(AssertionError, match="a cell was used"):
        chat.call("blob_read", {"blob": "blob2", "start": 1})


@pytest.mark.parametrize("reader", MAKERS)
def test_a_blob_of_a_few_megabytes_is_searched_without_a_cell(
    reader: str, service: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its index; what is larger is searched in a cell."""
    chat = service.conversation()
    chat.attach(MAKERS[reader](SMALL))
    chat.attach(MAKERS[reader](SEARCHED_BYTES_MAX + SMALL))
    monkeypatch.setattr(Workshop, "task", no_cell)
    answer = chat.call("blob_search", {"blob": "blob1", "pattern": "000020001"})
    assert [each["item"] for each in answer["data"]["matches"]] == [1 if reader == "json" else 20_001]
    with pytest.raises(AssertionError, match="a cell was used"):
        chat.call("blob_search", {"blob": "blob2", "pattern": "000020001"})


def no_cell(*_: Any, **__: Any) -> Any:
    raise AssertionError("a cell was used")


def test_handles_and_turns_touch_no_byte(service: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blob that was looked at once is shown, named and passed on by its records alone, however large it is."""
    tenant = service.tenant("untouched")
    first = tenant.conversation()
    handle = first.attach(csv(SMALL), type="text/csv")
    reference = first.dump()["blobs"]["blob1"]
    for way in ("read", "chunks", "path"):
        monkeypatch.setattr(StoredBlob, way, untouchable)
    assert [each["items"] for each in first.handles()] == [handle["items"]]
    other = tenant.conversation()
    with other.turn() as turn:
        shown = turn.offload(reference, kind="reference")
    assert shown == handle
    assert tenant.conversation(carry_on=other.dump()).handles()[0]["items"] == handle["items"]


def untouchable(*_: Any) -> Any:
    raise AssertionError("bytes were read")


def stored(tenant: Blobs) -> list[str]:
    return [each["digest"] for each in tenant.list_blobs()]
