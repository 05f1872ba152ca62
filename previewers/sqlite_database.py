"""SQLite databases: the rows of all tables and views, each of which is a part.

A database of one table is that table. Of several, the whole is the rows of one after the other, each as
`{"table", "row"}`. Values have types of their own in SQLite: a column that holds values of several kinds is text in
SQL, with a column `…_typeof` at the end of the table that says what each was.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import isfinite, isnan
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.querying.columnar import column_types
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Column, Confidence, Part, Sample, Table, View
from blobs.reading.source import Source
from previewers.binary_text import blob_text
from previewers.sqlite_file import BLOB, MAGIC, NUMBER, TEXT, WHAT, Relation, SqliteFile, damaged, inventory

SQLITE = "application/vnd.sqlite3"
_LOOKED_AT_CELLS_MAX = 1_000_000
"""Up to here every value is looked at when a database is opened, which takes a tenth of a second."""
_SHAPE_COLUMNS_MAX = 100
_SHAPE_TABLES_MAX = 50
_NOTES_MAX = 19
_KIND_NAMES = ((NUMBER, "numbers"), (TEXT, "texts"), (BLOB, "blobs"))
_TYPES = {int: "integer", float: "real", str: "text", bytes: "blob", type(None): "null"}
_NONFINITE = {text: exact_json.loads(text) for text in ("NaN", "Infinity", "-Infinity")}


class SqliteReader:
    """SQLite databases."""

    name = "sqlite"
    media_types = (SQLITE,)
    aliases = ("application/x-sqlite3", "application/sqlite3")

    def sniff(self, sample: Sample) -> Confidence:
        """The signature in front."""
        return Confidence(100, SQLITE) if sample.head.startswith(MAGIC) else Confidence.NO

    def open(self, source: Source) -> View:
        """The rows; raises `UnreadableError` where the database is damaged."""
        if source.read(0, len(MAGIC)) != MAGIC:
            raise UnreadableError(f"This is no {WHAT}.")
        file = SqliteFile(source)
        found = inventory(file)
        relations = _looked_at(found.relations)
        notes = list(found.notes)
        if file.is_wal:
            notes.insert(0, "in WAL mode: what was written last may be in a -wal file, which is not here")
        if file.has_bad_text:
            notes.append(r"some texts are not valid UTF-8: their bad bytes are shown as \xnn")
        if len(relations) == 1 and relations[0].count is not None:
            return TableView(relations[0], notes=notes, is_alone=True)
        return DatabaseView(relations, notes)


class TableView(BaseView):
    """The rows of one table or view."""

    unit: str | None = "rows"

    def __init__(self, relation: Relation, *, notes: list[str] | None = None, is_alone: bool = False) -> None:
        super().__init__()
        self.relation = relation
        self.count = relation.count if relation.count is not None else _counted(relation)
        self.columns: list[Column] | None = [Column(name) for name in relation.columns]
        self.notes.extend(notes or [])
        if is_alone:
            self.parts = [Part(relation.name, "rows", self.count, relation.note)]
            self.notes.extend(_mixture(relation))

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """Rows of exact values; blobs are told as text."""
        for row in self.relation.rows(span, self.count or 0):
            yield [_shown(cell) for cell in row]

    def part(self, name: str) -> View:
        """The table itself by its name, if it is alone in its database."""
        if self.parts and name.casefold() == self.relation.name.casefold():
            return TableView(self.relation)
        return super().part(name)

    def table(self) -> Table:
        """All rows; where a column holds values of several kinds, a column at the end says which each is."""
        mixed = _mixed_columns(self.relation)
        names = [f"{self.relation.columns[place]}_typeof" for place in mixed]

        def rows() -> Iterator[list[Any]]:
            for row in self.relation.rows(ItemRange(0, self.count or 0), self.count or 0):
                cells = list(row)
                for place in mixed:
                    if isinstance(cells[place], bytes):
                        cells[place] = blob_text(cells[place], bytes_max=None)
                yield [*cells, *(_TYPES[type(row[place])] for place in mixed)]

        return Table([*self.relation.columns, *names], rows=rows)

    def typed_columns(self) -> list[str]:
        """The columns as they are in SQL."""
        table = self.table()
        assert table.rows is not None  # given above
        return [f"{each.name} {each.type}" for each in column_types(table.rows(), table.columns, is_text=False)]


class DatabaseView(BaseView):
    """The rows of all tables and views, one after the other."""

    unit: str | None = "rows"

    def __init__(self, relations: list[Relation], notes: list[str]) -> None:
        super().__init__()
        self._relations = relations
        self.parts = [Part(each.name, "rows", each.count, each.note) for each in relations]
        self._counted = [each for each in relations if each.count is not None]
        self._starts = [0, *accumulate(each.count or 0 for each in self._counted)]
        self.count: int | None = self._starts[-1]
        if relations:
            notes = [*notes, "in SQL each table is a part; the blob itself is all rows as JSON, with their table"]
        notes.extend(f"{each.name}: {note}" for each in relations for note in _mixture(each))
        self.notes.extend(note[:300] for note in notes[:_NOTES_MAX])
        if len(notes) > _NOTES_MAX:
            self.notes.append(f"and {len(notes) - _NOTES_MAX} more notes")

    def items(self, span: ItemRange) -> Iterator[dict[str, Any]]:
        """Rows as `{"table", "row": {column: value}}`."""
        for relation, row in self._rows(span):
            cells = dict(zip(relation.columns, map(_shown, row), strict=True))
            yield {"table": relation.name, "row": cells}

    def search_texts(self, item: Any, columns: list[str] | None) -> Iterator[tuple[str | None, str]]:
        """Each value with the name of its column."""
        for name, cell in item["row"].items():
            if cell is not None and (columns is None or name in columns):
                yield name, self.render(cell)

    def place(self, index: int) -> dict[str, Any]:
        """The table and the number of the row in it."""
        which = bisect_right(self._starts, index) - 1
        return {"part": self._counted[which].name, "part_item": index - self._starts[which]}

    def shape(self) -> dict[str, list[str]]:
        """The columns of each table and view, as they are in SQL where the database is small enough to look."""
        is_small = _cells(self._counted) <= _LOOKED_AT_CELLS_MAX // 4
        return {
            each.name: [
                name[:100]
                for name in (TableView(each).typed_columns() if is_small and each.count is not None else each.columns)[
                    :_SHAPE_COLUMNS_MAX
                ]
            ]
            for each in self._relations[:_SHAPE_TABLES_MAX]
        }

    def part(self, name: str) -> View:
        """The table or view of this name; SQLite ignores case."""
        for relation in self._relations:
            if relation.name == name:
                return TableView(relation)
        for relation in self._relations:
            if relation.name.casefold() == name.casefold():
                return TableView(relation)
        raise ToolInputError(f"part: there is no table {name[:80]!r}.", hint=self._parts_hint())

    def table(self) -> Table:
        """All rows as JSON beside the name of their table."""

        def rows() -> Iterator[list[Any]]:
            for relation, row in self._rows(ItemRange(0, self.count or 0)):
                cells = [_shown(cell, bytes_max=None) for cell in row]
                yield [relation.name, dict(zip(relation.columns, cells, strict=True))]

        return Table(["table", "row"], rows=rows)

    def _rows(self, span: ItemRange) -> Iterator[tuple[Relation, tuple[Any, ...]]]:
        for relation, begin in zip(self._counted, self._starts, strict=False):
            start, stop = max(0, span.start - begin), min(relation.count or 0, span.stop - begin)
            if start < stop:
                for row in relation.rows(ItemRange(start, stop), stop):
                    yield relation, row


def _looked_at(relations: list[Relation]) -> list[Relation]:
    """The relations of a small database after every value was read once: damage and bad text are found out."""
    counted = [each for each in relations if each.count is not None]
    if _cells(counted) > _LOOKED_AT_CELLS_MAX:
        return relations
    looked_at = []
    for relation in relations:
        kept = relation
        if relation.count is not None:
            try:
                for _ in relation.rows(ItemRange(0, relation.count), relation.count):
                    pass
            except UnreadableError:
                kept = damaged(relation)
        looked_at.append(kept)
    return looked_at


def _cells(relations: list[Relation]) -> int:
    return sum((each.count or 0) * len(each.columns) for each in relations)


def _counted(relation: Relation) -> int:
    return sum(1 for _ in relation.rows(ItemRange(0, 2**62), 2**62))


def _mixed_columns(relation: Relation) -> list[int]:
    if "damaged" in relation.note:
        return []
    return [place for place, bits in enumerate(relation.kinds) if bits not in (0, NUMBER, TEXT, BLOB)]


def _mixture(relation: Relation) -> Iterator[str]:
    """What should be known of the values of a small table."""
    if relation.count is None or _cells([relation]) > _LOOKED_AT_CELLS_MAX or "damaged" in relation.note:
        return
    for place in _mixed_columns(relation):
        name = relation.columns[place]
        kinds = [word for bit, word in _KIND_NAMES if relation.kinds[place] & bit]
        told = " and ".join([", ".join(kinds[:-1]), kinds[-1]])
        yield f"{name} holds {told}: in SQL it is text, and {name}_typeof says what each value is"


def _shown(cell: Any, bytes_max: int | None = 256) -> Any:
    if isinstance(cell, bytes):
        return blob_text(cell, bytes_max=bytes_max)
    if isinstance(cell, float) and not isfinite(cell):
        return _NONFINITE["NaN" if isnan(cell) else "Infinity" if cell > 0 else "-Infinity"]
    return cell
