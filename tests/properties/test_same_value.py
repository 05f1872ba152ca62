"""Whatever the table, document, text or archive: every tool sees the same values, and previews show the first."""

import csv
import io
import json
import re
import zipfile
from typing import Any

import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blobs import Blobs
from blobs.domain import exact_json

SETTINGS = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
WORDS = st.text(CHARACTERS, min_size=1, max_size=12).filter(lambda each: each.strip() == each)
CELLS = st.one_of(
    WORDS,
    st.from_regex(r"\A-?[0-9]{1,30}\Z"),
    st.from_regex(r"\A[0-9]{1,4}\.[0-9]{1,4}\Z"),
    st.dates().map(str),
    st.sampled_from(["NA", "null", "true", "00123", "1e5", 'say "x", then', "line\nend", "\u2028", "-0"]),
)
SCALARS = (
    st.booleans() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
)  # null in every row of a column says nothing of its type
VALUES = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
GRAPHEMES = st.sampled_from(
    ["a", "é", "e\u0301", "👩‍👩‍👧‍👦", "🇳🇴", "한", "\u1112\u1161\u11ab", "😀", "각", " ", "क्षि", "0️⃣", "x̷̡̛"]
)
_MARK = re.compile(r"…\(\+(\d+) (chars|items|keys|columns)\)\Z")


class Asked:
    """A blob and what each tool says of it."""

    def __init__(self, service: Blobs, content: bytes, media_type: str | None) -> None:
        self._chat = service.conversation()
        self.handle = self._chat.attach(content, type=media_type)
        self.preview = self.handle["preview"]

    def read(self, **arguments: Any) -> list[Any]:
        items, call = [], {"blob": "blob1", **arguments}
        while call:
            data = self.call("blob_read", call)
            items += data["items"]
            call = data.get("next")
        return items

    def is_found(self, text: str, index: int) -> bool:
        data = self.call("blob_search", {"blob": "blob1", "pattern": text, "start": index, "limit": 1})
        return bool(data["matches"]) and data["matches"][0]["item"] == index

    def sql(self, query: str) -> list[list[Any]]:
        rows: list[list[Any]] = self.call("blob_code", {"blob": "blob1", "language": "sql", "code": query})["rows"]
        return rows

    def python(self, code: str) -> Any:
        return self.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._chat.call(tool, arguments)
        assert answer["ok"], answer
        data: dict[str, Any] = answer["data"]
        return data

    def check_preview(self, items: list[Any]) -> None:
        """The first items are the first, the last the last, cut only where a mark says how much."""
        assert self.handle["items"] == len(items)
        first, last = self.preview["first"], self.preview.get("last", [])
        for shown, whole in zip(first, items, strict=False):
            assert is_shown(shown, whole), (shown, whole)
        for shown, whole in zip(reversed(last), reversed(items), strict=False):
            assert is_shown(shown, whole), (shown, whole)
        assert len(first) + len(last) <= max(len(items), len(first))


def is_shown(shown: Any, whole: Any) -> bool:
    """What a preview shows is the value, or as much of it as its marks say; strings are cut between graphemes."""
    if isinstance(shown, str) and (mark := _MARK.search(shown)) and shown != whole:
        kept = shown[: mark.start()]
        if not isinstance(whole, str):
            return len(whole) == int(mark[1]) if isinstance(whole, list | dict) else str(whole).startswith(kept)
        ends = [0]
        for cluster in regex.findall(r"\X", whole):
            ends.append(ends[-1] + len(cluster))
        return whole.startswith(kept) and int(mark[1]) == len(whole) - len(kept) and len(kept) in ends
    if isinstance(shown, list) and isinstance(whole, list):
        cut = len(shown) != len(whole)
        pairs = zip(shown[:-1] if cut else shown, whole, strict=False)
        return (not cut or _MARK.search(str(shown[-1])) is not None) and all(is_shown(a, b) for a, b in pairs)
    if isinstance(shown, dict) and isinstance(whole, dict):
        return all(is_shown(value, whole[key]) for key, value in shown.items() if key in whole)
    return exact_json.dumps(shown) == exact_json.dumps(whole)


