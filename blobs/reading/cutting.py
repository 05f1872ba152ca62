"""Cuts that hurt nothing: never inside a grapheme cluster or a terminal escape sequence, and always counted.

A *safe* place lies between two grapheme clusters (Unicode UAX 29, as the `regex` package knows them) and inside no
escape sequence (ECMA-48: CSI, strings of OSC, DCS, APC, PM and SOS, and the short escapes). Lengths are characters of
a Python string unless a name says bytes. Everything here takes time linear in the text, whatever the text is.
"""

import re
from functools import cache
from typing import Any

from blobs.domain import exact_json

CLUSTER_CHARS_MAX = 1024
"""The longest grapheme cluster that is kept whole. Stream-safe text (UAX 15) has under 40; a longer one is hostile."""
ESCAPE_CHARS_MAX = 4096
"""The longest escape sequence that is kept whole: a hyperlink with a long address has 2,083; pictures have more."""

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_PAYLOAD = "[^\x07\n\r\x18\x1a\x1b\x80-\x9f]*+"  # no line ends, so that what is stripped never joins two lines
_SEQUENCE = (
    f"(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    "|\x1b(?:[ -/]{0,2}[0-~])?"
)
_sequence = re.compile(_SEQUENCE)
_unwanted = re.compile(f"{_SEQUENCE}|[{_CONTROLS}]+")
_control = re.compile(f"[{_CONTROLS}]")
_ASCII_CONTROLS = bytes(each for each in (*range(32), 127) if each not in b"\t\n\r")
_INTRODUCERS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"


def strip_escapes(text: str) -> str:
    """The text without terminal escapes and without control characters other than tab, LF and CR.

    Line ends are never removed: stripping a text and stripping its lines one by one gives the same. A string sequence
    that is not ended on its line loses its introducer only, so that a stray ESC cannot swallow what follows.
    """
    if text.isascii() and "\x1b" not in text:
        plain = text.encode("ascii").translate(None, _ASCII_CONTROLS)
        return text if len(plain) == len(text) else plain.decode("ascii")
    return _unwanted.sub("", text) if _control.search(text) else text


_ESCAPED_BYTES_MAX = 6  # \u001f: no character takes more in JSON


def json_length(text: str) -> int:
    """The bytes of the text inside a compact JSON string in UTF-8, its two quotes not counted."""
    return len(exact_json.dumps(text)) - 2


def safe_stop(text: str, at: int) -> int:
    """The last safe place at or before `at`.

    The hard limit wins: where a cluster of over `CLUSTER_CHARS_MAX` or a sequence of over `ESCAPE_CHARS_MAX`
    characters leaves no safe place in reach, it is `at` itself, so that hostile text is still bounded.
    """
    if at <= 0 or at >= len(text):
        return min(max(at, 0), len(text))
    while at and (over := _sequence_over(text, at) or _cluster_over(text, at)):
        at = over[0]
    return at


def safe_start(text: str, at: int) -> int:
    """The first safe place at or after `at`; `at` itself where `safe_stop` would also give up."""
    if at <= 0 or at >= len(text):
        return min(max(at, 0), len(text))
    while at < len(text) and (over := _sequence_over(text, at) or _cluster_over(text, at)):
        at = over[1]
    return at


def cut(text: str, chars_max: int) -> str:
    """The longest safe prefix of at most `chars_max` characters; empty where the first cluster is longer than that."""
    return text if len(text) <= chars_max else text[: safe_stop(text, chars_max)]


def mark(count: int, noun: str = "chars") -> str:
    """`…(+12345 chars)`: how much was left out at this place."""
    return f"…(+{count} {noun})"


def cut_with_count(text: str, chars_max: int) -> str:
    """The text, or a safe prefix and the mark `…(+12345 chars)` of what was left out, together within `chars_max`.

    Only a `chars_max` smaller than the mark is overstepped: then the mark stands alone.
    """
    if len(text) <= chars_max:
        return text
    stop = safe_stop(text, chars_max - len(mark(len(text))))
    return text[:stop] + mark(len(text) - stop)


def cut_to_bytes(text: str, bytes_max: int) -> str:
    """The longest safe prefix whose `json_length` is at most `bytes_max`.

    A first cluster that does not fit is itself cut, so that whoever reads on piece by piece always gets on.
    """
    stop = _longest(text, bytes_max)
    return text if stop == len(text) else text[: safe_stop(text, stop) or stop]


def cut_to_bytes_with_count(text: str, bytes_max: int) -> str:
    """The text, or a safe prefix and the mark of what was left out, together within `bytes_max` of `json_length`.

    Only a `bytes_max` smaller than the mark is overstepped: then the mark stands alone.
    """
    if len(text) <= bytes_max and (len(text) * _ESCAPED_BYTES_MAX <= bytes_max or json_length(text) <= bytes_max):
        return text
    room = bytes_max - len(mark(len(text)).encode())
    stop = safe_stop(text, _longest(text, room))
    return text[:stop] + mark(len(text) - stop)


