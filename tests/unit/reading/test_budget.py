"""Texts and values made to fit."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blobs.domain import exact_json
from blobs.reading import budget
from blobs.reading.budget import clip, fit_value
from blobs.reading.tokens import count_tokens

ROWS = [{"id": i, "name": f"customer number {i}", "tags": ["a", "b"], "at": {"x": i / 7}} for i in range(3_200)]


def _size(value: Any) -> int:
    return len(exact_json.dumps(value))


def test_clip_keeps_what_fits() -> None:
    """A text within the budget comes back as it is, whatever its length in characters."""
    assert clip("hello world", 2) == "hello world"
    assert clip("", 0) == ""
    spaces = " " * 100_000  # 128 of them are one token
    assert clip(spaces, 1_000) is spaces


@pytest.mark.parametrize("tokens_max", [20, 100, 1_000, 5_000])
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"line {i}: something failed with code {i * 7}\n" for i in range(20_000)),
        "数据库连接失败。" * 20_000,
        "QUJDREVGRw" * 30_000,
        "\x1b[31mred\x1b[0m 👨‍👩‍👧 " * 10_000,
    ],
    ids=["log", "chinese", "base64", "escapes"],
)
def test_clip_keeps_the_budget(text: str, tokens_max: int) -> None:
    """Head and tail fill the budget without overstepping it, and the mark counts what is between them."""
    clipped = clip(text, tokens_max)
    assert count_tokens(clipped) <= tokens_max
    found = re.search(r"…\(\+(\d+) chars\)…", clipped)
    assert found is not None
    head, tail = clipped[: found.start()], clipped[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + int(found.group(1)) == len(text)
    if tokens_max >= 100:
        assert count_tokens(clipped) >= 0.8 * tokens_max
        assert len(head) > len(tail) > 0


def test_clip_counts_a_few_times_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a text of 1 MB, cut to 8,000 tokens, under a tenth is looked at, and 97 % of the budget used."""
    text = "".join(f"{i:06d} INFO worker-{i % 7} took {i % 991} ms\n" for i in range(30_000))
    counted = []
    monkeypatch.setattr(budget, "count_tokens", lambda part: counted.append(len(part)) or count_tokens(part))
    assert 7_760 <= count_tokens(clip(text, 8_000)) <= 8_000
    assert sum(counted) < len(text) / 10


def test_clip_prefers_line_ends() -> None:
    """Where lines are short, head and tail are whole lines."""
    text = "".join(f"line {i}\n" for i in range(10_000))
    head, tail = re.split(r"…\(\+\d+ chars\)…", clip(text, 500))
    assert head.endswith("\n")
    assert tail.startswith("line ")


def test_clip_to_nothing() -> None:
    """Under the mark's own size the mark stands alone."""
    assert clip("word " * 1_000, 1) == "…(+5000 chars)"


def test_fit_keeps_what_fits() -> None:
    """A value within the budget is itself."""
    assert fit_value(ROWS, 1_000_000) is ROWS
    assert fit_value({"a": 1}, 7) == {"a": 1}


@pytest.mark.parametrize("bytes_max", [4, 5, 20, 64, 100, 300, 2_048, 32_768])
def test_fit_keeps_the_budget(bytes_max: int) -> None:
    """Rows are kept from the first on, and the last item says how many are left out."""
    fitted = fit_value(ROWS, bytes_max)
    assert _size(fitted) <= bytes_max
    if bytes_max >= 100:
        assert fitted[-1] == f"…(+{3_200 - (len(fitted) - 1)} items)"
        assert fitted[0]["id"] == 0
    if bytes_max >= 300:
        assert _size(fitted) >= bytes_max // 2
        assert fitted[0] == ROWS[0]


def test_fit_marks_every_kind() -> None:
    """Strings, lists, objects and long numbers are cut with marks that count what is missing."""
    value = {"s": "x" * 9_000, "l": list(range(9_000)), "o": {str(i): i for i in range(900)}, "n": 1}
    fitted = fit_value(value, 400)
    assert re.fullmatch(r"x+…\(\+\d+ chars\)", fitted["s"])
    assert fitted["s"].count("x") + int(re.search(r"\d+", fitted["s"]).group()) == 9_000 + 0
    assert fitted["l"][-1] == f"…(+{9_000 - len(fitted['l']) + 1} items)"
    assert fitted["o"]["…"] == f"…(+{900 - len(fitted['o']) + 1} keys)"
    assert fitted["n"] == 1
    number = exact_json.loads("[" + "9" * 9_000 + "]")
    assert fit_value(number, 100)[0].endswith(" chars)")


def test_fit_never_overwrites() -> None:
    """Long keys with the same beginning are counted as left out, and a real key … is not taken for the mark."""
    value = {"…": "real"} | {"k" * 500 + str(i): "v" * 50 for i in range(50)}
    fitted = fit_value(value, 400)
    assert fitted["…"] == "real"
    assert int(re.search(r"\d+", fitted["……"]).group()) == 51 - (len(fitted) - 1)


def test_fit_changes_nothing_passed_in() -> None:
    """The value that is passed in stays as it was."""
    before = json.dumps(ROWS)
    fit_value(ROWS, 500)
    assert json.dumps(ROWS) == before


def test_fit_deep_nesting() -> None:
    """Nesting beyond every budget ends in a mark, without recursion trouble."""
    deep: list[Any] = []
    for _ in range(850):
        deep = [deep]
    fitted = fit_value(deep, 200)
    assert _size(fitted) <= 200
    assert "…(+1 items)" in exact_json.text(fitted)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@settings(max_examples=150, deadline=None)
@given(value=_json, bytes_max=st.integers(4, 600))
def test_fit_any_value(value: Any, bytes_max: int) -> None:
    """Any JSON value is made to fit any budget from 4 bytes on, the same way each time."""
    fitted = fit_value(value, bytes_max)
    assert _size(fitted) <= bytes_max
    assert exact_json.loads(exact_json.dumps(fitted)) is not ...
    assert exact_json.dumps(fitted) == exact_json.dumps(fit_value(value, bytes_max))
    if _size(value) <= bytes_max:
        assert fitted is value
