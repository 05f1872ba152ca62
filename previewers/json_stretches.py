"""What the bytes of JSON text tell a search of its values, which sees them as compact JSON."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blobs.domain.ranges import ItemRange
from blobs.reading.stretches import STRETCH_BYTES, STRETCH_BYTES_MAX, Needle, Stretch, Trust
from previewers.json_structure import Outline

_REWRITTEN = rb"\\[ubf/]"
"""Escapes that may be written otherwise in compact JSON."""
_REWRITTEN_AS_ASCII = rb"\\(?:[bf/]|u00[0-7]|u017[fF]|u212[aA])"
"""Those of them that stand for something of ASCII, also for a letter of which one beyond it is the other case."""

_STRUCTURE = frozenset('"\\{}[],')


def trust(needle: Needle) -> Trust:
    """What the bytes of an entry tell: where a literal is found if it is in a value's text at all.

    A literal that holds nothing of JSON's own marks can lie only within one string, number or word, and there it stands
    in the bytes as it does in compact JSON, but for escapes. A colon is one of those marks only after a quote.
    """
    literal = needle.literal
    if literal is None or literal.startswith(":") or not literal.isprintable() or _STRUCTURE & set(literal):
        return Trust.NONE
    return Trust.CANDIDATES


def rewritten(needle: Needle) -> Any:
    """What in the bytes may hide a literal, for RE2: an entry with such an escape must be looked at."""
    import re2  # heavy: only who searches loads it

    return re2.compile(_REWRITTEN_AS_ASCII if needle.pattern.isascii() else _REWRITTEN)


def entry_stretches(text: memoryview, found: Outline, span: ItemRange, needle: Needle) -> Iterator[Stretch]:
    """Runs of the entries of a range, which lie in order; one that is too large to be copied tells nothing."""
    begins = np.frombuffer(found.begins, np.int64)
    also = rewritten(needle)
    first = span.start
    while first < span.stop:
        begin = int(begins[first])
        following = max(first + 1, min(span.stop, int(np.searchsorted(begins, begin + STRETCH_BYTES))))
        raw = text[begin : found.stops[following - 1]]
        is_held = len(raw) <= STRETCH_BYTES_MAX
        told = Trust.CANDIDATES if is_held else Trust.NONE
        starts = partial(_starts, begins, first, following)
        yield Stretch(raw if is_held else b"", told, partial(int, first), starts, also, walked_max=1)
        first = following


def _starts(begins: NDArray[np.int64], first: int, following: int) -> NDArray[np.int64]:
    starts: NDArray[np.int64] = begins[first:following] - begins[first]
    return starts
