"""blob_search over one view: every item that matches, counted, the first ones shown, in time linear in the size."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange
from blobs.operations.answers import ENVELOPE_BYTES, chosen_columns, start_within
from blobs.operations.finding import Pattern
from blobs.operations.tools import SearchCall
from blobs.reading.cutting import around
from blobs.reading.reader import View
from blobs.reading.stretches import Stretch, Trust

TEXT_CHARS_MAX = 400
"""A match is shown with this much around it; the rest is one blob_read away."""

_BLOCK_ITEMS = 512

_Match = tuple[int, str | None, str, tuple[int, int]]


def search(view: View, call: SearchCall, *, bytes_max: int, deadline: float, source_bytes: int) -> dict[str, Any]:
    """The `data` of an answer: matches in order from item `start`, how many there are, and what was searched.

    `found` counts the items that match from `start` on; the count goes on after `limit` is reached, until `deadline`
    (of the monotonic clock).
    """
    assert view.unit is not None
    pattern = Pattern(call)
    total = view.count or 0
    start = start_within(call, total, view.unit)
    columns = chosen_columns(view, call.columns)
    names = None if columns is None or call.columns is None else [name for name, _ in columns]
    hunt = _Hunt(view, pattern, names, deadline=deadline)
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
            hunt.is_counting = True
        else:
            matches.append(shown)
    found += hunt.counted
    if resume is None and not hunt.is_done:
        resume = hunt.position
    if resume is None and names is None:
        strays = [*_matching_strays(view, pattern)]
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
    """One walk over the items: which match, how far it came, how many bytes it looked at.

    `is_counting` says that matches need no longer be told; they are then only `counted` where that is quicker.
    """

    def __init__(self, view: View, pattern: Pattern, columns: list[str] | None, *, deadline: float) -> None:
        self._view, self._pattern = view, pattern
        self._columns = columns
        self._deadline = deadline
        self.position = 0
        self.bytes = 0
        self.is_done = False
        self.is_counting = False
        self.counted = 0

    def run(self, span: ItemRange) -> Iterator[_Match]:
        """Index, column, text and place of the first hit of each item that matches."""
        self.position = span.start
        needle = self._pattern.needle
        stretches = self._view.stretches(span, needle) if needle.is_scannable else None
        if stretches is None:
            yield from self._each(span)
            self.is_done = self.position == span.stop
            return
        for stretch in stretches:
            yield from self._within(stretch, span)
            self.bytes += len(stretch.raw)
            if time.monotonic() > self._deadline:
                self.position = min(span.stop, stretch.first() + len(stretch.starts()))
                return
        self.position = span.stop
        self.is_done = True

    def _within(self, stretch: Stretch, span: ItemRange) -> Iterator[_Match]:
        if stretch.trust is Trust.NONE:
            first = stretch.first()
            self.position = max(first, span.start)
            looked_at = self.bytes
            yield from self._each(ItemRange(self.position, min(span.stop, first + len(stretch.starts()))))
            self.bytes = looked_at
            return
        if self._is_count_enough(stretch):
            self.counted += self._pattern.count(stretch)  # earlier stretches had matches, so all of this is in the span
            return
        hits = self._pattern.hits(stretch)
        if hits is None:
            return
        first = stretch.first()
        wanted = [first + place for place in hits.places.tolist() if span.start <= first + place < span.stop]
        for run in _runs(wanted, stretch.walked_max):
            items = self._view.items(ItemRange(run[0], run[-1] + 1))
            awaited = iter(run)
            number = next(awaited)
            for index, item in enumerate(items, run[0]):
                if index == number:
                    number = next(awaited, -1)
                    texts = self._view.search_texts(item, self._columns)
                    cleaned = [(name, exact_json.clean(text)) for name, text in texts]
                    if self.is_counting:
                        self.counted += any(self._pattern.is_in(text) for _, text in cleaned)
                        continue
                    hit = self._first(cleaned)
                    if hit is not None:
                        yield index, *hit
                        if self._is_count_enough(stretch):
                            matched = hits.matched + first
                            self.counted += int(((matched > index) & (matched < span.stop)).sum())
                            return

    def _is_count_enough(self, stretch: Stretch) -> bool:
        """The rest of the matches of a stretch need only be counted, and its bytes tell how many they are."""
        return self.is_counting and stretch.trust is Trust.EXACT and self._columns is None

    def _each(self, span: ItemRange) -> Iterator[_Match]:
        """Look at every item of the range, until the time is over."""
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
            if self._pattern.may_match_any(joined):
                for offset, each in enumerate(texts):
                    hit = self._first(each)
                    if hit is not None:
                        yield self.position + offset, *hit
            self.position += len(block)
            if time.monotonic() > self._deadline:
                return

    def _first(self, texts: list[tuple[str | None, str]]) -> tuple[str | None, str, tuple[int, int]] | None:
        for column, text in texts:
            hit = self._pattern.search(text)
            if hit is not None:
                return column, text, hit
        return None


def _runs(numbers: list[int], walked_max: int) -> Iterator[list[int]]:
    """Ascending numbers, those together between which at most so many lie."""
    run: list[int] = []
    for number in numbers:
        if run and number - run[-1] > walked_max:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


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


def _matching_strays(view: View, pattern: Pattern) -> Iterator[dict[str, Any]]:
    """Matches in what is no item, told by line: they can be read with unit lines."""
    for number, text in view.strays():
        hit = pattern.search(text)
        if hit is not None:
            yield {"line": number, "text": around(text, *hit, TEXT_CHARS_MAX), "note": "a line that is no item"}


def _texts(view: View, span: ItemRange) -> Iterator[str]:
    for item in view.items(span):
        text = item if isinstance(item, str) else exact_json.text(item)
        yield around(text, 0, 0, TEXT_CHARS_MAX // 2)
