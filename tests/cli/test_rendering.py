"""Answers as people read them."""

from blobs.cli.rendering import cell_text, command_text, counted, display_width, table_lines
from blobs.domain.exact_json import Number


def test_numbers_are_aligned_to_the_right() -> None:
    """Columns of numbers stand right, texts left, null is said."""
    assert table_lines(["n", "name"], [[1, "one"], [1000, None], [Number("2.50"), "x"]]) == [
        "   n  name",
        "────  ────",
        "   1  one",
        "1000  null",
        "2.50  x",
    ]


def test_wide_characters_take_two_columns() -> None:
    """The width is that of a terminal: CJK takes two columns, combining marks none."""
    assert [display_width(text) for text in ("abc", "日本", "e\u0301", "ﬀ")] == [3, 4, 1, 1]
    lines = table_lines(None, [["日本", "x"], ["abcd", "y"]])
    assert lines == ["日本  x", "abcd  y"]


def test_a_cell_stays_on_its_line() -> None:
    """Line ends and tabs inside a cell are shown as they are written in JSON; long cells are cut with a mark."""
    assert cell_text("a\nb\tc\r") == "a\\nb\\tc\\r"
    assert cell_text("x" * 1000, 40) == "x" * 26 + "…(+974 chars)"
    assert cell_text("\x1b[31mred") == "red"


def test_rows_may_be_ragged() -> None:
    """A row that is shorter than others is no fault."""
    assert table_lines(["a", "b"], [["1"], ["2", "3"]]) == ["a  b", "─  ─", "1", "2  3"]
    assert table_lines([], []) == []


def test_counts_read_as_words() -> None:
    """One is singular, thousands have commas."""
    assert [counted(1, "entries"), counted(412000, "rows"), counted(1, "pages")] == [
        "1 entry",
        "412,000 rows",
        "1 page",
    ]


def test_a_command_can_be_pasted() -> None:
    """Words are quoted for a shell, and what begins with a dash is not taken for a flag."""
    flags = {"start": -5, "regex": True, "columns": ["a b", "c"], "part": None, "json": False}
    said = command_text("search", ["my file.csv"], flags, "-v")
    assert said == "blobs search 'my file.csv' --start=-5 --regex '--columns=[\"a b\",\"c\"]' -- -v"
