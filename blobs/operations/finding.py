"""Finding a pattern in items: in one, in several at once, and in their bytes.

RE2 runs in time linear in the text whatever the pattern; it has no look-around and no back-references.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from blobs.domain.errors import ToolInputError
from blobs.operations.literals import Literal
from blobs.operations.required import required_literal
from blobs.operations.tools import SearchCall
from blobs.reading.stretches import Needle, Octets, Positions, Stretch, count_lines

_VAIN_MAX = 8
"""So many more times than it has spared a pass, what a match requires may be looked for in vain."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The items of a stretch that may match, by their place in it, and those in whose bytes the pattern matches."""

    places: Positions
    matched: Positions


class Pattern:
    """What a call searches for; raises `ToolInputError` where it is no regular expression that can run here."""

    def __init__(self, call: SearchCall) -> None:
        self.needle = Needle(call.pattern, is_regex=call.regex, ignore_case=call.ignore_case)
        self._engine = self._compiled(call.pattern, "")
        self._literal = None if call.regex else Literal.of(call.pattern, ignore_case=call.ignore_case)
        required = required_literal(call.pattern) if call.regex else None
        self._required = None if required is None else Literal.of(required, ignore_case=call.ignore_case)
        self._vain = -_VAIN_MAX
        self._may_span = not re.search(r"\\[AzZ]|\(\?|\$|\^", call.pattern) if call.regex else "\n" not in call.pattern

    def search(self, text: str) -> tuple[int, int] | None:
        """Where the first hit in the text of one item begins and ends."""
        found = self._engine.search(text)
        return None if found is None else found.span()

    def is_in(self, text: str) -> bool:
        """Whether the text of one item matches; sooner than where."""
        if self.needle.literal is not None and not self.needle.ignore_case:
            return self.needle.literal in text
        return self._engine.search(text) is not None

    def may_match_any(self, joined: str) -> bool:
        """Whether one of several texts, joined by line ends, may match."""
        return not self._may_span or self._engine.search(joined) is not None

    def hits(self, stretch: Stretch) -> Hits | None:
        """The items of a stretch in whose bytes the pattern matches; None where there is none."""
        import numpy as np

        raw = stretch.raw
        begins = self._begins(stretch)
        if begins is not None:
            is_begun = len(begins) > 0
        else:
            is_begun = self._holds_required(raw) and self._in_bytes.search(raw) is not None
        extra = [] if stretch.also is None else [each.start() for each in stretch.also.finditer(raw)]
        if not is_begun and not extra:
            return None
        starts = stretch.starts()
        if not is_begun:
            found: Positions = np.zeros(0, np.int64)
        else:
            found = self._places(raw, starts) if begins is None else _items_at(starts, begins)
        return Hits(np.union1d(found, _items_at(starts, np.array(extra))) if extra else found, found)

    def count(self, stretch: Stretch) -> int:
        """How many items of a stretch the pattern matches in the bytes of."""
        begins = self._begins(stretch) if stretch.are_lines else None
        if begins is not None:
            return count_lines(stretch.raw, begins)
        hits = self.hits(stretch)
        return 0 if hits is None else len(hits.matched)

    def _begins(self, stretch: Stretch) -> "Positions | None":
        """Where the pattern begins in the bytes; None where the engine is to be asked."""
        return None if self._literal is None else self._literal.begins(stretch.raw)

    def _holds_required(self, raw: Octets) -> bool:
        """What every match holds may be in the bytes; looked for as long as that spares enough passes of the engine."""
        if self._required is None or self._vain > 0:
            return True
        begins = self._required.begins(raw)
        may_be_in = begins is None or len(begins) > 0
        self._vain += 1 if may_be_in else -1
        return may_be_in

    def _places(self, raw: Octets, starts: Positions) -> Positions:
        import numpy as np

        begins = starts.tolist()
        places: list[int] = []
        at = begins[0]
        while (found := self._in_bytes.search(raw, at)) is not None:
            item = bisect_right(begins, found.start()) - 1
            places.append(item)
            if item + 1 >= len(begins):
                break
            at = begins[item + 1]
        return np.array(places, np.int64)

    @cached_property
    def _in_bytes(self) -> Any:
        """For several items at once: `^` and `$` are the ends of lines, and no match goes over the end of one."""
        return self._compiled(self.needle.pattern.encode(), b"(?m)" if self.needle.is_regex else b"")

    def _compiled(self, pattern: Any, lead: Any) -> Any:
        import re2

        options = re2.Options()
        options.case_sensitive = not self.needle.ignore_case
        options.log_errors = False
        options.never_nl = bool(lead)
        try:
            return re2.compile(lead + (pattern if self.needle.is_regex else re2.escape(pattern)), options)
        except re2.error as problem:
            reason = problem.args[0].decode() if isinstance(problem.args[0], bytes) else str(problem.args[0])
            raise ToolInputError(
                f"pattern: not a regular expression that can run here ({reason}).",
                hint="Look-around and back-references are not supported; set regex to false to find it literally.",
                code="bad_pattern",
            ) from None


def _items_at(starts: Positions, places: Positions) -> Positions:
    """The items in which ascending places lie, each once."""
    import numpy as np

    found: Positions = np.searchsorted(starts, places, "right") - 1
    return found[(np.diff(found, prepend=-1) > 0) & (found >= 0)]