def around(text: str, start: int, stop: int, chars_max: int) -> str:
    """The text around a hit at `start` up to `stop`, within `chars_max`: `…(+120 chars)…the hit…(+33 chars)`.

    The hit stands in the middle where there is text on both sides; of a hit that is too long its beginning is shown.
    A `chars_max` under the length of both marks is overstepped by them.
    """
    if len(text) <= chars_max:
        return text
    room = max(chars_max - 2 * len(mark(len(text))) - 1, 0)
    lead = (room - min(stop - start, room)) // 2
    first = max(min(start - lead, len(text) - room), 0)
    last = min(first + room, len(text))
    first = min(safe_start(text, first), safe_stop(text, last))
    last = max(safe_stop(text, last), first)
    before = mark(first) + "…" if first else ""
    after = mark(len(text) - last) if last < len(text) else ""
    return before + text[first:last] + after


def _longest(text: str, bytes_max: int) -> int:
    """The most characters of the text whose `json_length` is at most `bytes_max`; each half is measured once."""
    low, high, room = 0, min(len(text), max(bytes_max, 0)), bytes_max
    while low < high:
        middle = (low + high + 1) // 2
        length = json_length(text[low:middle])
        if length <= room:
            low, room = middle, room - length
        else:
            high = middle - 1
    return low


def _sequence_over(text: str, at: int) -> tuple[int, int] | None:
    """Start and end of the escape sequence that has `at` inside, or None."""
    low, high = max(0, at - ESCAPE_CHARS_MAX), at
    for _ in range(2):  # the last introducer before the place may be the ESC of the ESC \ that ends a string
        first = _last_introducer(text, low, high)
        if first < 0:
            return None
        found = _sequence.match(text, first, min(len(text), first + ESCAPE_CHARS_MAX))
        if found and found.end() > at:
            return first, found.end()
        high = first
    return None


def _last_introducer(text: str, low: int, high: int) -> int:
    if text.isascii():
        return text.rfind("\x1b", low, high)
    return max(text.rfind(each, low, high) for each in _INTRODUCERS)


def _cluster_over(text: str, at: int) -> tuple[int, int] | None:
    """Start and end of the grapheme cluster that has `at` inside, or None."""
    if " " <= text[at - 1] <= "~" and " " <= text[at] <= "~":
        return None
    low = _known_boundary(text, at)
    if low is None:
        return None
    window = text[low : at + CLUSTER_CHARS_MAX]  # a copy, so that no rule looks back over a long run again and again
    for found in _cluster().finditer(window):
        first, last = low + found.start(), low + found.end()
        if last >= at:
            return (first, last) if first < at < last else None
    return None


def _known_boundary(text: str, at: int) -> int | None:
    """A place at or shortly before `at` where a cluster begins, or None where the cluster is longer than is kept."""
    if flags := _flags_before(text, at):
        return max(at - flags % 2, 0) if flags > 2 else _known_boundary(text, at - flags) if at > flags else 0
    low = max(0, at - CLUSTER_CHARS_MAX)
    found = _boundary().search(text, low + 1, at + 1) if at > low else None
    if found:
        return int(found.start())
    return None if low else 0


def _flags_before(text: str, at: int) -> int:
    """How many regional indicators stand directly before a place: each two of them are a flag."""
    count = 0
    while count < at and "\U0001f1e6" <= text[at - 1 - count] <= "\U0001f1ff":
        count += 1
    return count


@cache
def _cluster() -> Any:
    import regex  # only text that is not plain ASCII needs it

    return regex.compile(r"\X")


@cache
def _boundary() -> Any:
    """Finds, from behind, a character at which a cluster surely begins, whatever stands further left.

    By UAX 29: a control or what follows one (GB4, GB5); an ordinary character after anything but a mark, a joiner or a
    prefix (GB999); and after a mark too, where no conjunct or sequence of pictographs can reach it (GB9c, GB11); a
    Hangul syllable that does not follow a leading consonant (GB6).
    """
    import regex

    def of(*classes: str) -> str:
        return "".join(rf"\p{{Grapheme_Cluster_Break={each}}}" for each in classes)

    picture = r"\p{Extended_Pictographic}"
    rules = (
        rf"(?<=[\n{of('Control')}]).|(?<!\r)\n|[\r{of('Control')}]",
        rf"(?<=[{of('Other', 'Regional_Indicator', 'SpacingMark', 'L', 'V', 'T', 'LV', 'LVT')}])[{of('Other')}]",
        rf"(?<![{of('Prepend')}])[[{of('Other')}]--{picture}--\p{{Indic_Conjunct_Break=Consonant}}]",
        rf"(?<![\u200d{of('Prepend')}]){picture}",
        rf"(?<![{of('L', 'Prepend')}])[{of('L', 'LV', 'LVT')}]",
    )
    return regex.compile("(?V1r)" + "|".join(rules), regex.DOTALL)
