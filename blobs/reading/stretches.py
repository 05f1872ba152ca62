"""Items as the bytes they are written in, for a search that looks at bytes first and at items only where it must."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from blobs.domain.ranges import ItemRange
from blobs.reading.index import Offsets
from blobs.reading.source import Source, TooMuchReadError

if TYPE_CHECKING:  # it takes long to load, and is needed where something was found
    import numpy as np
    from numpy.typing import NDArray

STRETCH_BYTES = 1024 * 1024
"""What is looked at together: it stays in the caches while it is scanned, and costs much more than a step of Python."""
_BLOCK_BYTES = 256 * 1024
_FIRST_BYTES = 32 * 1024
"""What is looked at first: the first hits of a frequent pattern are told sooner."""
STRETCH_BYTES_MAX = 64 * 1024 * 1024
"""Items that are so large are looked at one by one."""
PASSING_LINE_BYTES_MAX = 4 * 1024 * 1024
"""What is held of a line that passes by: the blob with a longer one is looked at when it is there."""
_PASSING_BYTES = 256 * 1024
_NEAR_BYTES = 4 * 1024

Positions: TypeAlias = "NDArray[np.int64]"

_UNSCANNABLE = re.compile(r"\\[AzZCQ]|\(\?[a-zA-Z]*-")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_LF, _CR = 10, 13
_LINE_END_BYTES = 512

Octets: TypeAlias = bytes | memoryview


class Trust(Enum):
    """What the bytes of a stretch tell of its items."""

    EXACT = "exact"
    """An item matches where the pattern matches inside of its bytes, and nowhere else."""
    CANDIDATES = "candidates"
    """An item can match only where the pattern matches in its bytes, or where `also` does."""
    NONE = "none"
    """Nothing: each item must be looked at."""


@dataclass(frozen=True)
class Needle:
    """What is searched for, as far as a view must know it to tell what its bytes tell."""

    pattern: str
    is_regex: bool
    ignore_case: bool

    @property
    def literal(self) -> str | None:
        """The pattern where it stands for itself."""
        return None if self.is_regex else self.pattern

    @cached_property
    def is_scannable(self) -> bool:
        """The pattern can be looked for in several items at once, `^` and `$` taken for ends of lines."""
        return not (self.is_regex and _UNSCANNABLE.search(self.pattern))

    @cached_property
    def is_anchored(self) -> bool:
        """The pattern may ask where an item begins or ends; a class such as `[^a]` does not."""
        bare = _ESCAPED.sub("", self.pattern).replace("[^", "[")
        return self.is_regex and ("^" in bare or "$" in bare)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive whole items: their bytes, and what is worked out only where something was found in those.

    `first` tells the number of the first item, `starts` where in `raw` each begins; `are_lines` says that a line is an
    item. `also` is an expression of RE2. Over `walked_max` items it is quicker to walk than to seek the next.
    """

    raw: Octets
    trust: Trust
    first: Callable[[], int]
    starts: Callable[[], Positions]
    also: Any = None
    are_lines: bool = False
    walked_max: int = 256


def line_blocks(source: Source, start: int, size_bytes: int = _BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """The bytes from `start` on in blocks that end with a line, each with its place."""
    wanted, at = size_bytes, start
    while at < source.size:
        block = source.read(at, at + wanted)
        if at + len(block) < source.size:
            cut = block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, -1) + 1
            if not cut:
                wanted *= 2
                continue
            block = block[:cut]
        yield at, block
        at += len(block)
        wanted = size_bytes


class PassingLines:
    """Bytes that pass by, in blocks of whole lines."""

    def __init__(self, start: int = 0) -> None:
        """The first `start` bytes are left out."""
        self._skipped = start
        self.at = start
        """Where the next block begins."""
        self._held = b""

    def add(self, chunk: memoryview) -> Iterator[bytes]:
        """The blocks that end in a chunk, each with an LF; `TooMuchReadError` where a line is too long to hold."""
        at, self._skipped = min(self._skipped, len(chunk)), max(0, self._skipped - len(chunk))
        while at < len(chunk):
            stop = min(at + _PASSING_BYTES, len(chunk))
            near = max(at, stop - _NEAR_BYTES)
            cut = near + bytes(chunk[near:stop]).rfind(b"\n") + 1
            if cut == near:
                cut = at + bytes(chunk[at:stop]).rfind(b"\n") + 1
            if cut == at:
                self._held += chunk[at:stop]
                if len(self._held) > PASSING_LINE_BYTES_MAX:
                    raise TooMuchReadError
                at = stop
                continue
            block = self._held + chunk[at:cut]
            self._held = b""
            yield block
            self.at += len(block)
            at = cut

    def rest(self) -> bytes:
        """What follows the last LF."""
        return self._held


