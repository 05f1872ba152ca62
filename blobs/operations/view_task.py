"""Everything that is done with a view, as one task: in this process for small light formats, else in a cell.

Arguments are JSON: `op` (profile, index, read, search, columnar, export), and what the op needs. The answer is JSON,
with the bytes of a slice, an index or a columnar copy streamed beside it.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.operations.answers import chosen_columns
from blobs.operations.exporting import export
from blobs.operations.profiling import profile
from blobs.operations.read import SliceNeeded, read_bytes, read_chars, read_items
from blobs.operations.reader_faults import load_faults
from blobs.operations.search import search
from blobs.operations.tools import ReadCall, SearchCall
from blobs.reading.base_view import BaseView
from blobs.reading.cutting import cut_with_count
from blobs.reading.guarding import ReaderError
from blobs.reading.opening import openings, reopen, takes_index
from blobs.reading.reader import Column, View
from blobs.reading.registry import Registry
from blobs.reading.source import FileSource, Source, TooMuchReadError
from blobs.reading.tokens import count_tokens

_INDEX = "index."
_KNOWN_CHARS_MAX = 400
"""Of what is known of a blob without items, in the refusal to read any."""


class Reply(Protocol):
    """Where a task writes bytes that belong to its answer."""

    def write(self, chunk: bytes) -> object: ...


def run(arguments: Mapping[str, Any], files: Mapping[str, str], reply: Reply) -> Any:
    """The task as a cell runs it: the blob is the file named `blob`, indexes of it are named after their readers."""
    registry = registry_of(arguments.get("readers_dir"))
    indexes = indexes_of({name: FileSource(path).buffer() for name, path in files.items() if name.startswith(_INDEX)})
    for line in load_faults(registry):
        _tell_host(line)
    try:
        return work(FileSource(files["blob"]), arguments, reply, registry=registry, tell=_tell_host, indexes=indexes)
    except ReaderError as fault:
        _tell_host(fault.line)
        raise


def indexes_of(files: Mapping[str, memoryview]) -> dict[str, memoryview]:
    """The indexes by their readers, of files named as `index_file` names them."""
    return {name.removeprefix(_INDEX): content for name, content in files.items()}


def index_file(reader: str) -> str:
    """What the file with a reader's index is called in a cell."""
    return _INDEX + reader


def warm_up() -> None:
    """Load, before cells are forked, what every one of them would load: readers, token ranks, the search engine."""
    import re2

    registry_of(None).plug_ins()
    count_tokens("one word")
    re2.compile("a")


def _tell_host(line: str) -> None:
    print(line, flush=True)  # the host reads it even where this process is killed


@functools.cache
def registry_of(readers_dir: str | None) -> Registry:
    """The registry of this process for a readers folder; loaded once."""
    return Registry(readers_dir=readers_dir)


def work(
    source: Source,
    arguments: Mapping[str, Any],
    reply: Reply,
    *,
    registry: Registry,
    tell: Callable[[str], None] = lambda _: None,
    indexes: Mapping[str, memoryview] | None = None,
) -> Any:
    """Do one op over the source; see the functions below for their arguments and answers.

    `indexes` are those of the source, by the names of their readers.
    """
    if arguments["op"] == "profile":
        return _profile(_Blob(source, registry, indexes or {}), arguments, reply, tell)
    operations = {"index": _index, "read": _read, "search": _search, "columnar": _columnar, "export": _export}
    return operations[arguments["op"]](_Blob(source, registry, indexes or {}), arguments, reply)


@dataclass(frozen=True, slots=True)
class _Blob:
    """A blob, what can read it, and what is known of it."""

    source: Source
    registry: Registry
    indexes: Mapping[str, memoryview]

    def open(self, reader: str) -> View:
        view = reopen(self.registry, self.source, reader, self.indexes.get(reader))
        if isinstance(view, BaseView) and view.text_source is None:
            view.text_index = self.indexes.get("text")
        return view


