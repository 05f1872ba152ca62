"""Which delimiter a text of records has, whether its quotes mean anything, and whether its first record is a header."""

import re
from dataclasses import dataclass
from itertools import islice
from statistics import mode

from blobs.reading.decoding import UTF8, Encoding
from blobs.reading.source import BytesSource
from previewers.csv_records import Grammar, each_record

DELIMITERS = ",\t;|"
_ROWS_MAX = 1000
_CONSISTENT = 0.9

_TYPED = re.compile(
    r"\s*(?:"
    r"(?P<number>[-+]?[$€£]?\s?(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)?(?:[.,]\d*)?(?:[eE][-+]?\d+)?\s?%?(?<=[\d.%])"
    r"|nan|[-+]?inf)"
    r"|(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?)"
    r"|(?P<time>\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?)"
    r"|(?P<boolean>true|false)"
    r")\s*",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_NAME = re.compile(r"[^\W\d][\w .()/%#$&:+-]{0,59}")
_BRACKET = re.compile(r"[()\[\]{}]")
_RULE = re.compile(r"[-+|=: ]{3,}")
_LOG_TIME = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d,\d{3}\b")

_SEPARATOR = re.compile(rb'"?sep=([,\t;|])"?\r?\n', re.IGNORECASE)
_COMMENTS = re.compile(rb"(?:#[^\r\n]*(?:\r\n|\n|\r)){1,200}")

Row = list[str | None]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text of records is read, and how sure that is.

    `consistency` is the share of rows in the sample that have the usual number of cells, `width` that number.
    """

    grammar: Grammar
    has_header: bool
    consistency: float
    width: int
    is_table: bool
    """The sample is a table by itself, without anybody having said so."""


def preamble(head: bytes) -> tuple[int, str]:
    """How many bytes of a text come before its table, and the delimiter that they name ("" where they name none).

    That is the line `sep=;` that Excel knows, or lines that begin with `#` and are no header: they have not as many
    cells as the first line after them.
    """
    if named := _SEPARATOR.match(head):
        return named.end(), named[1].decode()
    comments = _COMMENTS.match(head)
    if comments is None:
        return 0, ""
    lines = comments[0].splitlines(keepends=True)
    below = head[comments.end() :].split(b"\n", 1)[0]
    mark = max(DELIMITERS.encode(), key=below.count)
    cells = below.count(mark)
    header = next((place for place, line in enumerate(lines) if cells and line.count(mark) == cells), len(lines))
    return (sum(map(len, lines[:header])) if cells else 0), ""


def find_dialect(head: bytes, *, is_whole: bool, encoding: Encoding = UTF8, delimiter: str = "") -> Dialect:
    """The dialect of a text by its beginning, in UTF-8; `delimiter` is known where the text itself names it."""
    marks = delimiter or [mark for mark in DELIMITERS if mark == "," or mark.encode() in head]
    candidates = [_read(head, Grammar(mark), is_whole=is_whole, encoding=encoding) for mark in marks]
    best = max(candidates, key=_score)
    if best.consistency < _CONSISTENT:
        literal = _read(head, Grammar(best.grammar.delimiter, is_quoted=False), is_whole=is_whole, encoding=encoding)
        if literal.consistency == 1 and len(literal.rows) > 2 and literal.width > 1:
            best = literal
    if best.width < 2 and not delimiter:
        best = next(each for each in candidates if each.grammar.delimiter == ",")
    kinds = _usual_kinds(best.rows, best.width)
    has_header = names_columns(best.rows, kinds)
    is_table = _is_table(best, kinds, has_header=has_header)
    return Dialect(best.grammar, has_header, best.consistency, best.width, is_table)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The sample read with one grammar."""

    grammar: Grammar
    rows: list[Row]
    width: int
    consistency: float


def _read(head: bytes, grammar: Grammar, *, is_whole: bool, encoding: Encoding) -> _Reading:
    records = [record for _, record in islice(each_record(BytesSource(head), 0, grammar), _ROWS_MAX + 1)]
    if not is_whole and len(records) > 1 and len(records) <= _ROWS_MAX:
        records.pop()  # it may be cut
    rows = [grammar.cells(encoding.decode(record)) for record in records[:_ROWS_MAX]]
    if not rows:
        return _Reading(grammar, rows, 0, 0)
    width = mode([len(row) for row in rows])
    return _Reading(grammar, rows, width, sum(len(row) == width for row in rows) / len(rows))


def _score(reading: _Reading) -> float:
    """The higher, the likelier is this delimiter; rows as wide as the header count most."""
    if reading.width < 2:
        return -1 if all(len(row) < 2 for row in reading.rows) else 0.1
    cells = [cell for row in reading.rows[:100] for cell in row[1:]]
    blank = sum(1 for cell in cells if cell is not None and cell[:1] == " ") / max(1, len(cells))
    is_even = len(reading.rows[0]) == reading.width
    return reading.consistency + 0.01 * min(reading.width, 10) - 0.2 * blank + 0.2 * is_even


def names_columns(rows: list[Row], kinds: list[str | None] | None = None) -> bool:
    """Whether the first row names the columns: it does not look like the rows below it.

    `kinds` are the usual ones of the columns where they are known.
    """
    if not rows:
        return False
    kinds = _usual_kinds(rows, 0) if kinds is None else kinds
    first, body = rows[0], rows[1:]
    if all(not (cell or "").strip() for cell in first):
        return bool(body)
    if not body:
        return all(cell and _NAME.fullmatch(cell) for cell in first)
    evidence = 0
    for place, name in enumerate(first):
        if name is None or not name.strip():
            continue
        cells = _column(body, place)
        named, usual = _kind(name), kinds[place]
        if named != usual:
            is_year = _YEAR.fullmatch(name) is not None
            evidence += 1 if usual or is_year else -1
        elif named is not None:
            is_year = _YEAR.fullmatch(name) is not None and not all(_YEAR.fullmatch(cell) for cell in cells)
            evidence -= 0 if is_year else 1
        elif len(cells) > 2 and name in cells:
            evidence -= 1
    return evidence >= 0


def _kind(cell: str) -> str | None:
    found = _TYPED.fullmatch(cell)
    return found.lastgroup if found else None


def _column(rows: list[Row], place: int) -> list[str]:
    """The cells of a column that are not empty."""
    return [cell for row in rows if place < len(row) and (cell := row[place])]


def _usual_kinds(rows: list[Row], width: int) -> list[str | None]:
    """The usual kind in the rows below the first of each of its columns, and of as many as `width` tells."""
    columns = max(width, len(rows[0])) if rows else width
    return [_usual_kind(_column(rows[1:], place)) for place in range(columns)]


def _usual_kind(cells: list[str]) -> str | None:
    """The kind of at least four in five cells; None where that is text, or no kind."""
    known = {cell: _kind(cell) for cell in set(cells)}
    kinds = [known[cell] for cell in cells]
    usual = mode(kinds) if kinds else None
    return usual if usual and kinds.count(usual) >= 0.8 * len(kinds) else None


def _is_table(reading: _Reading, kinds: list[str | None], *, has_header: bool) -> bool:
    """The rows are a table and not prose, code, a log or a drawn table that happens to hold the delimiter."""
    rows, width = reading.rows, reading.width
    is_short = len(rows) < 20
    if len(rows) < 2 or width < 2 or reading.consistency < (1 if is_short else _CONSISTENT):
        return False
    if len(rows[0]) < width:
        return False
    if _looks_drawn(rows) or _looks_written(rows) or _looks_like_code(rows):
        return False
    is_typed = any(kinds[:width])
    is_named = has_header and all(cell is None or _NAME.fullmatch(cell) for cell in rows[0])
    if width == 2:
        return is_named or (is_typed and len(rows) > 2)
    return is_typed or is_named or len(rows) > 2


def _looks_drawn(rows: list[Row]) -> bool:
    """A table drawn with rules (Markdown, psql), or lines that all begin with the delimiter or end with it."""
    drawn = any(all(_RULE.fullmatch(cell or "---") for cell in row) and any(row) for row in rows[:4])
    return drawn or (len(rows[0]) == 2 and sum(not row[-1] or not row[0] for row in rows) >= 0.8 * len(rows))


def _looks_written(rows: list[Row]) -> bool:
    """Prose: blanks after the delimiters, and long pieces; or a log whose times hold the comma."""
    later = [cell for row in rows for cell in row[1:] if cell]
    spaced = sum(1 for cell in later if cell[0] == " " and not _TYPED.fullmatch(cell))
    characters = sum(len(cell or "") for row in rows for cell in row)
    if spaced > 0.5 * len(later) or characters > 200 * sum(map(len, rows)):
        return True
    return all(_LOG_TIME.match(f"{row[0]},{row[1]}") for row in rows[:3] if len(row) > 1)


def _looks_like_code(rows: list[Row]) -> bool:
    """Cells that open what another cell closes: calls, literals, markup."""
    if (rows[0][0] or "").lstrip()[:1] == "<":
        return True
    return sum(map(_is_torn, rows)) > 0.3 * len(rows)


def _is_torn(row: Row) -> bool:
    """A cell without quotes opens what it does not close, or the other way round."""
    return any(
        cell.count(opening) != cell.count(closing)
        for cell in row
        if cell and _BRACKET.search(cell) and '"' not in cell
        for opening, closing in ("()", "[]", "{}")
    )