@SETTINGS
@given(rows=st.lists(st.tuples(CELLS, st.none() | CELLS, CELLS), min_size=1, max_size=12))
def test_tables(service: Blobs, rows: list[tuple[str | None, ...]]) -> None:
    """A cell is the same text in the preview, read, search and Python, and casts back to it in SQL."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([["first", "second", "third"], *rows])
    asked = Asked(service, written.getvalue().encode(), "text/csv")
    expected = [list(row) for row in rows]
    assert asked.read() == expected
    asked.check_preview(expected)
    assert asked.sql("select first::varchar, second::varchar, third::varchar from blob1") == expected
    assert asked.python("blob1.rows()") == [
        dict(zip(["first", "second", "third"], row, strict=True)) for row in expected
    ]
    for cell in filter(None, expected[-1]):
        assert asked.is_found(cell, len(expected) - 1)


@SETTINGS
@given(
    records=st.lists(st.fixed_dictionaries({"name": WORDS, "number": SCALARS, "inner": VALUES}), min_size=1, max_size=8)
)
def test_documents(service: Blobs, records: list[dict[str, Any]]) -> None:
    """An entry is the same value everywhere, as an element of an array, a line or one of several values."""
    texts = [json.dumps(each, ensure_ascii=False) for each in records]
    kinds = [("[" + ",\n".join(texts) + "]", "application/json"), ("\n".join(texts), "application/x-ndjson")]
    for text, media_type in kinds:
        asked = Asked(service, text.encode(), media_type)
        items = asked.read()
        assert [json.loads(each) for each in map(exact_json.dumps, map(exact_json.plain, items))] == [
            json.loads(exact_json.dumps(exact_json.plain(exact_json.loads(each)))) for each in texts
        ]
        asked.check_preview(items)
        assert asked.python("blob1.rows()") == items
        assert [row[0] for row in asked.sql("select name from blob1")] == [each["name"] for each in records]
        last = len(records) - 1
        assert asked.is_found(json.dumps(records[last]["name"], ensure_ascii=False), last)
        (row,) = asked.sql(f"select number::varchar from blob1 offset {last}")
        assert same_number(row[0], records[last]["number"])


def same_number(found: str | None, written: Any) -> bool:
    if isinstance(written, bool):
        return str(found).lower() == str(written).lower()
    if isinstance(written, int | float):
        return float(str(found)) == float(written)
    return found in (written, json.dumps(written, ensure_ascii=False))


@SETTINGS
@given(
    lines=st.lists(st.lists(GRAPHEMES, max_size=120).map("".join), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_texts(service: Blobs, lines: list[str], end: str, codec: str) -> None:
    """A line is the same everywhere, whatever ends it and in whichever encoding; no preview cuts a grapheme."""
    asked = Asked(service, ("x\n" + "".join(line + end for line in lines)).encode(codec), "text/plain")
    expected = ["x", *lines]
    assert asked.read() == expected
    asked.check_preview(expected)
    assert asked.python("blob1.lines()") == expected
    assert asked.sql("select line from blob1") == [[line] for line in expected]
    assert not lines[-1] or asked.is_found(lines[-1], next(i for i, each in enumerate(expected) if lines[-1] in each))


@SETTINGS
@given(
    members=st.dictionaries(
        st.from_regex(r"\A[a-z]{1,8}\.csv\Z"), st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=4
    )
)
def test_archives(service: Blobs, members: dict[str, list[str]]) -> None:
    """What is in a member is the same by part in read, search and SQL as in a blob of its own."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, words in members.items():
            written = io.StringIO()
            csv.writer(written, quoting=csv.QUOTE_ALL).writerows(
                [["word", "place"], *[[word, str(at)] for at, word in enumerate(words)]]
            )
            archive.writestr(name, written.getvalue())
    asked = Asked(service, sink.getvalue(), None)
    assert asked.handle["items"] == len(members)
    name, words = next(reversed(members.items()))
    rows = [[word, str(at)] for at, word in enumerate(words)]
    assert asked.read(part=name) == rows
    assert [[word, str(place)] for word, place in asked.sql(f'select word::varchar, place from blob1."{name}"')] == rows
    found = asked.call("blob_search", {"blob": "blob1", "part": name, "pattern": words[-1], "columns": ["word"]})
    assert len(words) - 1 in [match["item"] for match in found["matches"]]
