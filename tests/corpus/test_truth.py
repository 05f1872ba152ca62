"""Every file of the corpus, told as independent tools tell it: its type, its count, its bytes, and what is odd of it.

The manifest says what each file is and how many items other tools count. Which number of ours stands beside theirs
depends on the unit: rows, entries, pages, members and lines are items; documents of a YAML text and children of an
XML root are in `shape`; frames of an image, streams of a recording and pages of a locked PDF are facts.
"""

import json
import re
import time
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from blobs import Blobs, Conversation
from blobs.reading.opening import recognise
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from previewers.text import TextReader
from tests.material import all_corpus_rows, beside

SECONDS_MAX = 5
SHARE_EQUAL = 0.98

GOOD = ("valid", "well-formed", "readable")
"""What the manifest calls files that are as their format wants them."""

ROWS = all_corpus_rows()
COUNTED = [row for row in ROWS if row["items"]]

EXCEPTIONS = {
    "calamine/any_sheets.xls": "ours is right: the 3 rows more are the cached series of a chart, which has no cells",
    "tinytag/invalid_block_sizes.flac": "ours is right: its first header names a stream, a later block is damaged",
    "tinytag/mpeg4_with_image.m4a": "ours is right: two of the three are cover pictures, which are told as such",
    "tinytag/detect_wav.x": "ours is right: its header names a stream, though the sound is missing",
    "duckdb/parquet-testing/bigdecimal.parquet": "not yet: pyarrow reads no decimals of more than 76 digits",
    "parquet-testing/bad_data/ARROW-GH-41317.parquet": "ours is right: rows that its footer counts are missing",
    "parquet-testing/bad_data/ARROW-GH-41321.parquet": "ours is right: its pages are damaged, only its footer counts",
    "parquet-testing/bad_data/ARROW-GH-45185.parquet": "ours is right: its levels are damaged, which few tools notice",
    "parquet-testing/bad_data/ARROW-GH-47662.parquet": "ours is right: its pages are cut, only its footer counts",
    "parquet-testing/bad_data/ARROW-RS-GH-6229-LEVELS.parquet": "ours is right: its levels are damaged, as above",
}
"""Files with another count than the manifest's, each with the reason; one that comes out equal fails the test."""

OTHER_KIND = {
    "duckdb/json/10751.json": ("ndjson", 3, "no JSON document, but three lines of JSON"),
    "duckdb/json/11152.json": ("ndjson", 3, "no JSON document, but lines of JSON, one of them blank and one cut"),
    "duckdb/csv/error/json.csv": ("ndjson", 3, "lines of JSON by another name; the bad one is left out"),
    "jsontestsuite/test_parsing/n_structure_double_array.json": ("json-sequence", 2, "two values, one after the other"),
    "jsontestsuite/test_parsing/n_object_trailing_comment_slash_open.json": ("json", 1, "a comment is forgiven"),
    "lnav/textfile_broken_gz.txt.gz": ("compressed", 1, "the line that can be had of a damaged gzip file"),
    "lnav/textfile_patch.0": ("diff", 73, "a text that is a unified diff"),
}
"""Files that are rightly read as something else than the manifest says: reader, items, reason."""

READERS = {
    "arrow-file": "arrow",
    "arrow-stream": "arrow",
    "bzip2": "compressed",
    "csv": "csv",
    "docx": "zip",
    "epub": "zip",
    "gzip": "compressed",
    "html": "html",
    "json": "json",
    "json-concat": "json-sequence",
    "markdown": "markdown",
    "ndjson": "ndjson",
    "ods": "spreadsheet",
    "odt": "zip",
    "parquet": "parquet",
    "pdf": "pdf",
    "rtf": "text",
    "sql": "text",
    "sqlite": "sqlite",
    "svg": "xml",
    "tar": "tar",
    "text": "text",
    "toml": "toml",
    "tsv": "csv",
    "xls": "spreadsheet",
    "xlsb": "spreadsheet",
    "xlsx": "spreadsheet",
    "xml": "xml",
    "xz": "compressed",
    "yaml": "yaml",
    "zip": "zip",
    "zstd": "compressed",
    **dict.fromkeys(("avif", "bmp", "gif", "ico", "jp2", "jpeg", "png", "psd", "tiff", "webp"), "image"),
}
"""The reader of each format of the manifest whose files say by their bytes what they are."""

