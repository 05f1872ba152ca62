"""blob_search over one view: every item that matches, counted, the first ones shown, in time linear in the size."""

import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.domain.ranges import ItemRange
from blobs.operations.answers import ENVELOPE_BYTES, chosen_columns, start_within
from blobs.operations.tools import SearchCall
from blobs.reading.cutting import around
from blobs.reading.reader import View

TEXT_CHARS_MAX = 400
"""A match is shown with this much around it; the rest is one blob_read away."""

_BLOCK_ITEMS = 512


class _Engine(Protocol):
    def search(self, text: str) -> Any: ...


def compile_pattern(call: SearchCall) -> tuple[_Engine, _Engine | None]:
    """The pattern for one item, and one that tells of a block of items whether any may match (None where it cannot).

    RE2 runs in time linear in the text whatever the pattern; it has no look-around and no back-references.
    """
    import re2

    options = re2.Options()
    options.case_sensitive = not call.ignore_case
    options.log_errors = False
    pattern = call.pattern if call.regex else re2.escape(call.pattern)
    try:
        engine = re2.compile(pattern, options)
        may_block = not re.search(r"\\[AzZ]|\(\?|\$|\^", pattern) if call.regex else "\n" not in call.pattern
        return engine, engine if may_block else None
    except re2.error as problem:
        reason = problem.args[0].decode() if isinstance(problem.args[0], bytes) else str(problem.args[0])
        raise ToolInputError(
            f"pattern: not a regular expression that can run here ({reason}).",
            hint="Look-around and back-references are not supported; set regex to false to find it literally.",
            code="bad_pattern",
        ) from None


def search(view: View, call: SearchCall, *, bytes_max: int, deadline: float, source_bytes: int) -> dict[str, Any]:
    """The `data` of an answer: matches in order from item `start`, how many there are, and what was searched.

    `found` counts the items that match from `start` on; the count goes on after `limit` is reached, until `deadline`
    (of the monotonic clock).
    """
    assert view.unit is not None
    engine, prefilter = compile_pattern(call)
    total = view.count or 0
    start = start_within(call, total, view.unit)
    columns = chosen_columns(view, call.columns)
    names = None if columns is None or call.columns is None else [name for name, _ in columns]
    hunt = _Hunt(view, engine, prefilter, names, deadline=deadline)
    matches: list[dict[str, Any]] = []
    room = bytes_max - ENVELOPE_BYTES - 400 - 2 * len(exact_json.dumps(call.arguments()))
    resume: int | None = None
    found = 0
    for index, column, text, hit in hunt.run(ItemRange(start, total)):
        found += 1
        if resume is not None:
            continue
        shown = _shown(view, call, index, column, text, hit)
        room -= len(exact_json.dumps(shown)) + 1
        if len(matches) >= call.limit or room < 0:
            resume = index
        else:
            matches.append(shown)
    if resume is None and not hunt.is_done:
        resume = hunt.position
    if resume is None and names is None:
        strays = [*_matching_strays(view, engine)]
        found += len(strays)
        matches += [each for each in strays if (room := room - len(exact_json.dumps(each)) - 1) > 0]
    whole = hunt.is_done and start == 0 and names is None
    data: dict[str, Any] = {
        "blob": call.blob,
        "unit": view.unit,
        "matches": matches,
        "found": found,
        "searched": {"items": hunt.position - start, "bytes": source_bytes if whole else hunt.bytes},
        "complete": resume is None,
    }
    if not hunt.is_done:
        data["note"] = f"The time ran out at item {hunt.position} of {total}: found counts what lies before it."
    if resume is not None:
        data["next"] = replace(call, start=resume).arguments()
    return data


class _Hunt:
    """One walk over the items: which match, how far it came, how many bytes of text it looked at."""

    def __init__(
        self, view: View, engine: _Engine, prefilter: _Engine | None, columns: list[str] | None, *, deadline: float
    ) -> None:
        self._view, self._engine, self._prefilter = view, engine, prefilter
        self._columns = columns
        self._deadline = deadline
        self.position = 0
        self.bytes = 0
        self.is_done = False

    def run(self, span: ItemRange) -> Iterator[tuple[int, str | None, str, tuple[int, int]]]:
        """Index, column, text and place of the first hit of each item that matches."""
        self.position = span.start
        items = iter(self._view.items(span))
        while block := list(islice(items, _BLOCK_ITEMS)):
            texts = [list(self._view.search_texts(item, self._columns)) for item in block]
            joined = "\n".join(text for each in texts for _, text in each)
            try:
                self.bytes += len(joined.encode())
            except UnicodeEncodeError:  # half characters: a model sees, and searches for, what stands for them
                texts = [[(name, exact_json.clean(text)) for name, text in each] for each in texts]
                joined = exact_json.clean(joined)
                self.bytes += len(joined.encode())
            if self._prefilter is None or self._prefilter.search(joined):
                for offset, each in enumerate(texts):
                    hit = self._first(each)
                    if hit is not None:
                        yield self.position + offset, *hit
            self.position += len(block)
            if time.monotonic() > self._deadline:
                return
        self.is_done = True

    def _first(self, texts: list[tuple[str | None, str]]) -> tuple[str | None, str, tuple[int, int]] | None:
        for column, text in texts:
            match = self._engine.search(text)
            if match is not None:
                return column, text, match.span()
        return None


def _shown(
    view: View, call: SearchCall, index: int, column: str | None, text: str, hit: tuple[int, int]
) -> dict[str, Any]:
    shown: dict[str, Any] = {"item": index, **view.place(index)}
    if column is not None:
        shown["column"] = column
    shown["text"] = around(text, hit[0], hit[1], TEXT_CHARS_MAX)
    if call.context:
        before = deque(_texts(view, ItemRange(max(0, index - call.context), index)))
        shown["before"] = list(before)
        shown["after"] = list(_texts(view, ItemRange(index + 1, min(view.count or 0, index + 1 + call.context))))
    return shown


def _matching_strays(view: View, engine: _Engine) -> Iterator[dict[str, Any]]:
    """Matches in what is no item, told by line: they can be read with unit lines."""
    for number, text in view.strays():
        match = engine.search(text)
        if match is not None:
            start, stop = match.span()
            yield {"line": number, "text": around(text, start, stop, TEXT_CHARS_MAX), "note": "a line that is no item"}


def _texts(view: View, span: ItemRange) -> Iterator[str]:
    for item in view.items(span):
        text = item if isinstance(item, str) else exact_json.text(item)
        yield around(text, 0, 0, TEXT_CHARS_MAX // 2)
