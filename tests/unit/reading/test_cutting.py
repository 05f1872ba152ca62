"""Safe cuts and their marks, case by case."""

import pytest

from blobs.domain import exact_json
from blobs.reading.cutting import (
    CLUSTER_CHARS_MAX,
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

FAMILY = "👨‍👩‍👧"  # five characters, one cluster
ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "at", "before", "after"),
    [
        ("plain", 3, 3, 3),
        (f"a{FAMILY}b", 3, 1, 6),
        ("🇩🇪🇫🇷", 1, 0, 2),
        ("🇩🇪🇫🇷", 2, 2, 2),
        ("🇩🇪🇫🇷🇮🇹", 3, 2, 4),
        ("ae\u0301\u0328i", 2, 1, 4),
        ("ก็ดี", 1, 0, 2),
        ("क्षि", 2, 0, 4),
        ("\u1112\u1161\u11ab", 1, 0, 3),
        ("a\r\nb", 2, 1, 3),
        (f"a{ESC}[31mred", 3, 1, 6),
        (f"a{ESC}]8;;http://x{ESC}\\link", 5, 1, 16),
        (f"a{ESC}]8;;http://x{ESC}\\link", 15, 1, 16),
        (f"a{ESC}]0;title\x07b", 4, 1, 11),
        (f"a{ESC}(Bb", 3, 1, 4),
        ("a\x9b31mb", 3, 1, 5),
        (f"{ESC}[1m\u0301x", 4, 0, 5),
        (f"{FAMILY}{ESC}[0m", 5, 5, 5),
    ],
)
def test_safe_places(text: str, at: int, before: int, after: int) -> None:
    """The nearest safe places on both sides of a place."""
    assert safe_stop(text, at) == before
    assert safe_start(text, at) == after


def test_cut() -> None:
    """A cut keeps whole clusters, none if not even one fits, and the whole text if it fits."""
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc"
    assert cut(FAMILY * 2, 9) == FAMILY
    assert cut(FAMILY, 4) == ""
    assert cut("abc", 0) == ""


def test_cut_with_count() -> None:
    """The mark counts what is left out, and text and mark together keep the limit."""
    assert cut_with_count("a" * 100, 100) == "a" * 100
    assert cut_with_count("a" * 101, 100) == "a" * 87 + "…(+14 chars)"
    assert cut_with_count("a" * 12_445, 115) == "a" * 100 + "…(+12345 chars)"
    assert cut_with_count("a" * 50, 5) == "…(+50 chars)"


def test_long_cluster_is_still_bounded() -> None:
    """The hard limit wins over a cluster of a megabyte: it is cut, and the answer stays in its bound."""
    hostile = "a" + "\u0301" * 1_000_000
    assert len(cut(hostile, 5_000)) == 5_000
    assert cut("x" * 10 + hostile[:CLUSTER_CHARS_MAX], 500) == "x" * 10
    assert len(cut_to_bytes(hostile, 5_000).encode()) in range(4_990, 5_001)