pytestmark = pytest.mark.skipif(not ROWS, reason="the corpus is not beside the repository")


def path_of(row: dict[str, str]) -> Path:
    return beside() / "corpus" / row["path"]


def name(row: dict[str, str]) -> str:
    return row["path"]


@pytest.fixture(scope="module")
def desk(service: Blobs) -> Conversation:
    return service.conversation()


@cache
def told(desk: Conversation, path: Path) -> dict[str, Any]:
    """What the product says of a file: its profile, with its name in the conversation and the seconds it took."""
    began = time.thread_time()
    handle = desk.attach(path)
    profile = desk._blobs.profile(desk.reference(handle["blob"]))
    return {**profile, "blob": handle["blob"], "seconds": time.thread_time() - began}


def pair(row: dict[str, str], profile: dict[str, Any]) -> tuple[int | None, int]:
    """Our count and theirs of the same thing."""
    items, theirs = profile.get("items"), int(row["items"])
    shape, facts = profile["preview"].get("shape") or {}, profile.get("facts") or {}
    if row["validity"] == "empty":
        return items or 0, theirs
    if row["path"] in OTHER_KIND:
        return items, OTHER_KIND[row["path"]][1]
    if row["format"] in ("xml", "svg"):
        return shape.get("children"), theirs
    if row["format"] == "yaml":
        return shape.get("documents"), theirs
    if row["format"] in ("docx", "epub"):  # their paragraphs and chapters are no unit of ours: the members are
        return items, len(zipfile.ZipFile(path_of(row)).namelist())
    if row["format"] in ("ndjson", "gzip") and (bad := re.search(r"bad lines: \[([\d, ]+)\]", row["notes"])):
        return items, theirs - len(bad[1].split(","))
    if items is None:
        streams = facts.get("streams", 0)
        return facts.get("frames") or facts.get("pages") or (
            len(streams) if isinstance(streams, list) else streams
        ), theirs
    return items, theirs


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_nothing_is_lost_and_nothing_hangs(row, desk):
    """Every file comes back byte by byte, is told within 5 s, and gives its first, its last and all of its items."""
    path = path_of(row)
    profile = told(desk, path)
    assert desk.content(profile["blob"]) == path.read_bytes()
    assert profile["seconds"] < SECONDS_MAX
    assert "still being counted" not in " ".join(profile["preview"].get("notes", []))  # a cell has as long
    if not profile.get("items"):
        return
    count = profile["items"]
    last = desk.call("blob_read", {"blob": profile["blob"], "start": -1})
    assert last["ok"], last
    assert last["data"]["complete"] or last["data"]["unit"] == "chars"
    searched = desk.call("blob_search", {"blob": profile["blob"], "pattern": "no such text \u2603"})
    assert searched["data"]["found"] == 0
    assert searched["data"]["searched"]["items"] == count


@pytest.mark.parametrize("row", COUNTED, ids=name)
def test_counts(row, desk):
    """There are as many items as other tools count, save for the exceptions, which are as they are for a reason."""
    ours, theirs = pair(row, told(desk, path_of(row)))
    assert (ours != theirs) == (row["path"] in EXCEPTIONS), f"{ours} for {theirs}"


def test_exceptions_are_few():
    """The counts are equal in at least 98 % of the files that have one; the exceptions are files of the corpus."""
    assert EXCEPTIONS.keys() <= {row["path"] for row in COUNTED}
    assert len(EXCEPTIONS) <= (1 - SHARE_EQUAL) * len(COUNTED)


def named_rows() -> list[dict[str, str]]:
    return [row for row in ROWS if row["format"] in READERS and row["bytes"] != "0"]


@pytest.mark.parametrize("row", named_rows(), ids=name)
def test_kinds(row, desk):
    """A valid file is read as what the manifest says it is; one that is not valid as that, as text or as binary."""
    reader = told(desk, path_of(row))["reader"]
    expected = OTHER_KIND[row["path"]][0] if row["path"] in OTHER_KIND else READERS[row["format"]]
    is_fallback = reader in ("text", "binary") and (row["validity"] not in GOOD or row["path"] in EXCEPTIONS)
    assert reader == expected or is_fallback


