"""Records as columns of text, read by Arrow where it is sure to read them as `csv_records` does."""

import codecs
from collections.abc import Callable, Iterator
from itertools import islice

import pyarrow as pa
from pyarrow import csv

from previewers.csv_records import Grammar, are_well_formed

_ROWS_TOGETHER = 4096


def text_batches(
    records: bytes,
    grammar: Grammar,
    columns: list[str],
    lead: int,
    count: int,
    rows: Callable[[], Iterator[list[str | None]]],
) -> Iterator[pa.RecordBatch]:
    """The last `count` of so many and `lead` whole records, all columns text; `rows` gives them where Arrow does not.

    It does where quotes stand in their places, each row is as wide as the columns, and their number is the same.
    """
    read = _read(records, grammar, len(columns)) if columns else None
    if read is not None and len(read) == lead + count:
        for batch in read.to_batches():
            yield batch.slice(lead)
            lead = 0
        return
    given = rows()
    while some := list(islice(given, _ROWS_TOGETHER)):
        arrays = [pa.array(cells, pa.large_string()) for cells in zip(*some, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=_names(len(columns)))


def _read(records: bytes, grammar: Grammar, width: int) -> pa.Table | None:
    if not records or records.startswith(codecs.BOM_UTF8):
        return None
    if grammar.is_quoted and b'"' in records and not are_well_formed(records, grammar):
        return None
    if not records.endswith((b"\n", b"\r")):
        records += b"\n"  # Arrow takes an empty cell at the very end for one in quotes if there was one before it
    names = _names(width)
    try:
        return csv.read_csv(
            pa.py_buffer(records),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(records) + 1),
            parse_options=csv.ParseOptions(
                delimiter=grammar.delimiter,
                quote_char='"' if grammar.is_quoted else False,
                double_quote=grammar.is_quoted,
                newlines_in_values=True,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:  # a row of another width
        return None


def _names(width: int) -> list[str]:
    return [str(place) for place in range(width)]
