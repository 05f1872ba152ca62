"""Public files of text, CSV, JSON and NDJSON, each against the counts that several independent tools agree on."""

import re
from pathlib import Path

import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.operations.opening import take_sample
from blobs.reading.source import BytesSource
from previewers.csv_tsv import CsvReader
from previewers.json_document import JsonReader
from previewers.ndjson import NdjsonReader
from previewers.text import TextReader
from tests.material import beside, corpus_rows

READERS = {each.name: each for each in (TextReader(), CsvReader(), JsonReader(), NdjsonReader())}
NDJSON_TYPE = "application/x-ndjson"
DECLARED = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".ndjson": NDJSON_TYPE,
    ".jsonl": NDJSON_TYPE,
    ".geojsonl": NDJSON_TYPE,
}
EXPECTED_READER = {"csv": "csv", "tsv": "csv", "json": "json", "ndjson": "ndjson", "text": "text"}

READ_OTHERWISE = {
    "charset-normalizer/sample-polish.txt": ("csv", 203, "it is a table of quoted cells with a header"),
    "duckdb/json/10751.json": ("ndjson", 3, "no JSON document, but three lines of JSON"),
    "duckdb/json/11152.json": ("ndjson", 3, "no JSON document, but lines of JSON, one of them blank and one cut"),
    "duckdb/csv/error/json.csv": ("ndjson", 3, "lines of JSON by another name; the bad one is left out"),
    "jsontestsuite/test_parsing/n_object_trailing_comment_slash_open.json": ("json", 1, "a comment is forgiven"),
    "jsontestsuite/test_parsing/n_structure_null-byte-outside-string.json": (None, None, "a zero byte in three"),
    "lnav/textfile_broken_gz.txt.gz": (None, None, "the beginning of a gzip file: binary"),
}  # fmt: skip
"""Files that are rightly read as something else than the manifest says: reader, items, reason."""

ONLY_DECLARED = {
    "duckdb/csv/auto/tab_single_quote.csv": "a tab inside single quotes",
    "duckdb/csv/blank_line.csv": "one column",
    "duckdb/csv/comments/mid_line.csv": "comments",
    "duckdb/csv/empty_first_line.csv": "separated by blanks",
    "duckdb/csv/error/mid_null.csv": "three rows, one ragged",
    "duckdb/csv/inconsistencies/inconsistent_columns_3.csv": "all rows wider than the header",
    "duckdb/csv/invalid_utf8.csv": "one column",
    "duckdb/csv/locations_header_trailing_comma.csv": "one row, narrower than the header",
    "duckdb/csv/nullbyte_header.csv": "a zero byte",
    "duckdb/csv/nullpadding.csv": "every row has another width",
    "duckdb/csv/pollock/file_quotation_char_0x27.csv": "one row",
    "duckdb/csv/quoted_newline.csv": "one column",
    "duckdb/csv/quoted_values_delimited.csv": "one column",
    "duckdb/csv/test/test_long_line.csv": "two rows without header, of one long cell each and numbers",
    "duckdb/csv/test/windows_newline_empty.csv": "one column",
    "duckdb/csv/unquoted_escape/human_eval.csv": "source code with backslashes",
    "duckdb/csv/afl/ignore_errors/42.csv": "damaged",
    "frictionless/skip-blank-at-the-end.csv": "comments",
    "frictionless/wide.csv": "a header line longer than the sample",
    "duckdb/json/malformed/union/bad_key.ndjson": "one line, a document by itself",
    "duckdb/json/malformed/union/empty_object.ndjson": "one line, a document by itself",
    "duckdb/json/malformed/union/non_object.ndjson": "one line, a document by itself",
    "jsontestsuite/test_parsing/y_structure_lonely_false.json": "a scalar",
}
"""Files that only a declared type makes what they are, and why."""

ROWS = [row for row in corpus_rows(*EXPECTED_READER) if row["split"] in ("open", "all") and row["bytes"] != "0"]

pytestmark = pytest.mark.skipif(not ROWS, reason="the corpus is not beside the repository")


def source_of(row: dict[str, str]) -> BytesSource:
    return BytesSource((beside() / "corpus" / row["path"]).read_bytes())


def open_as_declared(source: BytesSource, declared: str | None):
    """The view and name of the reader that is preferred: the declared one if it accepts, else the surest."""
    sample = take_sample(source, declared)
    levels = {name: reader.sniff(sample).level for name, reader in READERS.items()}
    levels |= {name: 1000 for name, reader in READERS.items() if declared in reader.media_types and levels[name]}
    for name in sorted(filter(levels.__getitem__, levels), key=levels.__getitem__, reverse=True):
        try:
            return READERS[name].open(source), name
        except UnreadableError:
            continue
    return None, None


def expectation(row: dict[str, str]) -> tuple[str | None, int | None]:
    """The reader and number of items that are right; no number where the manifest has none."""
    if row["path"] in READ_OTHERWISE:
        return READ_OTHERWISE[row["path"]][:2]
    if row["validity"] == "invalid":
        return "text", int(row["lines"])
    items = int(row["items"]) if row["items"] else None
    bad = re.search(r"bad lines: \[([\d, ]+)\]", row["notes"])
    if bad and items is not None:
        items -= len(bad.group(1).split(","))
    return EXPECTED_READER[row["format"]], items


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_items(row):
    """The items are as many as other tools say, each can be walked, and all of them together are the file."""
    reader, count = expectation(row)
    source = source_of(row)
    view, name = open_as_declared(source, DECLARED.get(Path(row["path"]).suffix))
    assert name == reader
    if view is None:
        return
    assert count is None or view.count == count
    items = list(view.items(ItemRange(0, view.count)))
    assert len(items) == view.count
    assert all(exact_json.dumps(item) for item in items)
    assert view.slice(ItemRange(0, view.count))[0] == source.read(0, source.size)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_lines(row):
    """Every file is so many lines when it is read as text, and its characters are all there."""
    view = TextReader().open(source_of(row))
    assert view.count == int(row["lines"])
    assert sum(1 for _ in view.items(ItemRange(0, view.count))) == view.count
    assert len(view.text(0, view.text_length())) == view.text_length()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_recognised_by_itself(row):
    """Without a declared type a file is recognised, save for those that only their name makes what they are."""
    reader, _ = expectation(row)
    if row["path"] in ONLY_DECLARED or reader is None:
        pytest.skip(ONLY_DECLARED.get(row["path"], "binary"))
    _, name = open_as_declared(source_of(row), None)
    assert name == reader