def _profile(blob: _Blob, arguments: Mapping[str, Any], reply: Reply, tell: Callable[[str], None]) -> dict[str, Any]:
    """What a handle says, as JSON; where `is_indexed` asks for it, the index that was found on the way in the reply.

    A reader that opens the blob and fails over its items is passed over. `typed_bytes_max` is the size up to which the
    columns of a table are given types here; a larger table raises `TooMuchReadError`.
    """
    notes = list(arguments["notes"])
    source, declared, avoid = blob.source, arguments.get("declared_type"), arguments["avoid"]
    for opened in openings(blob.registry, source, declared, avoid=avoid, tell=tell, indexes=blob.indexes):
        try:
            found = profile(
                replace(opened, notes=(*notes, *opened.notes)),
                source,
                seed=bytes.fromhex(arguments["seed"]),
                preview_bytes_max=arguments["preview_bytes_max"],
                typed_bytes_max=arguments.get("typed_bytes_max"),
            )
            if arguments.get("is_indexed") and takes_index(opened.plug_in):
                reply.write(opened.view.index_bytes() or b"")
            return found.to_json()
        except ReaderError as fault:
            tell(fault.line)
            notes.append(fault.message)
        except BlobsError as problem:
            notes.append(f"not readable as {opened.type}: {problem.message}")
        except TooMuchReadError:
            raise
        except Exception as fault:  # noqa: BLE001  # the plug-in door: a view may raise anything over damaged bytes
            tell(f"fault {opened.plug_in.name}: {type(fault).__name__}: {fault}")
            notes.append(f"the reader {opened.plug_in.name!r} failed on it")
    raise UnreadableError("No reader can tell what this blob is.", hint='Use unit "bytes".')


def _index(blob: _Blob, arguments: Mapping[str, Any], reply: Reply) -> Any:
    """The index of the blob for a reader in the reply, if it has any."""
    index = reopen(blob.registry, blob.source, arguments["reader"]).index_bytes()
    reply.write(index or b"")
    return {"is_indexed": index is not None}


def _read(blob: _Blob, arguments: Mapping[str, Any], reply: Reply) -> Any:
    """`{"data"}`, or `{"fits", "start", "count", "total"}` where the slice must be stored; then it is in the reply."""
    call = _read_call(arguments["call"])
    bytes_max = arguments["bytes_max"]
    view, content = None, blob.source
    try:
        if call.unit == "bytes":
            content = _content(blob, call, arguments["reader"])
            return {"data": read_bytes(content, call, bytes_max=bytes_max)}
        view = _view(blob, call, arguments["reader"], arguments["type"])
        if call.unit == "chars":
            return {"data": read_chars(view, call, bytes_max=bytes_max)}
        return {"data": read_items(view, call, bytes_max=bytes_max)}
    except SliceNeeded as needed:
        media_type = _write_slice(content, view, call, needed.span, reply)
        return {
            "fits": needed.fits,
            "start": needed.span.start,
            "count": len(needed.span),
            "total": needed.total,
            "unit": call.unit if view is None or call.unit == "chars" else view.unit,
            "type": media_type,
        }


def _write_slice(source: Source, view: View | None, call: ReadCall, span: ItemRange, reply: Reply) -> str:
    if call.unit == "bytes" or view is None:
        reply.write(source.read(span.start, span.stop))
        return "application/octet-stream"
    if call.unit == "chars":
        reply.write(view.text(span.start, span.stop).encode())
        return "text/plain"
    content, media_type = _NarrowView(view, call.columns).slice(span) if call.columns else view.slice(span)
    reply.write(content)
    return media_type


class _NarrowView(BaseView):
    """Some columns of a table."""

    def __init__(self, view: View, columns: tuple[str, ...]) -> None:
        super().__init__()
        chosen = chosen_columns(view, columns) or []
        self.unit, self.count = view.unit, view.count
        self.columns = [(view.columns or [])[place] for _, place in chosen]
        self._view, self._places = view, [place for _, place in chosen]

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        for row in self._view.items(span):
            yield [row[place] if place < len(row) else None for place in self._places]


def _search(blob: _Blob, arguments: Mapping[str, Any], reply: Reply) -> Any:
    del reply
    deadline = time.monotonic() + arguments["wall_ms"] / 1000  # opening the view takes of it too
    call = _search_call(arguments["call"])
    view = _view(blob, call, arguments["reader"], arguments["type"])
    size = (view.text_source or view.bytes_source or blob.source).size
    data = search(view, call, bytes_max=arguments["bytes_max"], deadline=deadline, source_bytes=size)
    return {"data": data}