def line_runs(text: memoryview, start: int, size_bytes: int = STRETCH_BYTES) -> Iterator[tuple[int, int]]:
    """Runs of whole lines from `start` on, of about that size, the first ones smaller: where each begins and ends."""
    at, room = start, min(_FIRST_BYTES, size_bytes)
    while at < len(text):
        end = at + room
        end = _line_end(text, at, end) if end < len(text) else len(text)
        room *= 2
        if end > at:
            yield at, end
            at, room = end, min(room, size_bytes)


def _line_end(text: memoryview, begin: int, end: int) -> int:
    """The end of the last line that ends between two places, `begin` where none does; a CR may be half of a line end at
    the last of them.
    """
    stop = end
    while stop > begin:
        at = max(begin, stop - _LINE_END_BYTES)
        piece = bytes(text[at:stop])
        cut = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, len(piece) - (stop == end))) + 1
        if cut:
            return at + cut
        stop = at
    return begin


def has_carriage_return(raw: Octets) -> bool:
    """A CR is in the bytes."""
    import numpy as np

    return bool((np.frombuffer(raw, np.uint8) == _CR).any())


def line_starts(raw: Octets) -> Positions:
    """Where each line begins in bytes that begin one; LF, CRLF and CR end lines."""
    import numpy as np

    has_cr = has_carriage_return(raw)
    octets = np.frombuffer(raw, np.uint8)
    is_end = octets == _LF
    if has_cr:
        is_cr = octets == _CR
        is_cr[:-1] &= octets[1:] != _LF
        is_end |= is_cr
    starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(is_end) + 1))
    return starts[:-1] if starts[-1] == len(raw) else starts


def count_lines(raw: Octets, places: Positions) -> int:
    """In how many lines ascending places lie; LF, CRLF and CR end lines."""
    import numpy as np

    if not len(places):
        return 0
    octets = np.frombuffer(raw, np.uint8)
    is_end = octets == _LF
    is_last = np.logical_or.reduceat(is_end, places)  # a line ends between this place and the next
    if not is_last[:-1].all() and has_carriage_return(raw):
        is_end |= octets == _CR
        is_last = np.logical_or.reduceat(is_end, places)
    return int(np.count_nonzero(is_last[:-1])) + 1


def marked_stretches(
    source: Source,
    marks: Offsets,
    marked_items: int,
    span: ItemRange,
    *,
    trust: Callable[[Octets], Trust],
    starts: Callable[[int, Octets], Positions],
    also: Any = None,
) -> Iterator[Stretch]:
    """Stretches from mark to mark, where every `marked_items`th item begins at the next of `marks`.

    `trust` is asked of the bytes of a stretch, `starts` of where it begins and its bytes. What is too large to be held
    tells nothing.
    """
    import numpy as np

    text = source.buffer()
    for items, begin, end in marked_runs(source, marks, marked_items, span, size_bytes=STRETCH_BYTES):
        number = partial(int, items.start)
        if end - begin <= STRETCH_BYTES_MAX:
            raw = text[begin:end]
            yield Stretch(raw, trust(raw), number, partial(starts, begin, raw), also)
        else:
            nowhere: Positions = np.zeros(len(items), np.int64)
            yield Stretch(b"", Trust.NONE, number, nowhere.copy)


def marked_runs(
    source: Source, marks: Offsets, marked_items: int, span: ItemRange, *, size_bytes: int
) -> Iterator[tuple[ItemRange, int, int]]:
    """Items from mark to mark, about `size_bytes` of them together: which, and where they begin and end.

    The last ends with the source; it may count more items than there are.
    """
    first = span.start // marked_items
    last = min(len(marks), -(-span.stop // marked_items))
    while first < last:
        begin, following = marks[first], first + 1
        while following < last and marks[following] - begin < size_bytes:
            following += 1
        end = marks[following] if following < len(marks) else source.size
        yield ItemRange(first * marked_items, following * marked_items), begin, end
        first = following