@pytest.mark.parametrize(
    "unit",
    [
        "a\u0301",
        "🇩🇪",
        "👨‍",
        "\u1100",
        f"{ESC}]",
        f"{ESC}[",
        "\x9d",
        f"{ESC}]8;;",
        "\u0600",
        "\r\n",
        "\u200d",
        "क्",
        '"',
        "\x00",
    ],
)
def test_hostile_runs_are_quick(unit: str) -> None:
    """A megabyte of the worst units is stripped and cut in one go (a quadratic step would run into the time limit)."""
    text = unit * (1_000_000 // len(unit))
    for at in (1, 1_023, 40_001, 500_001, len(text) - 1):
        assert 0 <= safe_stop(text, at) <= at <= safe_start(text, at) <= len(text)
    assert not set(strip_escapes(text)) & {ESC, "\x9d", "\x00"}
    assert json_length(cut_to_bytes(text, 30_000)) <= 30_000
    assert len(around(text, 500_000, 500_010, 400)) <= 400


@pytest.mark.parametrize(
    "text", ["", "plain", 'quote " and \\', "\x00\x1f\b\f\n\r\t\x7f", "é日本😀", "\u2028", "a\ud800b", "\x85"]
)
def test_json_length(text: str) -> None:
    """The length is that of the bytes that are sent."""
    assert json_length(text) == len(exact_json.dumps(text)) - 2


@pytest.mark.parametrize(
    ("text", "bytes_max", "kept"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("ééé", 5, "éé"),
        ('""""', 5, '""'),
        ("\x00\x00", 11, "\x00"),
        (f"ab{FAMILY}", 19, "ab"),
        (f"ab{FAMILY}", 20, f"ab{FAMILY}"),
        ("abc", 0, ""),
    ],
)
def test_cut_to_bytes(text: str, bytes_max: int, kept: str) -> None:
    """The longest prefix whose JSON fits."""
    assert cut_to_bytes(text, bytes_max) == kept


def test_cut_to_bytes_always_gets_on() -> None:
    """A first cluster that does not fit is cut itself: reading in pieces must never stand still."""
    assert cut_to_bytes(FAMILY, 8) == "👨\u200d"
    assert cut_to_bytes_with_count(FAMILY * 9, 20) == "…(+45 chars)"


def test_around() -> None:
    """A hit is shown in the middle of its text, with what is left out on both sides counted."""
    text = "a" * 1_000 + "HIT" + "b" * 1_000
    shown = around(text, 1_000, 1_003, 100)
    left, middle, right = shown.split("…(+")[0], shown.split("…")[2], shown.rsplit("…(+", 1)[1]
    assert left == ""
    assert middle.strip("ab") == "HIT"
    assert shown.startswith("…(+")
    assert right.endswith(" chars)")
    before = int(shown[3:].split(" ")[0])
    after = int(right.split(" ")[0])
    assert before + len(middle) + after == len(text)
    assert len(shown) <= 100
    assert abs(middle.index("HIT") - (len(middle) - 3) / 2) <= 1


def test_around_at_the_ends() -> None:
    """At an end there is no mark on that side; a text that fits is shown whole."""
    text = "HIT" + "b" * 1_000
    assert around(text, 0, 3, 60).startswith("HITb")
    assert around(text[::-1], 1_000, 1_003, 60).endswith("bTIH")
    assert around("short", 1, 2, 60) == "short"


def test_around_a_long_hit() -> None:
    """Of a hit longer than the window its beginning is shown."""
    text = "a" * 50 + "H" * 500
    shown = around(text, 50, 550, 100)
    assert shown.startswith("…(+50 chars)…HHH")
    assert len(shown) <= 100


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("no escapes", "no escapes"),
        ("tab\tline\r\n", "tab\tline\r\n"),
        (f"{ESC}[1;31mred{ESC}[0m", "red"),
        (f"{ESC}[38:2::255:0:0mred{ESC}[K", "red"),
        (f"{ESC}]8;;http://example.com{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}]0;title\x07text", "text"),
        (f"{ESC}P1$r0m{ESC}\\text", "text"),
        (f"{ESC}_app{ESC}\\{ESC}^pm{ESC}\\{ESC}Xsos{ESC}\\text", "text"),
        ("\x9b31mred\x9b0m \x9d0;title\x9ctext \x90q\x9c.", "red text ."),
        (f"{ESC}(Btext{ESC}7{ESC}=", "text"),
        (f"{ESC}", ""),
        (f"a{ESC}日本", "a日本"),
        (f"{ESC}]0;never ended\nnext line", "0;never ended\nnext line"),
        (f"{ESC}]0;aborted{ESC}[1mbold", "0;abortedbold"),
        ("bell\x07 back\x08space null\x00 del\x7f next\x85", "bell backspace null del next"),
        ("é\x07", "é"),
        (f"{ESC}[31", ""),
    ],
)
def test_strip_escapes(text: str, plain: str) -> None:
    """Sequences go whole, stray controls go, text and line ends stay."""
    assert strip_escapes(text) == plain
