"""A search that looks at bytes first finds what one that looks at every item finds."""

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import previewers.csv_records
import previewers.json_stretches
import previewers.ndjson
import previewers.ndjson_rows
import previewers.text
from blobs.domain.errors import BlobsError, ToolInputError
from blobs.operations import literals as literal_search
from blobs.operations.finding import Pattern
from blobs.operations.literals import Literal
from blobs.operations.required import required_literal
from blobs.operations.search import search
from blobs.operations.tools import SearchCall
from blobs.reading import stretches
from blobs.reading.source import BytesSource
from previewers.csv_tsv import CsvReader
from previewers.json_document import JsonReader
from previewers.ndjson import NdjsonReader
from previewers.text import TextReader

READERS: dict[str, Any] = {"text": TextReader(), "csv": CsvReader(), "json": JsonReader(), "ndjson": NdjsonReader()}

PIECES = (
    "a", "b", "c", "k", "K", "\u212a", "\u017f", "s", "\xe9", "\U0001f600", " ", "\t", ",", ";", ":", '"', '""', "\n",
    "\r", "\r\n", "\x1b[31m", "\x08", "\x9b1m", "\\", "/", "\\u0061", "\\n", "0", "12", "-0", "1.50", "[", "{", "ab",
    "\u2028", "\x7f", "\0", "n",
)  # fmt: skip
REGEXES = (
    "a.*b", "^a", "b$", "^$", "$", "[^a]b", r"a\s", r"\s", r"\bA\b", r"\B", "a*", "(?i)k", "[^,]+,", '"', "a|$",
    "(?s)a.b", r"\Aa", r"b\z", "[^x]*x", r"(a|b)+\s*c", "[a-c]{2}", r"(?-m)^b", r"\Q[\E^", "x[^y]*y|x", r"\n", ".",
    r"\x{e9}", r"\pL\d", "(?m)^b", "(?U)a.*", r"[[:^alpha:]]", '"b', "a:b", "\\\\",
    "k.*c", "ab+", r"a\s*b", "(?:a|b)12", "a[bc]?12", r"1\.50",
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Borders between stretches lie everywhere."""
    monkeypatch.setattr(stretches, "STRETCH_BYTES", 12)
    monkeypatch.setattr(previewers.json_stretches, "STRETCH_BYTES", 12)
    monkeypatch.setattr(previewers.csv_records, "RECORDS_PER_MARK", 2)
    monkeypatch.setattr(previewers.ndjson, "ROWS_PER_MARK", 2)
    monkeypatch.setattr(previewers.ndjson_rows, "ROWS_PER_MARK", 2)
    monkeypatch.setattr(previewers.text, "line_runs", partial(stretches.line_runs, size_bytes=12))
    monkeypatch.setattr(literal_search, "STRETCH_BYTES", 5)
    monkeypatch.setattr(literal_search, "_STEPS_MAX", 1)


texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
literals = st.lists(st.sampled_from([each for each in PIECES if each != "\0"]), min_size=1, max_size=3).map("".join)
calls = st.builds(
    SearchCall,
    blob=st.just("blob1"),
    pattern=literals,
    ignore_case=st.booleans(),
    start=st.integers(0, 3),
    limit=st.sampled_from([1, 2, 20]),
    context=st.sampled_from([0, 1]),
) | st.builds(
    SearchCall,
    blob=st.just("blob1"),
    pattern=st.sampled_from(REGEXES),
    regex=st.just(True),
    ignore_case=st.booleans(),
    start=st.integers(0, 3),
    limit=st.sampled_from([1, 20]),
)


@given(texts, calls)
@settings(max_examples=250, deadline=None)
@example("x\ny\n" * 20, SearchCall(blob="blob1", pattern="[^x]*x", regex=True))
@example("x\n" + "y\nx\n" * 20, SearchCall(blob="blob1", pattern="[^x]*x", regex=True, limit=1))
@example("a\x1b[31mb\nc", SearchCall(blob="blob1", pattern="ab"))
@example("a\x1b[31mb\nc", SearchCall(blob="blob1", pattern="31m"))
@example("a\r\nb\r\n\r\nab", SearchCall(blob="blob1", pattern="a$", regex=True))
def test_in_lines(text: str, call: SearchCall) -> None:
    """Lines that end in every way, with escapes and without."""
    same("text", text.encode(), call)


few_letters = st.text("abkKsS\u212a\u017f\n", max_size=80)


@given(few_letters, st.text("abkKsS", min_size=1, max_size=20), st.booleans(), st.integers(1, 20), st.integers(0, 3))
@settings(max_examples=500, deadline=None)
@example("aab" * 20, "aabaabaabaabaabaa", False, 7, 0)
@example("b\u212a", "bk", True, 7, 3)
def test_of_literals(text: str, literal: str, ignore_case: bool, step: int, steps_max: int) -> None:
    """A literal begins where RE2 says, also where hits overlap and lie over the end of what is looked at together."""
    raw = text.encode()
    found = Literal.of(literal, ignore_case=ignore_case)
    engine = Pattern(SearchCall(blob="blob1", pattern=literal, ignore_case=ignore_case))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literal_search, "STRETCH_BYTES", step)
        patch.setattr(literal_search, "_STEPS_MAX", steps_max)
        begins = None if found is None else found.begins(raw)
    if begins is None:
        assert ignore_case, "every literal that stands for itself can be found in bytes"
        return
    wanted = [at for at in range(len(text)) if (hit := engine.search(text[at:])) is not None and hit[0] == 0]
    assert begins.tolist() == [len(text[:at].encode()) for at in wanted]


expressions = st.lists(
    st.sampled_from(
        ("a", "b", "k", "K", "ab", ".", "*", "+", "?", "{2}", "{0,1}", "{1,}", "(", "(?:", "(?i)", "(?P<x>", ")", "|",
         "[", "[^", "]", "[]a]", "[a-k]", r"[\]b]", "^", "$", r"\.", r"\d", r"\x61", r"\pL", r"\Q", r"\E", "{", "}",
         "2", "-", "\n", r"\{", r"\b", r"\\", "[[:alpha:]]", ",", "\xe9", "#", " ")
    ),
    min_size=1,
    max_size=9,
).map("".join)  # fmt: skip


@given(expressions, st.lists(st.text("abkK2.{} -,#\xe9\\", max_size=8), max_size=30), st.booleans())
@settings(max_examples=500, deadline=None)
@example("(?:a|b)k", ["ak"], False)
@example("ab?k", ["ak"], False)
@example("[]a]k", ["]k"], False)
def test_what_is_required_is_in_every_match(expression: str, texts: list[str], ignore_case: bool) -> None:
    """Wherever an expression matches, its required literal is."""
    required = required_literal(expression)
    call = SearchCall(blob="blob1", pattern=expression, regex=True, ignore_case=ignore_case)
    try:
        pattern = Pattern(call)
    except ToolInputError:
        return
    assume(required is not None)
    literal = Pattern(SearchCall(blob="blob1", pattern=required or "", ignore_case=ignore_case))
    for text in [*texts, expression, "".join(texts), "\n".join(texts)]:
        if pattern.search(text) is not None:
            assert literal.search(text) is not None


@pytest.mark.parametrize(
    ("expression", "required"),
    [
        ("ERROR.*timeout", "timeout"),
        (r"took \d+ ms", "took "),
        (r"user\.name=\w+", "user.name="),
        ("colou?r", "colo"),
        ("ab+c", "ab"),
        ("x{2,3}yes", "yes"),
        ("(?:GET|POST) /api/", " /api/"),
        (r"[a-f]{6}\d", None),
        ("warn|error", None),
        ("(?i)error", None),
        (r"\x41bc", None),
    ],
)
def test_what_is_required(expression: str, required: str | None) -> None:
    """The longest text outside of parentheses; none where the notation is out of the ordinary."""
    assert required_literal(expression) == required


@given(st.text("ab\n\r", max_size=60), st.sets(st.integers(0, 59)))
def test_lines_are_counted_by_their_ends(text: str, places: set[int]) -> None:
    """LF, CR and CRLF end lines, in any mixture."""
    within = sorted(place for place in places if place < len(text) and text[place] not in "\r\n")
    lines = {len(text[:place].replace("\r\n", "\n").replace("\r", "\n").split("\n")) for place in within}
    assert stretches.count_lines(text.encode(), np.array(within, np.int64)) == len(lines)


@given(texts, calls, st.sampled_from(["", "a,b\n", "a;b\n1;2\n", 'a,b\n"x",y\n']))
@settings(max_examples=300, deadline=None)
@example('ab"cd",e\n"ab"cd,e\n', SearchCall(blob="blob1", pattern="bc"), "")
@example('"a\nb",c\n"d""e",f\n', SearchCall(blob="blob1", pattern="^b", regex=True), "h,i\n")
@example('"a\nb",c\n"d""e",f\n', SearchCall(blob="blob1", pattern='d"e', regex=True), "h,i\n")
@example('"a\nb",c\n', SearchCall(blob="blob1", pattern=r"a\sb", regex=True), "h,i\n")
def test_in_cells(text: str, call: SearchCall, lead: str) -> None:
    """Records with quotes in the right places and in the wrong ones."""
    same("csv", (lead + text).encode(), call)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | texts | st.just(10**40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=25,
)
writings = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 0, 2]),
        "separators": st.sampled_from([None, (",", ":")]),
    }
)
SPACED = {"ensure_ascii": True, "indent": None, "separators": None}
rewritings = st.sampled_from([("", ""), ("/", "\\/"), ("a", "\\u0061"), ("k", "\\u212A"), ("\\n", "\\u000a")])


@given(st.lists(values, max_size=8) | st.dictionaries(texts, values, max_size=6), writings, rewritings, calls)
@settings(max_examples=300, deadline=None)
@example(["a/b"], SPACED, ("/", "\\/"), SearchCall(blob="blob1", pattern="a/b"))
@example(["xaz"], SPACED, ("a", "\\u0061"), SearchCall(blob="blob1", pattern="xaz"))
@example([{"x": 1}], SPACED, ("", ""), SearchCall(blob="blob1", pattern=":1"))
@example([{"x": [1, 2]}], SPACED, ("", ""), SearchCall(blob="blob1", pattern="1,2"))
def test_in_entries(value: Any, writing: dict[str, Any], rewriting: tuple[str, str], call: SearchCall) -> None:
    """Documents written in every way that means the same."""
    same("json", written(value, writing, rewriting), call)


@given(
    st.lists(values, min_size=1, max_size=8),
    writings,
    rewritings,
    calls,
    st.sampled_from(["\n", "\n\n", "\nbad a\n", "\r\n"]),
)
@settings(max_examples=250, deadline=None)
def test_in_rows_of_json(
    rows: list[Any], writing: dict[str, Any], rewriting: tuple[str, str], call: SearchCall, between: str
) -> None:
    """Lines of JSON, with lines between them that are none."""
    on_a_line = {**writing, "indent": None}
    same("ndjson", between.encode().join(written(row, on_a_line, rewriting) for row in rows), call)


def written(value: Any, writing: dict[str, Any], rewriting: tuple[str, str]) -> bytes:
    text = json.dumps(value, **writing)
    if rewriting[0] and '\\"' not in text and "\\\\" not in text:
        text = text.replace(*rewriting)
    return text.encode("utf-8", "surrogatepass")


def same(reader: str, content: bytes, call: SearchCall) -> None:
    source = BytesSource(content)
    try:
        quick, slow = READERS[reader].open(source), READERS[reader].open(source)
    except BlobsError:
        assume(False)
    slow.stretches = no_stretches
    assert answered(quick, call, source) == answered(slow, call, source)


def no_stretches(span: Any, needle: Any) -> Iterator[Any] | None:
    del span, needle
    return None


def answered(view: Any, call: SearchCall, source: BytesSource) -> Any:
    try:
        data = search(view, call, bytes_max=32_768, deadline=time.monotonic() + 60, source_bytes=source.size)
    except BlobsError as refusal:
        return str(refusal)
    del data["searched"]["bytes"]  # of a part of a blob: of its text, or of its bytes
    return data
