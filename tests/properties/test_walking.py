"""Following `next` from the first call gives back every item, each once, in bounded steps."""

import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blobs import Blobs, Conversation
from blobs.domain import exact_json

LIMIT = 32_768
SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def walk(chat: Conversation, arguments: dict[str, Any], *, steps_max: int = 2000) -> list[dict[str, Any]]:
    """Every answer from the first call to the complete one, each checked to be bounded."""
    answers = []
    for _ in range(steps_max):
        answer = chat.call("blob_read", arguments)
        assert answer["ok"], answer
        assert len(exact_json.dumps(answer)) <= LIMIT
        data = answer["data"]
        answers.append(data)
        if data["complete"]:
            assert "next" not in data
            return answers
        assert data["count"] > 0, "a step must bring something"
        arguments = data["next"]
    raise AssertionError("the walk does not end")


def items_of(answers: list[dict[str, Any]]) -> list[Any]:
    return [item for answer in answers for item in answer["items"]]


lines = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=3000), max_size=60)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@SETTINGS
@given(lines=lines)
def test_every_line_of_a_text_once(service: Blobs, lines: list[str]) -> None:
    """Lines of any length under the limit."""
    chat = service.conversation()
    text = "".join(line + "\n" for line in lines)
    chat.attach(text.encode(), type="text/plain")
    assert items_of(walk(chat, {"blob": "blob1", "unit": "lines"})) == lines


@SETTINGS
@given(entries=st.lists(values, max_size=80))
def test_every_entry_of_a_json_array_once(service: Blobs, entries: list[Any]) -> None:
    """Entries of any shape, compared as values."""
    chat = service.conversation()
    chat.attach(json.dumps(entries).encode(), type="application/json")
    assert items_of(walk(chat, {"blob": "blob1"})) == json.loads(json.dumps(entries))


@SETTINGS
@given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), values, min_size=1), min_size=2, max_size=60))
def test_every_row_of_ndjson_once(service: Blobs, rows: list[Any]) -> None:
    """One object a line."""
    chat = service.conversation()
    chat.attach("".join(json.dumps(row) + "\n" for row in rows).encode(), type="application/x-ndjson")
    assert items_of(walk(chat, {"blob": "blob1"})) == json.loads(json.dumps(rows))


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200)


@SETTINGS
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=60))
def test_every_row_of_a_csv_once(service: Blobs, rows: list[tuple[str, str]]) -> None:
    """Cells with quotes, delimiters and anything else."""
    chat = service.conversation()
    text = "first,second\n" + "".join(",".join('"' + c.replace('"', '""') + '"' for c in row) + "\n" for row in rows)
    chat.attach(text.encode(), type="text/csv")
    assert items_of(walk(chat, {"blob": "blob1"})) == [list(row) for row in rows]


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=500)
    return sink.getvalue()


ROWS = [{"id": i, "name": f"name {i}", "zip": f"{i:05d}"} for i in range(3000)]


@pytest.mark.parametrize(
    ("content", "media_type", "expected"),
    [
        (lambda: parquet(ROWS), "application/vnd.apache.parquet", [[r["id"], r["name"], r["zip"]] for r in ROWS]),
        (lambda: json.dumps(ROWS).encode(), "application/json", ROWS),
    ],
)
def test_every_row_of_a_table_once(
    chat: Conversation, content: Callable[[], bytes], media_type: str, expected: list[Any]
) -> None:
    """Many answers, one after another."""
    chat.attach(content(), type=media_type)
    answers = walk(chat, {"blob": "blob1"})
    assert len(answers) > 1
    assert items_of(answers) == expected


def test_every_entry_of_a_one_line_json_of_5_mb_once(chat: Conversation) -> None:
    """A line that no answer could hold is walked by its entries."""
    entries = [{"id": i, "text": "word " * 10} for i in range(75_000)]
    content = json.dumps(entries).encode()
    assert len(content) > 5_000_000
    handle = chat.attach(content)
    assert handle["items"] == 75_000
    assert items_of(walk(chat, {"blob": "blob1"})) == entries


def test_one_entry_of_5_mb_is_reached_in_pieces(chat: Conversation) -> None:
    """Characters go on exactly where the last answer ended, from where the entry begins."""
    value = "0123456789 é漢😀" * 120_000
    content = json.dumps([1, {"text": value}, 3], ensure_ascii=False)
    chat.attach(content.encode(), type="application/json")
    answers = walk(chat, {"blob": "blob1"})
    assert answers[0]["items"] == [1]
    text = "".join(items_of(answers[1:]))
    assert json.loads("[" + text) == [{"text": value}, 3]


def test_one_line_of_1_mb_is_reached_in_pieces(chat: Conversation) -> None:
    """The lines before it are items, the rest is text, and nothing is twice."""
    text = "first\n" + "x" * 1_000_000 + "\nlast\n"
    chat.attach(text.encode(), type="text/plain")
    answers = walk(chat, {"blob": "blob1"})
    assert answers[0]["items"] == ["first"]
    assert "".join(items_of(answers[1:])) == text[6:]


@pytest.mark.parametrize("unit", ["chars", "bytes"])
def test_characters_and_bytes_rebuild_the_blob(chat: Conversation, unit: str) -> None:
    """Whatever the format, its text or its bytes come back whole."""
    text = "é漢😀\tplain text \x1b[31mred\x1b[0m\r\n" * 3000
    chat.attach(text.encode(), type="text/plain")
    pieces = items_of(walk(chat, {"blob": "blob1", "unit": unit}))
    whole = "".join(pieces) if unit == "chars" else bytes.fromhex("".join(pieces)).decode()
    assert whole == text


def test_a_count_is_kept_along_the_walk(chat: Conversation) -> None:
    """`next` repeats the call with a new start."""
    chat.attach(json.dumps(list(range(100))).encode(), type="application/json")
    answers = walk(chat, {"blob": "blob1", "count": 7})
    assert [answer["count"] for answer in answers] == [7] * 14 + [2]
    assert items_of(answers) == list(range(100))


def test_a_search_is_walked_to_its_end(chat: Conversation) -> None:
    """Every match once."""
    chat.attach(("hit\nmiss\n" * 500).encode(), type="text/plain")
    arguments: dict[str, Any] = {"blob": "blob1", "pattern": "hit", "limit": 30}
    found = []
    while True:
        data = chat.call("blob_search", arguments)["data"]
        found += [match["item"] for match in data["matches"]]
        if data["complete"]:
            break
        arguments = data["next"]
    assert found == list(range(0, 1000, 2))