ONLY_NAMED = {
    "charset-normalizer/sample-polish.txt": "text by its name, a table of quoted cells by itself",
    "duckdb/csv/auto/tab_single_quote.csv": "a tab inside single quotes",
    "duckdb/csv/blank_line.csv": "one column",
    "duckdb/csv/error/mid_null.csv": "three rows, one ragged",
    "duckdb/csv/empty_first_line.csv": "separated by blanks",
    "duckdb/csv/invalid_utf8.csv": "one column",
    "duckdb/csv/locations_header_trailing_comma.csv": "one row, narrower than the header",
    "duckdb/csv/nullbyte_header.csv": "a zero byte",
    "duckdb/csv/pollock/file_quotation_char_0x27.csv": "one row",
    "duckdb/csv/quoted_newline.csv": "one column",
    "duckdb/csv/quoted_values_delimited.csv": "one column",
    "duckdb/csv/test/test_long_line.csv": "two rows without header, of one long cell each and numbers",
    "duckdb/csv/test/windows_newline_empty.csv": "one column",
    "duckdb/csv/unquoted_escape/human_eval.csv": "source code with backslashes",
    "frictionless/wide.csv": "a header line longer than the sample",
    "duckdb/json/malformed/union/bad_key.ndjson": "one line, a document by itself",
    "duckdb/json/malformed/union/empty_object.ndjson": "one line, a document by itself",
    "duckdb/json/malformed/union/non_object.ndjson": "one line, a document by itself",
    "jsontestsuite/test_parsing/y_structure_lonely_false.json": "a scalar",
}
"""Valid files that only a name makes what they are, and why; very short YAML is another such kind."""


@pytest.mark.parametrize("row", [row for row in named_rows() if row["validity"] in GOOD], ids=name)
def test_kinds_without_a_name(row, desk):
    """Of a valid file the bytes alone say what its name says, save where only a name can tell."""
    opened = recognise(Registry(), BytesSource(path_of(row).read_bytes()), None)
    declared = told(desk, path_of(row))["reader"]
    is_short_yaml = row["format"] == "yaml" and int(row["lines"]) <= 5
    is_named = row["path"] in ONLY_NAMED or is_short_yaml
    assert opened.plug_in.name == declared or is_named, f"{opened.plug_in.name} instead of {declared}"
    assert opened.plug_in.name != declared or row["path"] not in ONLY_NAMED


LINES_OTHERWISE = {"libxml2/utf16lebom.xml": (3, "UTF-16 without a mark, which the manifest counts as it lies")}


@pytest.mark.parametrize("row", [row for row in ROWS if row["lines"] and row["encoding"]], ids=name)
def test_lines(row):
    """A text has as many lines as LF, CRLF and CR end, whatever it holds, and all its characters can be read."""
    view = TextReader().open(BytesSource(path_of(row).read_bytes()))
    assert view.count == LINES_OTHERWISE.get(row["path"], (int(row["lines"]),))[0]
    assert len(view.text(0, view.text_length())) == view.text_length()


NOTES = {
    r"EXIF orientation: ([2-8])": lambda found: f"with orientation {found[1]}",
    r"no text layer": lambda _: "probably scanned",
    r"duplicate keys: (\d+)": lambda found: f"{found[1]} key",
    r"bad lines: \[([\d, ]+)\]": lambda found: f"not valid JSON: {found[1]}",
    r"hidden sheets: (\w+)": lambda found: f"hidden: '{found[1]}'",
    r"encrypted: 1\Z": lambda _: "encrypted",
    r"\Aragged": lambda _: "more or fewer cells",
}
"""What the manifest notes, and what our notes then say."""


@pytest.mark.parametrize(
    "row", [row for row in ROWS if any(re.search(pattern, row["notes"]) for pattern in NOTES)], ids=name
)
def test_notes(row, desk):
    """What is odd of a file is said in the preview's notes."""
    notes = json.dumps(told(desk, path_of(row))["preview"].get("notes", []), ensure_ascii=False)
    for pattern, expected in NOTES.items():
        if found := re.search(pattern, row["notes"]):
            assert expected(found) in notes
