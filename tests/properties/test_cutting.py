"""Cuts of any text: within the limit, at safe places only, with marks that add up.

The clusters and sequences of a text are found here from its start, in one pass over the whole, so that the cuts, which
look only at the neighbourhood of a place, are checked against an independent reading.
"""

import re

import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blobs.reading.budget import clip
from blobs.reading.cutting import (
    around,
    cut,
    cut_to_bytes,
    cut_to_bytes_with_count,
    cut_with_count,
    json_length,
    safe_start,
    safe_stop,
    strip_escapes,
)
from blobs.reading.tokens import count_tokens

PIECES = (
    "👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "❤️", "1️⃣", "🇩🇪", "🇫🇷", "🇺", "\u200d", "\ufe0f",  # pictures, flags, half a flag
    "e\u0301", "a\u0301\u0328\u0323\u0330", "\u0301", "Z\u0351\u036b\u0343\u036a\u0302\u036b",  # stacked marks
    "ก็", "ที่นี่", "กำ", "क्षि", "त्र", "क", "்", "நி", "한국", "\u1112\u1161\u11ab", "\u1100", "\u1161",  # Asian
    "\u0600", "\u0600a", "מ\u05b0", "日本", "é", "a", "Zz", " ", '"', "\\", "\t", "\n", "\r\n", "\r", "\x00", "\x85",
    "\x1b[31m", "\x1b[0m", "\x1b[38;5;196m", "\x1b[", "\x1b", "\x1b]8;;http://example.com/x\x1b\\", "\x1b]8;;\x1b\\",
    "\x1b]0;title\x07", "\x1bP1$r\x1b\\", "\x1b(B", "\x1b7", "\x9b31m", "\x9d0;t\x9c", "\x9d", "\x07", "\x9c", "\x1b\\",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)

SEQUENCE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\n\r\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"  # strings
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI, also one that is not finished
    r"|\x1b[ -/]{0,2}[0-~]"  # short ones, also the beginning of a string that is not ended
)


def safe_places(text: str) -> set[int]:
    """All places of a text where it may be cut."""
    places = {0} | {found.end() for found in regex.finditer(r"\X", text)}
    for found in SEQUENCE.finditer(text):
        places -= set(range(found.start() + 1, found.end()))
    return places


@settings(max_examples=300, deadline=None)
@given(text=texts)
@example(text="\x1b[0m\u0301x")
@example(text="a\x1b]8;;x\x1b\\b")
def test_nearest_safe_places(text: str) -> None:
    """Of every place, `safe_stop` is the last safe place up to it, `safe_start` the first from it on."""
    places = sorted(safe_places(text))
    for at in range(-1, len(text) + 2):
        here = min(max(at, 0), len(text))
        assert safe_stop(text, at) == max(each for each in places if each <= here)
        assert safe_start(text, at) == min(each for each in places if each >= here)


@settings(max_examples=300, deadline=None)
@given(text=texts, limit=st.integers(0, 120))
def test_cuts_keep_their_limits(text: str, limit: int) -> None:
    """Every cut is a prefix within its limit, ends at a safe place, and leaves out no more than it must."""
    places = safe_places(text)
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert len(kept) == max(each for each in places if each <= limit)
    by_bytes = cut_to_bytes(text, limit)
    assert text.startswith(by_bytes)
    assert json_length(by_bytes) <= limit
    fitting = [each for each in places if json_length(text[:each]) <= limit]
    if max(fitting) > 0:
        assert len(by_bytes) == max(fitting)


@settings(max_examples=300, deadline=None)
@given(text=texts, limit=st.integers(0, 120))
def test_marks_add_up(text: str, limit: int) -> None:
    """What is kept and what the mark counts are the whole text, and both together are within the limit."""
    for shown, length in (
        (cut_with_count(text, limit), len),
        (cut_to_bytes_with_count(text, limit), json_length),
    ):
        if length(text) <= limit:
            assert shown == text
            continue
        kept, count = re.fullmatch(r"(.*)…\(\+(\d+) chars\)", shown, re.DOTALL).groups()
        assert text.startswith(kept)
        assert len(kept) in safe_places(text)
        assert len(kept) + int(count) == len(text)
        assert length(shown) <= max(limit, 20)


@settings(max_examples=300, deadline=None)
@given(text=texts, start=st.integers(0, 200), length=st.integers(0, 60), limit=st.integers(40, 120))
def test_around_adds_up(text: str, start: int, length: int, limit: int) -> None:
    """A window is within its limit, cut at safe places, and its two marks count the rest."""
    start = min(start, len(text))
    shown = around(text, start, min(start + length, len(text)), limit)
    assert len(shown) <= limit
    if shown == text:
        return
    left, window, right = re.fullmatch(
        r"(?:…\(\+(\d+) chars\)…)?(.*?)(?:…\(\+(\d+) chars\))?", shown, re.DOTALL
    ).groups()
    before, after = int(left or 0), int(right or 0)
    assert text[before : len(text) - after] == window
    assert {before, len(text) - after} <= safe_places(text)


@settings(max_examples=300, deadline=None)
@given(text=texts)
def test_stripping(text: str) -> None:
    """What is stripped has no control character left but tab and line ends, once for all and line by line alike."""
    plain = strip_escapes(text)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", plain)
    assert strip_escapes(plain) == plain
    assert "".join(strip_escapes(line) for line in re.split(r"(?<=[\r\n])", text)) == plain
    assert plain.count("\n") == text.count("\n")


@settings(max_examples=150, deadline=None)
@given(text=texts.map(lambda text: text * 4), tokens_max=st.integers(12, 400))
def test_clip_adds_up(text: str, tokens_max: int) -> None:
    """Head and tail are cut at safe places, keep the budget, and the mark counts what is between them."""
    clipped = clip(text, tokens_max)
    assert count_tokens(clipped) <= tokens_max
    if clipped == text:
        return
    head, count, tail = re.fullmatch(r"(.*?)…\(\+(\d+) chars\)(?:…(.*))?", clipped, re.DOTALL).groups()
    assert text.startswith(head)
    assert text.endswith(tail or "")
    assert len(head) + int(count) + len(tail or "") == len(text)
    assert {len(head), len(text) - len(tail or "")} <= safe_places(text)