def _columnar(blob: _Blob, arguments: Mapping[str, Any], reply: Reply) -> Any:
    """The columnar copy of a view or one of its parts, as Parquet in the reply; `{"columns": ["id BIGINT", …]}`.

    Where the blob itself serves as its copy the reply stays empty and `as_it_is` is true. Where the first rows were
    misleading it is useless and `types` is given, to be the argument of that name the next time.
    """
    from blobs.querying import columnar  # heavy: only who makes a copy loads it

    view = blob.open(arguments["reader"])
    if arguments.get("part"):
        view = view.part(arguments["part"])
    table = view.table()
    if table is None:
        raise ToolInputError(
            "The blob has no rows that SQL could query.", hint='Use language "python".', code="no_table"
        )
    is_own_copy = view.bytes_source is None and not arguments.get("part")
    columns = columnar.columns_as_they_are(table) if is_own_copy else None
    answer: dict[str, Any] = {"as_it_is": columns is not None}
    if columns is None and arguments.get("types"):
        columns = columnar.write_parquet(table, reply, [Column(*each) for each in arguments["types"]])
    elif columns is None:
        columns, is_whole = columnar.write_parquet_in_one_pass(table, reply)
        if not is_whole:
            answer["types"] = [[column.name, column.type] for column in columns]
    return {**answer, "columns": [f"{column.name} {column.type}" for column in columns]}


def _export(blob: _Blob, arguments: Mapping[str, Any], reply: Reply) -> Any:
    """A table as text of the type asked for, in the reply."""
    export(blob.open(arguments["reader"]), arguments["type"], reply)
    return {}


def _view(blob: _Blob, call: ReadCall | SearchCall, reader: str, media_type: str) -> View:
    """The view that a call means: another reader for lines, a part, a path, or a refusal that says the next step."""
    unit = getattr(call, "unit", "items")
    view = blob.open(reader)
    if call.part is not None:
        view = view.part(call.part)
    if call.path is not None:
        view = view.at(call.path)
    if unit == "lines" and view.unit != "lines":
        view = _as_lines(blob, view, call)
    if view.unit is None and unit != "bytes":
        known = "; ".join(f"{name} {exact_json.text(value)}" for name, value in view.facts().items())
        part = "" if call.part is None else f"part={call.part!r}"
        what = f"{call.blob} is {media_type} and has" if call.part is None else f"part: {call.part!r} has"
        raise ToolInputError(
            f"{what} no items to read{': ' if known else ''}{cut_with_count(known, _KNOWN_CHARS_MAX)}.",
            hint=(
                "Use a tool of yours that reads this format if there is one, "
                f'blob_code with language "python" ({call.blob}.bytes({part})), or blob_read with unit "bytes".'
            ),
            code="no_items",
        )
    return view


def _as_lines(blob: _Blob, view: View, call: ReadCall | SearchCall) -> View:
    is_elsewhere = call.part is not None or call.path is not None
    if view.text_encoding is None or (is_elsewhere and view.text_source is None):
        raise ToolInputError(
            f"unit: {call.blob} has no lines{' at that place' if call.part or call.path else ''}.",
            hint=f'Use unit "items"{"" if view.unit is None else f" (its {view.unit})"} or "chars".',
        )
    return blob.open("text") if view.text_source is None else reopen(blob.registry, view.text_source, "text")


def _content(blob: _Blob, call: ReadCall, reader: str) -> Source:
    """The bytes that a call means: the blob's own, or those of a part that has any, as the members of archives do."""
    content: Source | None = blob.source
    if call.part is not None:
        content = blob.open(reader).part(call.part).bytes_source
    if content is None or call.path is not None or call.columns is not None:
        raise ToolInputError(
            'unit: "bytes" counts over a whole blob, or over a member of an archive.',
            hint='Leave part, path and columns out, or use unit "chars".',
        )
    return content


def _read_call(value: Mapping[str, Any]) -> ReadCall:
    return ReadCall(**{**value, "columns": _tuple(value.get("columns"))})


def _search_call(value: Mapping[str, Any]) -> SearchCall:
    return SearchCall(**{**value, "columns": _tuple(value.get("columns"))})


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(value)
