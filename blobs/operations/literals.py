"""Finding a literal in bytes about as fast as memory gives them: by its rarest byte, one by one or by whole vectors.

RE2 looks for a single byte with `memchr`, without copying and without the interpreter's lock.
"""

from functools import cached_property
from typing import Any

from blobs.reading.stretches import STRETCH_BYTES, Octets, Positions

_SAMPLE_BYTES = 64 * 1024
_STEPS_MAX = 16
"""A byte is looked for one by one until there are more of it in a stretch."""
_COMMON = 1 / 256
"""A byte that is more frequent is looked for together with the next in rarity."""
_TWIN_LETTERS = b"ks"
"""Letters of which a character beyond ASCII is another case."""
_TWINS = (b"\xe2\x84\xaa", b"\xc5\xbf")
"""KELVIN SIGN and LONG S."""
_CASE = 0x20


class Literal:
    """A literal that is looked for as it stands or, if it is of ASCII only, in any case."""

    def __init__(self, text: bytes, *, ignore_case: bool) -> None:
        self._text = text.lower() if ignore_case else text
        self._ignore_case = ignore_case
        self._has_twins = ignore_case and any(byte in _TWIN_LETTERS for byte in self._text)
        self._is_frequent = False
        self._is_common = False
        self._order: list[int] = []
        """The places in the literal by how rare their bytes are; none where a twin may stand comes first."""

    @classmethod
    def of(cls, pattern: str, *, ignore_case: bool) -> "Literal | None":
        """The literal of a pattern; None where it is no matter of bytes where it matches."""
        if not pattern or (ignore_case and not pattern.isascii()):
            return None
        text = pattern.encode()
        return None if ignore_case and not text.lower().strip(_TWIN_LETTERS) else cls(text, ignore_case=ignore_case)

    def begins(self, raw: Octets) -> "Positions | None":
        """Where it begins in UTF-8 text, ascending; None where only an engine that knows all letters can tell."""
        import numpy as np

        if not self._order:
            self._choose(np.frombuffer(raw[:_SAMPLE_BYTES], np.uint8))
        places = None if self._is_frequent else self._rarest(raw)
        if places is not None and not places:
            return np.zeros(0, np.int64)
        if self._has_twins and any(twin.search(raw) for twin in self._twins):
            return None
        if places is None:
            return self._everywhere(np.frombuffer(raw, np.uint8))
        begins = sorted(place - self._order[0] for place in places)
        return np.array([begin for begin in begins if begin >= 0 and self._is_at(raw, begin)], np.int64)

    def _choose(self, sample: Any) -> None:
        """Order the bytes of the literal by how rare they are in a sample of what is searched."""
        import numpy as np
        import re2

        counts = np.bincount(sample, minlength=256)
        often = {byte: int(sum(counts[each] for each in self._variants(byte))) for byte in set(self._text)}
        twins = _TWIN_LETTERS if self._has_twins else b""
        self._order = sorted(range(len(self._text)), key=lambda at: (self._text[at] in twins, often[self._text[at]]))
        rarest = self._text[self._order[0]]
        self._is_common = len(self._order) > 1 and often[rarest] > len(sample) * _COMMON
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        self._finders = [re2.compile(b"\\x%02x" % byte, options) for byte in self._variants(rarest)]
        self._twins = [re2.compile(twin) for twin in _TWINS]

    def _variants(self, byte: int) -> bytes:
        is_letter = self._ignore_case and bytes((byte,)).isalpha()
        return bytes((byte, byte ^ _CASE)) if is_letter else bytes((byte,))

    def _rarest(self, raw: Octets) -> list[int] | None:
        """Where the rarest byte is; None where that is in too many places."""
        places: list[int] = []
        for finder in self._finders:
            at = 0
            while (found := finder.search(raw, at)) is not None:
                at = found.end()
                places.append(at - 1)
                if len(places) > _STEPS_MAX:
                    return None
        return places

    def _is_at(self, raw: Octets, begin: int) -> bool:
        piece = bytes(raw[begin : begin + len(self._text)])
        return (piece.lower() if self._ignore_case else piece) == self._text

    def _everywhere(self, octets: Any) -> Positions:
        import numpy as np

        candidates = 0
        found = [np.zeros(0, np.int64)]
        size = len(self._text)
        for at in range(0, len(octets) - size + 1, STRETCH_BYTES):
            piece = octets[at : at + STRETCH_BYTES + size - 1]
            is_candidate = self._is_same(piece, self._order[0])
            if self._is_common:
                is_candidate &= self._is_same(piece, self._order[1])
            begins = _places_of_true(is_candidate)
            candidates += len(begins)
            for place, case, word in self._words:
                seen = np.ndarray((len(piece) - word.itemsize + 1,), word.dtype, piece, strides=(1,))[begins + place]
                begins = begins[(seen | case) == word]
            found.append(begins + at)
        self._is_frequent = candidates > _STEPS_MAX
        return np.concatenate(found)

    def _is_same(self, piece: Any, place: int) -> Any:
        """At which of the places where the literal may begin it has the right byte at one of its own."""
        byte = self._text[place]
        octets = piece[place : len(piece) - len(self._text) + 1 + place]
        return (octets | _CASE) == byte if len(self._variants(byte)) > 1 else octets == byte

    @cached_property
    def _words(self) -> list[tuple[int, Any, Any]]:
        """The whole literal in words as wide as fit: where each is in it, which bits of it are case, and the word."""
        import numpy as np

        size = len(self._text)
        width = max(each for each in (1, 2, 4, 8) if each <= size)
        kind = np.dtype(f"<u{width}")
        cases = bytes(_CASE if len(self._variants(byte)) > 1 else 0 for byte in self._text)
        return [
            (at, np.frombuffer(cases, kind, 1, at)[0], np.frombuffer(self._text, kind, 1, at)[0])
            for at in [*range(0, size - width, width), size - width]
        ]


def _places_of_true(mask: Any) -> Any:
    """What `flatnonzero` tells, sooner where few are true: eight at a time are looked at first."""
    import numpy as np

    whole = len(mask) // 8 * 8
    eights = mask[:whole].view(np.uint64)
    some = np.flatnonzero(eights != 0)
    if len(some) > len(eights) // 8:
        return np.flatnonzero(mask)
    lanes = np.flatnonzero(eights[some].view(np.bool_))
    return np.concatenate((some[lanes >> 3] * 8 + (lanes & 7), np.flatnonzero(mask[whole:]) + whole))
