"""Everything that is done with a view, as one task: in this process for small light formats, else in a cell.

Arguments are JSON: `op` (profile, read, search, columnar, export), and what the op needs. The answer is JSON, with the
bytes of a slice or of a columnar copy streamed beside it.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from blobs.domain.errors import ToolInputError
from blobs.domain.ranges import ItemRange
from blobs.operations.answers import chosen_columns
from blobs.operations.exporting import export
from blobs.operations.opening import recognise, reopen
from blobs.operations.profiling import profile
from blobs.operations.read import SliceNeeded, read_bytes, read_chars, read_items
from blobs.operations.search import search
from blobs.operations.tools import ReadCall, SearchCall
from blobs.reading.base_view import BaseView
from blobs.reading.reader import View
from blobs.reading.registry import Registry
from blobs.reading.source import FileSource, Source
from blobs.reading.tokens import count_tokens


class Reply(Protocol):
    """Where a task writes bytes that belong to its answer."""

    def write(self, chunk: bytes) -> object: ...


def run(arguments: Mapping[str, Any], files: Mapping[str, str], reply: Reply) -> Any:
    """The task as a cell runs it: the blob is the file named `blob`."""
    registry = registry_of(arguments.get("readers_dir"))
    return work(FileSource(files["blob"]), arguments, reply, registry=registry, tell=_tell_host)


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
) -> Any:
    """Do one op over the source; see the functions below for their arguments and answers."""
    if arguments["op"] == "profile":
        return _profile(source, arguments, registry, tell)
    operations = {"read": _read, "search": _search, "columnar": _columnar, "export": _export}
    return operations[arguments["op"]](source, arguments, reply, registry)


def _profile(
    source: Source, arguments: Mapping[str, Any], registry: Registry, tell: Callable[[str], None]
) -> dict[str, Any]:
    opened = recognise(registry, source, arguments.get("declared_type"), avoid=arguments["avoid"], tell=tell)
    opened = replace(opened, notes=(*arguments["notes"], *opened.notes))
    found = profile(
        opened,
        source,
        seed=bytes.fromhex(arguments["seed"]),
        preview_bytes_max=arguments["preview_bytes_max"],
    )
    return found.to_json()


def _read(source: Source, arguments: Mapping[str, Any], reply: Reply, registry: Registry) -> Any:
    """`{"data"}`, or `{"fits", "start", "count", "total"}` where the slice must be stored; then it is in the reply."""
    call = _read_call(arguments["call"])
    bytes_max = arguments["bytes_max"]
    view: View | None = None
    try:
        if call.unit == "bytes":
            _whole_blob_only(call, "bytes")
            return {"data": read_bytes(source, call, bytes_max=bytes_max)}
        view = _view(source, call, arguments["reader"], registry)
        if call.unit == "chars":
            return {"data": read_chars(view, call, bytes_max=bytes_max)}
        return {"data": read_items(view, call, bytes_max=bytes_max)}
    except SliceNeeded as needed:
        media_type = _write_slice(source, view, call, needed.span, reply)
        return {
            "fits": needed.fits,
            "start": needed.span.start,
            "count": len(needed.span),
            "total": needed.total,
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


def _search(source: Source, arguments: Mapping[str, Any], reply: Reply, registry: Registry) -> Any:
    del reply
    deadline = time.monotonic() + arguments["wall_ms"] / 1000  # opening the view takes of it too
    call = _search_call(arguments["call"])
    view = _view(source, call, arguments["reader"], registry)
    data = search(view, call, bytes_max=arguments["bytes_max"], deadline=deadline, source_bytes=source.size)
    return {"data": data}


def _columnar(source: Source, arguments: Mapping[str, Any], reply: Reply, registry: Registry) -> Any:
    """The columnar copy of a view or one of its parts, as Parquet in the reply; `{"columns": ["id BIGINT", …]}`.

    Where the blob itself serves as its copy the reply stays empty and `as_it_is` is true.
    """
    from blobs.querying.columnar import columns_as_they_are, write_parquet  # heavy: only who makes a copy loads it

    view = reopen(registry, source, arguments["reader"])
    if arguments.get("part"):
        view = view.part(arguments["part"])
    table = view.table()
    if table is None:
        raise ToolInputError(
            "The blob has no rows that SQL could query.", hint='Use language "python".', code="no_table"
        )
    columns = None if arguments.get("part") else columns_as_they_are(table)
    is_copied = columns is None
    if columns is None:
        columns = write_parquet(table, reply)
    return {"columns": [f"{column.name} {column.type}" for column in columns], "as_it_is": not is_copied}


def _export(source: Source, arguments: Mapping[str, Any], reply: Reply, registry: Registry) -> Any:
    """A table as text of the type asked for, in the reply."""
    export(reopen(registry, source, arguments["reader"]), arguments["type"], reply)
    return {}


def _view(source: Source, call: ReadCall | SearchCall, reader: str, registry: Registry) -> View:
    """The view that a call means: another reader for lines, a part, a path, or a refusal that says the next step."""
    unit = getattr(call, "unit", "items")
    view = reopen(registry, source, reader)
    if call.part is not None:
        view = view.part(call.part)
    if call.path is not None:
        view = view.at(call.path)
    if unit == "lines" and view.unit != "lines":
        view = _as_lines(source, view, call, registry)
    if view.unit is None and unit != "bytes":
        facts = ", ".join(f"{name} {value}" for name, value in view.facts().items() if isinstance(value, int | str))
        raise ToolInputError(
            f"{call.blob} has no items to read ({facts[:200] or 'it is binary'}).",
            hint=(
                "Use a tool of yours that reads this format if there is one, "
                f'blob_code with language "python" ({call.blob}.bytes()), or blob_read with unit "bytes".'
            ),
            code="no_items",
        )
    return view


def _as_lines(source: Source, view: View, call: ReadCall | SearchCall, registry: Registry) -> View:
    is_elsewhere = call.part is not None or call.path is not None
    if view.text_encoding is None or (is_elsewhere and view.text_source is None):
        raise ToolInputError(
            f"unit: {call.blob} has no lines{' at that place' if call.part or call.path else ''}.",
            hint=f'Use unit "items"{"" if view.unit is None else f" (its {view.unit})"} or "chars".',
        )
    return reopen(registry, view.text_source or source, "text")


def _whole_blob_only(call: ReadCall, unit: str) -> None:
    if call.part is not None or call.path is not None or call.columns is not None:
        raise ToolInputError(
            f'unit: "{unit}" counts over the whole blob.', hint='Leave part, path and columns out, or use unit "chars".'
        )


def _read_call(value: Mapping[str, Any]) -> ReadCall:
    return ReadCall(**{**value, "columns": _tuple(value.get("columns"))})


def _search_call(value: Mapping[str, Any]) -> SearchCall:
    return SearchCall(**{**value, "columns": _tuple(value.get("columns"))})


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(value)
