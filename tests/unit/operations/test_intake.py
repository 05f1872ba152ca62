"""What is found of a blob on its way into the store."""

import io
import json
import random

import pytest

from blobs import Blobs
from blobs.operations.workshop import PROFILED_BYTES_MAX
from blobs.reading.source import BytesSource, FileSource
from previewers.csv_tsv import CsvReader
from previewers.ndjson import NdjsonReader
from previewers.text import TextReader

_HEAD = 700_000


def _lines(make, count, *, end="\n"):
    numbers = random.Random(7)
    return "".join(make(each, numbers) + end for each in range(count)).encode()


def _log(number, numbers):
    return f"{number} INFO worker-{numbers.randrange(64)} took {numbers.randrange(1000)} ms"


def _row(number, numbers):
    return f'{number},{numbers.randrange(10**6)},"said ""{number}"", and went"' if number % 7 else f"{number},2,plain"


def _object(number, numbers):
    return json.dumps({"id": number, "tags": ["é", numbers.randrange(100)]}, ensure_ascii=number % 2 == 0)


CSV_HEAD = b"id,amount,comment\n"
CONTENTS = {
    "a log": (TextReader, _lines(_log, 40_000)),
    "a log with CRLF": (TextReader, _lines(_log, 40_000, end="\r\n")),
    "a log in UTF-8 with a mark": (TextReader, "\ufeff".encode() + _lines(lambda n, _: f"{n} größer €", 60_000)),
    "a log with escapes, its last line open": (TextReader, _lines(_log, 40_000) + b"\x1b[31mred\x1b[0m\r"),
    "one line": (TextReader, b"word " * 300_000),
    "a log that ends in half a character": (TextReader, _lines(_log, 40_000) + "é".encode()[:1]),
    "a log that goes on in Latin-1": (TextReader, _lines(_log, 40_000) + b"caf\xe9 au lait\n" * 100),
    "rows": (CsvReader, CSV_HEAD + _lines(_row, 40_000)),
    "rows with CRLF and a mark": (CsvReader, b"\xef\xbb\xbf" + CSV_HEAD + _lines(_row, 40_000, end="\r\n")),
    "rows with line ends in quotes": (CsvReader, CSV_HEAD + _lines(lambda n, _: f'{n},1,"a\nb\n{n}"', 60_000)),
    "rows of two widths, blank lines": (CsvReader, CSV_HEAD * 300_000 + b"\n\n1,2\n" + _lines(_row, 100)),
    "rows with a quote astray": (CsvReader, CSV_HEAD + _lines(_row, 40_000) + b'1,2,a "b" c\n'),
    "rows whose last quote is never closed": (CsvReader, CSV_HEAD + _lines(_row, 40_000) + b'1,2,"a\n' * 200),
    "rows after comments, the last without its end": (
        CsvReader,
        b"# made\n" + CSV_HEAD + _lines(_row, 40_000) + b"1,2,",
    ),
    "objects": (NdjsonReader, _lines(_object, 40_000)),
    "objects, some broken, blank lines": (
        NdjsonReader,
        _lines(lambda n, r: "" if n % 9000 == 5 else _object(n, r)[: 9 if n % 7000 == 3 else None], 40_000),
    ),
    "arrays, the last without its end": (NdjsonReader, _lines(lambda n, _: f"[{n}, [1], null]", 60_000) + b"[1]"),
    "objects that go on over line ends": (NdjsonReader, _lines(_object, 40_000) + b'{"a":\n1}\n{"b":2}{"c":3}\n'),
    "objects with keys given twice": (NdjsonReader, _lines(_object, 40_000) + b'{"a":1,"a":2}\n' * 3),
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("piece", [4096, 262_144, 10**8])
def test_what_a_scan_finds_is_what_a_pass_over_the_blob_finds(name, piece):
    """Whatever pieces the bytes come in; a scan that cannot be sure finds nothing."""
    reader, content = CONTENTS[name]
    scan = reader().scan(content[:_HEAD])
    found = None
    try:
        for start in range(0, len(content), piece):
            scan.add(memoryview(bytearray(content[start : start + piece])))
        found = scan.index_bytes(len(content))
    except UnicodeDecodeError:
        pass
    is_told = name not in (
        "a log that ends in half a character",
        "a log that goes on in Latin-1",
        "rows of two widths, blank lines" if len(content) <= 4 * 2**20 else "",
        "rows with a quote astray",
        "rows whose last quote is never closed",
    )
    assert (found is not None) == is_told
    assert found is None or found == reader().open(BytesSource(content)).index_bytes()


class _Counted(io.BytesIO):
    count = 0

    def readinto(self, buffer):
        read = super().readinto(buffer)
        self.count += read
        return read


@pytest.fixture
def blobs(tmp_path):
    with Blobs.open(tmp_path / "store") as blobs:
        yield blobs


@pytest.mark.parametrize("name", ["a log", "rows", "objects"])
def test_a_large_blob_is_read_once(blobs, monkeypatch, name):
    """On its way in; its profile reads no more of it than of any other, in no cell, and agrees with a pass over it."""
    reader, content = CONTENTS[name]
    content = content * 8
    taken, read = [], FileSource.read

    def counting(source, start, stop):
        taken.append(max(0, min(stop, source.size) - start))
        return read(source, start, stop)

    monkeypatch.setattr(FileSource, "read", counting)
    monkeypatch.setattr(type(blobs.service.runner), "run", None)
    file = _Counted(content)
    reference = blobs.put(file, type="text/plain" if name == "a log" else None)
    assert file.count == len(content)
    profile = blobs.profile(reference)
    assert sum(taken) <= PROFILED_BYTES_MAX
    assert profile["reader"] == reader.name
    assert profile["items"] == reader().open(BytesSource(content)).count


def test_a_scan_that_fails_keeps_nothing_out(blobs, monkeypatch):
    """The bytes are stored, and read later as they are."""
    monkeypatch.setattr(TextReader, "scan", lambda *_: 1 / 0)
    content = CONTENTS["a log"][1]
    reference = blobs.put(content, type="text/plain")
    assert blobs.content(reference) == content
    assert blobs.profile(reference)["items"] == 40_000


def test_the_index_found_on_the_way_is_collected_with_its_blob(blobs):
    """It is derived from the blob, which is the tenant's alone."""
    reference = blobs.put(CONTENTS["a log"][1], type="text/plain")
    assert len(blobs.list_blobs()) == 2
    assert not blobs.tenant("other").list_blobs()
    blobs.service.store.purge(blobs.tenant_name, blobs.blob(reference).digest)
    assert all(each.get("purged") for each in blobs.list_blobs())
