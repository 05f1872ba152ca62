"""DuckDB's errors as a model should read them: its own words, line and place, nothing of the host, and what exists."""

import re
from collections.abc import Iterable, Mapping

from blobs.domain.errors import ToolInputError
from blobs.querying.names import quoted

LINES_BEFORE = 1
"""Lines that the wrapping puts before a model's query."""
MESSAGE_CHARS_MAX = 2_000
HINT_CHARS_MAX = 1_500
COLUMNS_MAX = 60

_PREFIX = re.compile(r"\A(?:[A-Za-z]+ )+Error: ")
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_SUGGESTION = re.compile(r'\nDid you mean "[^\n]*\n?')
_OVERLOADS = re.compile(r"(?:\n\t[^\n]*)+")

Tables = Mapping[str, Iterable[tuple[str, str]]]


def is_interrupt(error: BaseException) -> bool:
    """The query was stopped at its deadline."""
    return str(error).startswith("INTERRUPT Error")


def is_out_of_memory(error: BaseException) -> bool:
    """The query needed more memory, or room for its temporary files, than it may have."""
    return isinstance(error, MemoryError) or str(error).startswith(("Out of Memory Error", "malloc of size"))


def is_over_38_digits(error: BaseException) -> bool:
    """A whole number did not fit the longest DECIMAL."""
    return "DECIMAL(38,0)" in str(error) or "DECIMAL(38, 0)" in str(error)


def told(error: BaseException, *, tables: Tables, paths: Iterable[str], wall_ms: int) -> ToolInputError:
    """The error that a model reads for what DuckDB raised."""
    if is_out_of_memory(error):
        return ToolInputError(
            "The query needs more memory than it may have.",
            code="sql_memory",
            hint="Select fewer columns, filter before joining or sorting, or aggregate in steps.",
        )
    if is_interrupt(error):
        return ToolInputError(
            f"The query did not end within {wall_ms:,} ms.",
            code="sql_timeout",
            hint="Filter or aggregate earlier, avoid joins without a key, or add a LIMIT.",
        )
    message = _message(str(error), paths)
    # The hint begins a line of its own below the line that the message points at.
    return ToolInputError(
        f"{message}\n" if "\n" in message else message, code="sql_error", hint=_hint(str(error), tables)
    )


def _message(text: str, paths: Iterable[str]) -> str:
    for path in paths:
        text = text.replace(path, "the table's file")
    text = _PREFIX.sub("", text.strip())
    if "does not exist" in text:
        text = _SUGGESTION.sub("\n", text)  # it may name a table of DuckDB's own
    text = _OVERLOADS.sub("\n", text)
    text = _LINE.sub(lambda line: f"LINE {max(1, int(line.group(1)) - LINES_BEFORE)}:", text)
    text = re.sub(r"\n{2,}", "\n", text).rstrip()
    hidden = len(text) - MESSAGE_CHARS_MAX
    return text if hidden <= 0 else f"{text[:MESSAGE_CHARS_MAX]}…(+{hidden} chars)"


def _hint(text: str, tables: Tables) -> str:
    advice = ""
    if "external access" in text or "Permission Error" in text or "disabled by configuration" in text:
        advice = "Only the tables can be read: no files, no network, no settings. "
    elif "VARCHAR" in text and "No function matches" in text:
        advice = "A VARCHAR column is text as written: use TRY_CAST(x AS DOUBLE), or DATE, TIMESTAMP. "
    elif "top level" in text:
        advice = "Write one SELECT; the tables cannot be changed. "
    return advice + table_list(tables)


def table_list(tables: Tables) -> str:
    """`Tables: blob1 (id BIGINT, zip VARCHAR).`, each name as SQL needs it, cut where it is long."""
    listed = []
    for name, columns in tables.items():
        blob, dot, part = name.partition(".")
        called = quoted(blob) + (f".{quoted(part)}" if dot else "")
        fields = [f"{quoted(column)} {kind}" for column, kind in columns]
        hidden = len(fields) - COLUMNS_MAX
        more = [f"… {hidden} more"] if hidden > 0 else []
        listed.append(f"{called} ({', '.join([*fields[:COLUMNS_MAX], *more])})")
    text = f"Tables: {', '.join(listed)}."
    hidden = len(text) - HINT_CHARS_MAX
    return text if hidden <= 0 else f"{text[:HINT_CHARS_MAX]}…(+{hidden} chars)"
