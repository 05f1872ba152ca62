"""Tables that Arrow reads are those that the reader reads, and have the same types."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import previewers.csv_records
import previewers.csv_tsv
from blobs.domain.errors import BlobsError
from blobs.querying import column_typing
from blobs.querying.columnar import column_types, types_of
from blobs.reading.source import BytesSource
from previewers.csv_arrow import text_batches
from previewers.csv_tsv import CsvReader

PIECES = (
    "a", "12", "-0", "1.50", "0.1", "true", "2026-01-02", "é", "\ufeff", " ", "\t", ",", ",", ";", '"', '""', '"x,y"',
    '"p\nq"', "\n", "\n", "\r\n", "\r", "\\", "#", "NA", "null", "\0", "NaN", "'",
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Borders between batches lie everywhere."""
    monkeypatch.setattr(previewers.csv_records, "RECORDS_PER_MARK", 2)
    monkeypatch.setattr(previewers.csv_tsv, "_BATCH_BYTES", 16)


@given(
    st.sampled_from(["", "a,b\n", "a;b\n1;2\n", 'a,b\n"x",y\n', "n\n", "a\tb\n1\t2\n"]),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
@settings(max_examples=300, deadline=None)
@example("a,b\n", '1,""\n2,\n"",x\n', "utf-8")
@example("", 'a,b\n\ufeffc,d\n1,2\n\ufeff"x",y\n', "utf-8")
@example("a,b\n", '"x"y,1\n2,"z\n', "utf-8")
@example("a\n", '""\n\n1\n', "utf-8")
def test_the_same_rows(lead: str, text: str, encoding: str) -> None:
    """Every cell, null or not; whatever Arrow reads otherwise, or not at all, is left to the reader."""
    content = (lead + text).encode(encoding, "replace")
    try:
        view = CsvReader().open(BytesSource(content))
    except BlobsError:
        return
    table = view.table()
    assert table is not None
    assert table.rows is not None
    assert table.texts is not None
    rows = list(table.rows())
    given_rows = [list(each.values()) for batch in table.texts() for each in batch.to_pylist()]
    assert given_rows == rows, repr(content)
    assert types_of(table) == column_types(rows, table.columns, is_text=True)


@given(st.lists(st.lists(st.sampled_from(["a", "1", "", "x y"]), min_size=2, max_size=2), min_size=1, max_size=9))
@settings(max_examples=50, deadline=None)
def test_arrow_reads_what_is_plain(rows: list[list[str]]) -> None:
    """Nothing is left to the reader where nothing is odd: the quick way is taken."""
    content = "".join("0," + ",".join(row) + "\n" for row in rows).encode()
    (batch,) = text_batches(content, previewers.csv_records.Grammar(","), ["a", "b", "c"], 0, len(rows), no_rows)
    assert batch.num_rows == len(rows)


def no_rows() -> Any:
    raise AssertionError("the reader was asked")


NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.from_regex(
    r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?(e[+-][0-9]{1,3})?", fullmatch=True
)


@given(NUMBERS)
@settings(max_examples=300, deadline=None)
@example("0.00001")
@example("0.0001")
@example("-0.0")
@example("123456789012345.6")
@example("0.100000000000000055")
def test_doubles_print_back(text: str) -> None:
    """A text is a double where Python prints the double back as just that text."""
    assert column_typing._are_doubles(pa.array([text], pa.large_string())) == (repr(float(text)) == text)
