"""The door to readers that are somebody's: whatever one does or says, what comes through is what a view promises."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, UnreadableError
from blobs.domain.media_type import parse_media_type
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.cutting import cut_with_count
from blobs.reading.reader import Column, Part, PlugIn, Table, View
from blobs.reading.source import Source

FACTS_BYTES_MAX = 16 * 1024
SHAPE_BYTES_MAX = 256 * 1024
NOTES_MAX = 20
NOTE_CHARS_MAX = 1000
VERIFIED_MAX = 100_000
PARTS_MAX = 10_000
COLUMNS_MAX = 10_000
UNIT_CHARS_MAX = 40
_CAUSE_CHARS_MAX = 300
_DEPTH_MAX = 500
_END = object()


class ReaderError(UnreadableError):
    """A reader broke its promise. The message is for whoever asked; `reader` and `cause` are for the operator."""

    code = "reader_failed"

    def __init__(self, reader: str, cause: str) -> None:
        super().__init__(
            f"The reader {reader!r} failed on it.",
            hint='The bytes are whole: use unit "bytes", or blob_code with language "python" (.bytes()).',
        )
        self.reader = reader
        self.cause = " ".join(cause.split())[:_CAUSE_CHARS_MAX]

    @property
    def line(self) -> str:
        """The fault in one line, as a cell tells it to its host."""
        return f"fault {self.reader}: {self.cause}"


def open_view(plug_in: PlugIn, source: Source) -> View:
    """Open a blob with a reader; a view of a reader that is somebody's is guarded.

    Raises `ReaderError` where that raises anything but a `BlobsError`, or gives what is no view.
    """
    assert plug_in.reader is not None  # for the type checker: only readers in use open anything
    if plug_in.is_built_in:
        return plug_in.reader.open(source)
    with _door(plug_in.name):
        view = plug_in.reader.open(source)
    return GuardedView(view, plug_in.name)


@contextmanager
def _door(reader: str) -> Iterator[None]:
    try:
        yield
    except (BlobsError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the plug-in door: a foreign reader may raise anything, `SystemExit` too
        raise ReaderError(reader, f"{type(error).__name__}: {error}") from error


class GuardedView(BaseView):
    """A view that is checked at every step: types, bounds, and that there are as many items as it counts."""

    def __init__(self, view: View, reader: str) -> None:
        super().__init__()
        self._view, self._reader = view, reader
        with _door(reader):
            self.unit = self._checked("unit", view.unit, _is_unit)
            self.count = self._checked("count", view.count, _is_count)
            columns = self._checked("columns", view.columns, _are_columns)
            self.columns = None if columns is None else list(columns)
            self.parts = list(self._checked("parts", view.parts, _are_parts))[:PARTS_MAX]
            notes = self._checked("notes", view.notes, _are_texts)
            self.notes = [cut_with_count(note, NOTE_CHARS_MAX) for note in notes[:NOTES_MAX]]
            self.text_encoding = self._checked("text_encoding", getattr(view, "text_encoding", None), _is_text_or_none)
            self.text_source = getattr(view, "text_source", None)
            self.bytes_source = getattr(view, "bytes_source", None)
        if (self.unit is None) != (self.count is None):
            raise self._fault(f"unit is {self.unit!r}, but count is {self.count!r}")

    def verify(self) -> None:
        """Walk the items, the first `VERIFIED_MAX` of them: a count is told to a model, so it must be that of them."""
        for _ in self.items(ItemRange(0, min(self.count or 0, VERIFIED_MAX))):
            pass

    def items(self, span: ItemRange) -> Iterator[Any]:
        """The items of the range; raises `ReaderError` where they are not as many as they must be, or no JSON."""
        return self._walk(span, "items")

    def glimpse(self, span: ItemRange) -> Iterator[Any]:
        """The items of the range as a preview needs them, under the same rules."""
        return self._walk(span, "glimpse")

    def _walk(self, span: ItemRange, method: str) -> Iterator[Any]:
        wanted = len(range(span.start, min(span.stop, self.count or 0)))
        with _door(self._reader):
            items = iter(getattr(self._view, method)(span))
        given = 0
        while True:
            with _door(self._reader):
                item = next(items, _END)
            if item is _END:
                break
            given += 1
            if given > wanted:
                raise self._fault(f"gives more than {wanted} {self.unit} from {span.start} to {span.stop}")
            yield self._checked_item(item)
        if given < wanted:
            raise self._fault(f"counts {self.count} {self.unit}, but gives {given} of {wanted} from {span.start} on")

    def _checked_item(self, item: Any) -> Any:
        if not is_json(item):
            raise self._fault(f"gives an item of type {type(item).__name__} that is no JSON")
        if self.columns is not None and (not isinstance(item, list) or len(item) != len(self.columns)):
            raise self._fault(f"gives a row that is not a list of {len(self.columns)} cells")
        return item

    def shape(self) -> Any:
        """A sketch, or None; of JSON, and bounded."""
        return self._json("shape", SHAPE_BYTES_MAX)

    def facts(self) -> dict[str, Any]:
        """What else is known: a JSON object, and bounded."""
        facts = self._json("facts", FACTS_BYTES_MAX)
        if not isinstance(facts, dict) or not all(isinstance(name, str) for name in facts):
            raise self._fault("facts are no object")
        return facts

    def part(self, name: str) -> View:
        """The part, guarded as well."""
        return GuardedView(self._ask("part", name), self._reader)

    def at(self, path: str) -> View:
        """The place inside, guarded as well."""
        return GuardedView(self._ask("at", path), self._reader)

    def render(self, item: Any) -> str:
        """An item as text."""
        if not hasattr(self._view, "render"):
            return super().render(item)
        return str(self._checked("render", self._ask("render", item), _is_text))

    def text_length(self) -> int:
        """The number of characters."""
        return int(self._checked("text_length", self._ask("text_length"), _is_number))

    def text_offset(self, item: int) -> int:
        """Where an item begins."""
        return int(self._checked("text_offset", self._ask("text_offset", item), _is_number))

    def text(self, start: int, stop: int) -> str:
        """A piece of the text, no longer than asked for."""
        text = str(self._checked("text", self._ask("text", start, stop), _is_text))
        if len(text) > max(0, stop - start):
            raise self._fault(f"gives {len(text)} characters from {start} to {stop}")
        return text

    def search_texts(self, item: Any, columns: list[str] | None) -> Iterator[tuple[str | None, str]]:
        """The texts that a search looks at."""
        with _door(self._reader):
            texts = list(self._view.search_texts(item, columns))
        for each in texts:
            name, text = self._checked("search_texts", each, _is_named_text)
            yield name, text

    def place(self, index: int) -> dict[str, Any]:
        """Where an item lies."""
        place = self._json("place", FACTS_BYTES_MAX, index)
        return place if isinstance(place, dict) else {}

    def strays(self) -> Iterator[tuple[int, str]]:
        """What is in no item."""
        with _door(self._reader):
            strays = iter(self._view.strays())
        while True:
            with _door(self._reader):
                stray = next(strays, _END)
            if stray is _END:
                return
            number, line = self._checked("strays", stray, _is_stray)
            yield number, line

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """A blob of the items of a range."""
        content, media_type = self._checked("slice", self._ask("slice", span), _is_slice)
        return content, media_type

    def table(self) -> Table | None:
        """The table, with rows that are as wide as it says and as many as the items are."""
        table = self._ask("table")
        if table is None:
            return None
        if not isinstance(table, Table) or not _are_texts(table.columns):
            raise self._fault("table is no Table")
        rows = table.rows
        if rows is None:
            return table
        return Table(list(table.columns), lambda: self._rows(rows, len(table.columns)), is_text=table.is_text)

    def _rows(self, rows: Callable[[], Iterator[list[Any]]], width: int) -> Iterator[list[Any]]:
        with _door(self._reader):
            given = iter(rows())
        while True:
            with _door(self._reader):
                row = next(given, _END)
            if row is _END:
                return
            if not isinstance(row, list) or len(row) != width:
                raise self._fault(f"gives a row of its table that is not a list of {width} cells")
            yield row

    def _ask(self, method: str, *arguments: Any) -> Any:
        with _door(self._reader):
            return getattr(self._view, method)(*arguments)

    def _json(self, method: str, bytes_max: int, *arguments: Any) -> Any:
        value = self._checked(method, self._ask(method, *arguments), is_json)
        size = len(exact_json.dumps(value))
        if size > bytes_max:
            raise self._fault(f"{method} is {size} bytes long, and may be {bytes_max}")
        return value

    def _checked(self, name: str, value: Any, test: Callable[[Any], bool]) -> Any:
        if not test(value):
            raise self._fault(f"{name} is of a wrong type: {type(value).__name__}")
        return value

    def _fault(self, cause: str) -> ReaderError:
        return ReaderError(self._reader, cause)


def is_json(value: Any, depth: int = 0) -> bool:
    """The value is made of JSON's own types, of finite depth, and nothing that would only be written like them."""
    if depth > _DEPTH_MAX:
        return False
    if isinstance(value, list):
        return all(is_json(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(each, depth + 1) for key, each in value.items())
    return value is None or isinstance(value, str | bool | int | float | exact_json.Number)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_unit(value: Any) -> bool:
    return value is None or (isinstance(value, str) and 0 < len(value) <= UNIT_CHARS_MAX and value.isprintable())


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_count(value: Any) -> bool:
    return value is None or _is_number(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _are_columns(value: Any) -> bool:
    if value is None:
        return True
    is_list = isinstance(value, list | tuple) and len(value) <= COLUMNS_MAX
    return is_list and all(isinstance(each, Column) and _are_texts([each.name, each.type]) for each in value)


def _are_parts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(each, Part) and _are_texts([each.name, each.unit, each.note]) and _is_count(each.count)
        for each in value
    )


def _is_named_text(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and _is_text_or_none(value[0]) and isinstance(value[1], str)


def _is_stray(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and _is_number(value[0]) and isinstance(value[1], str)


def _is_slice(value: Any) -> bool:
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], bytes) and isinstance(value[1], str)):
        return False
    try:
        return parse_media_type(value[1]) == value[1]
    except BlobsError:
        return False
