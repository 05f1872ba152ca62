"""What the three tools answer, and what they say when they cannot."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blobs import Blobs, Conversation

TEXT = "".join(f"line {i}\n" for i in range(1200)).encode()
ORDERS = json.dumps({"meta": {"page": 1}, "orders": [{"id": i, "zip": f"{i:05d}"} for i in range(50)]}).encode()
TABLE = b"id,name\n" + b"".join(f"{i},name {i}\n".encode() for i in range(50))


@pytest.fixture
def chat3(chat: Conversation) -> Conversation:
    """blob1 is text of 1,200 lines, blob2 a JSON object, blob3 a CSV, blob4 an image, blob5 nothing at all."""
    from PIL import Image

    image = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(image, "PNG")
    chat.attach(TEXT, type="text/plain")
    chat.attach(ORDERS, type="application/json")
    chat.attach(TABLE, type="text/csv")
    chat.attach(image.getvalue())
    chat.attach(b"")
    return chat


@pytest.mark.parametrize(
    ("tool", "wrong", "says", "right"),
    [
        ("blob_read", {"blob": "blob9"}, "blob1", {"blob": "blob1"}),
        ("blob_read", {"blob": "blob1", "start": 5000}, "Use 0 to 1199", {"blob": "blob1", "start": 1199}),
        ("blob_read", {"blob": "blob1", "begin": 5}, "start", {"blob": "blob1", "start": 5}),
        ("blob_read", {"blob": "blob2", "part": "order"}, "'orders'", {"blob": "blob2", "part": "orders"}),
        ("blob_read", {"blob": "blob2", "path": "/orders/99"}, "0 to 49", {"blob": "blob2", "path": "/orders/49"}),
        ("blob_read", {"blob": "blob3", "columns": ["nam"]}, "'name'", {"blob": "blob3", "columns": ["name"]}),
        ("blob_read", {"blob": "blob4"}, "bytes", {"blob": "blob4", "unit": "bytes"}),
        ("blob_search", {"blob": "blob1", "pattern": "(", "regex": True}, "regex", {"blob": "blob1", "pattern": "("}),
        (
            "blob_search",
            {"blob": "blob1", "pattern": r"(a)\1", "regex": True},
            "regex",
            {"blob": "blob1", "pattern": "a"},
        ),
        ("blob_search", {"blob": "blob1", "pattern": ""}, "pattern", {"blob": "blob1", "pattern": "line 7"}),
        (
            "blob_code",
            {"blob": "blob3", "code": "select nam from blob3"},
            "name",
            {"blob": "blob3", "code": "select name from blob3"},
        ),
        (
            "blob_code",
            {"blob": "blob3", "code": "select * from orders"},
            "blob3",
            {"blob": "blob3", "code": "select * from blob3"},
        ),
        (
            "blob_code",
            {"blob": "blob4", "code": "select 1 from blob4"},
            "python",
            {"blob": "blob4", "language": "python", "code": "blob4.size"},
        ),
        (
            "blob_code",
            {"blob": "blob1", "language": "python", "code": "x = 1\nx / 0"},
            "ZeroDivisionError",
            {"blob": "blob1", "language": "python", "code": "x = 1\nx / 1"},
        ),
    ],
)
def test_an_error_names_a_next_call_that_works(
    chat3: Conversation, tool: str, wrong: dict[str, Any], says: str, right: dict[str, Any]
) -> None:
    """A message is an instruction with real values; following it succeeds."""
    refused = chat3.call(tool, wrong)
    assert refused["ok"] is False
    assert list(refused) == ["ok", "message"]
    assert says in refused["message"]
    assert "Traceback" not in refused["message"]
    assert len(refused["message"].encode()) <= 4096
    assert chat3.call(tool, right)["ok"] is True


def test_lines_are_counted_from_0_and_from_the_end(chat3: Conversation) -> None:
    """A negative start counts from the end; an answer says what it covers."""
    data = chat3.call("blob_read", {"blob": "blob1", "start": -2})["data"]
    assert data == {
        "blob": "blob1",
        "unit": "lines",
        "start": 1198,
        "count": 2,
        "total": 1200,
        "items": ["line 1198", "line 1199"],
        "complete": True,
    }


def test_an_answer_that_is_not_whole_says_how_to_go_on(chat3: Conversation) -> None:
    """`next` holds the literal arguments of the call that continues."""
    data = chat3.call("blob_read", {"blob": "blob1", "start": 10, "count": 2})["data"]
    assert data["complete"] is False
    assert data["next"] == {"blob": "blob1", "start": 12, "count": 2}


def test_an_empty_blob_is_whole_at_once(chat3: Conversation) -> None:
    """Nothing to read is an answer, not an error."""
    data = chat3.call("blob_read", {"blob": "blob5", "unit": "bytes"})["data"]
    assert (data["total"], data["items"], data["complete"]) == (0, [], True)


def test_a_path_reads_inside_a_document(chat3: Conversation) -> None:
    """JSON Pointer, with the value's own items."""
    data = chat3.call("blob_read", {"blob": "blob2", "path": "/orders", "start": 7, "count": 1})["data"]
    assert data["items"] == [{"id": 7, "zip": "00007"}]
    assert data["total"] == 50


def test_a_count_that_does_not_fit_becomes_a_blob(chat: Conversation) -> None:
    """The slice is a blob of its own, and the message says what would fit."""
    text = "".join(f"{i:06d} {'x' * 93}\n" for i in range(2000)).encode()
    chat.attach(text, type="text/plain")
    answer = chat.call("blob_read", {"blob": "blob1", "start": 1, "count": 1000})
    assert answer["data"]["blob"] == "blob2"
    assert answer["data"]["items"] == 1000
    assert chat.content("blob2") == text[101 : 101 * 1001]
    fits = int(answer["message"].split("count ")[1].split()[0])
    again = chat.call("blob_read", {"blob": "blob1", "start": 1, "count": fits})
    assert again["data"]["count"] == fits


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        ("".join(f"{i:06d} {'x' * 93}\n" for i in range(2000)).encode(), "text/plain"),
        (b"id,name\n" + b"".join(f"{i},{'n' * 60}\n".encode() for i in range(2000)), "text/csv"),
        (b"".join(b'{"id":%d,"name":"%s"}\n' % (i, b"n" * 60) for i in range(2000)), "application/x-ndjson"),
        (json.dumps([{"id": i, "name": "n" * 60} for i in range(2000)]).encode(), "application/json"),
    ],
)
def test_a_slice_that_equals_its_source_is_the_sources_name_again(
    chat: Conversation, content: bytes, media_type: str
) -> None:
    """No copies, no chain of blobs of blobs."""
    chat.attach(content, type=media_type)
    answer = chat.call("blob_read", {"blob": "blob1", "count": 5000})
    assert answer["data"]["blob"] == "blob1"
    assert "preview" not in answer["data"]
    assert len(chat.handles()) == 1


def test_a_search_that_finds_nothing_says_what_it_searched(chat3: Conversation) -> None:
    """Absence is told with its extent."""
    answer = chat3.call("blob_search", {"blob": "blob1", "pattern": "zebra"})
    assert answer["data"]["found"] == 0
    assert answer["data"]["searched"] == {"items": 1200, "bytes": len(TEXT)}
    assert "1200 lines" in answer["message"]


def test_a_search_counts_beyond_its_limit(chat3: Conversation) -> None:
    """`found` is the whole number, `matches` the first ones."""
    data = chat3.call("blob_search", {"blob": "blob1", "pattern": "line 1", "limit": 3})["data"]
    assert [match["item"] for match in data["matches"]] == [1, 10, 11]
    assert data["found"] == 311
    assert (
        data["next"] == {"blob": "blob1", "pattern": "line 1", "limit": 3, "start": 12} or data["next"]["start"] == 12
    )


def test_a_literal_search_takes_no_character_for_an_operator(chat: Conversation) -> None:
    """Bars, dots and brackets are themselves."""
    chat.attach(b"a|b\nab\na.b (c)\n", type="text/plain")
    assert [m["item"] for m in chat.call("blob_search", {"blob": "blob1", "pattern": "a|b"})["data"]["matches"]] == [0]
    assert [m["item"] for m in chat.call("blob_search", {"blob": "blob1", "pattern": "(c)"})["data"]["matches"]] == [2]


def test_a_search_sees_text_without_terminal_escapes(chat: Conversation) -> None:
    """Colours do not hide a word."""
    chat.attach(b"ok\n\x1b[31mER\x1b[0m\x1b[1mROR\x1b[0m payment\n", type="text/plain")
    data = chat.call("blob_search", {"blob": "blob1", "pattern": "ERROR payment"})["data"]
    assert [match["item"] for match in data["matches"]] == [1]
    assert "\x1b" not in data["matches"][0]["text"]


def test_context_gives_the_items_around_a_match(chat3: Conversation) -> None:
    """As many before and after as asked for."""
    data = chat3.call("blob_search", {"blob": "blob1", "pattern": "line 600", "context": 2})["data"]
    assert data["matches"][0]["before"] == ["line 598", "line 599"]
    assert data["matches"][0]["after"] == ["line 601", "line 602"]


EXACT = "123456789012345678901234567890"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (f"id,zip,day\n{EXACT},00123,01/02/2024\n{EXACT[:-1]}1,00124,02/02/2024\n".encode(), "text/csv"),
        (
            f'[{{"id":{EXACT},"zip":"00123","day":"01/02/2024"}},{{"id":{EXACT[:-1]}1,"zip":"00124","day":"02/02/2024"}}]'.encode(),
            "application/json",
        ),
        (
            f'{{"id":{EXACT},"zip":"00123","day":"01/02/2024"}}\n{{"id":{EXACT[:-1]}1,"zip":"00124","day":"02/02/2024"}}\n'.encode(),
            "application/x-ndjson",
        ),
    ],
)
def test_values_come_back_unchanged_on_every_way(chat: Conversation, content: bytes, media_type: str) -> None:
    """A 30-digit number, a leading zero and a date-like string by read, preview, search, SQL and Python."""
    wanted = (EXACT, "00123", "01/02/2024")
    handle = chat.attach(content, type=media_type)
    read = json.dumps(chat.call("blob_read", {"blob": "blob1"})["data"]["items"][0])
    found = chat.call("blob_search", {"blob": "blob1", "pattern": EXACT})["data"]
    sql = chat.call("blob_code", {"blob": "blob1", "code": "select id, zip, day from blob1 order by zip"})["data"]
    code = "[str(v) for v in (blob1.rows()[0]['id'], blob1.rows()[0]['zip'], blob1.rows()[0]['day'])]"
    python = chat.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["data"]
    assert found["found"] == 1
    for value in wanted:
        assert value in json.dumps(handle["preview"], ensure_ascii=False)
        assert value in read
    assert [str(cell) for cell in sql["rows"][0]] == list(wanted)
    assert python["result"] == list(wanted)


def test_sql_answers_over_parts_of_a_document(chat3: Conversation) -> None:
    """Arrays of objects inside a document are tables of their own."""
    data = chat3.call("blob_code", {"blob": "blob2", "code": "select count(*), min(zip) from blob2.orders"})["data"]
    assert data["rows"] == [[50, "00000"]]
    assert data["complete"] is True


def test_a_large_sql_result_is_a_blob(chat: Conversation) -> None:
    """All rows are kept; the model reads a handle."""
    chat.attach(b"n\n" + b"".join(b"%d\n" % i for i in range(20_000)), type="text/csv")
    answer = chat.call("blob_code", {"blob": "blob1", "code": "select n, n * 2 as twice from blob1"})
    assert answer["data"]["blob"] == "blob2"
    assert answer["data"]["items"] == 20_000
    data = chat.call("blob_code", {"blob": "blob2", "code": "select sum(twice) from blob2"})["data"]
    assert data["rows"] == [[2 * sum(range(20_000))]]


@pytest.mark.parametrize(
    ("save_as", "media_type"), [("csv", "text/csv"), ("json", "application/json"), ("ndjson", "application/x-ndjson")]
)
def test_a_result_is_saved_as_what_is_asked_for(chat3: Conversation, save_as: str, media_type: str) -> None:
    """`save_as` names the format of the new blob."""
    code = "select name, id from blob3 order by id limit 2"
    answer = chat3.call("blob_code", {"blob": "blob3", "code": code, "save_as": save_as})
    assert answer["data"]["type"] == media_type
    assert b"name 1" in chat3.content(answer["data"]["blob"])


def test_python_prints_and_answers(chat3: Conversation) -> None:
    """The last expression is the result, what is printed beside it."""
    code = "print('hello')\nlen(blob1.lines())"
    data = chat3.call("blob_code", {"blob": "blob1", "language": "python", "code": code})["data"]
    assert data["result"] == 1200
    assert data["printed"] == "hello\n"


def test_python_reads_several_blobs(chat3: Conversation) -> None:
    """Each by its name."""
    code = "[blob1.size, blob2.json()['meta']['page'], len(blob3.rows())]"
    call = {"blobs": ["blob1", "blob2", "blob3"], "language": "python", "code": code}
    assert chat3.call("blob_code", call)["data"]["result"] == [len(TEXT), 1, 50]


def test_a_truncated_parquet_is_kept_and_told(chat: Conversation) -> None:
    """Broken bytes fall back to binary with a note; nothing is lost."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(1000))}), sink)
    broken = sink.getvalue()[:-100]
    handle = chat.attach(broken, type="application/vnd.apache.parquet")
    assert "items" not in handle
    assert "not readable" in json.dumps(handle["preview"]["notes"])
    assert chat.content("blob1") == broken


def test_a_parquet_type_that_sql_cannot_hold_keeps_its_digits(chat: Conversation) -> None:
    """A decimal of 45 digits is told as text rather than rounded."""
    import decimal

    digits = "123456789012345678901234567890123456789012.345"
    table = pa.table({"d": pa.array([decimal.Decimal(digits)], pa.decimal256(45, 3)), "n": [1]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    chat.attach(sink.getvalue())
    data = chat.call("blob_code", {"blob": "blob1", "code": "select d, n from blob1"})["data"]
    assert data["rows"] == [[digits, 1]]
    assert digits in json.dumps(chat.call("blob_read", {"blob": "blob1"})["data"]["items"])


def test_a_plain_parquet_is_its_own_copy(service: Blobs, chat: Conversation) -> None:
    """No second file is made of what is columnar and exact already."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2, 3], "day": ["a", "b", "c"]}), sink)
    chat.attach(sink.getvalue())
    before = len(service.list_blobs())
    data = chat.call("blob_code", {"blob": "blob1", "code": "select sum(id) from blob1"})["data"]
    assert data["rows"] == [[6]]
    assert len(service.list_blobs()) == before


def test_a_cut_cell_says_how_to_have_it_whole(chat: Conversation) -> None:
    """`next` saves the same query's result."""
    chat.attach(json.dumps([{"text": "x" * 5000}, {"text": "y"}]).encode(), type="application/json")
    data = chat.call("blob_code", {"blob": "blob1", "code": "select text from blob1"})["data"]
    assert data["complete"] is False
    saved = chat.call("blob_code", data["next"])["data"]
    piece = chat.call("blob_read", {"blob": saved["blob"], "count": 1})["data"]["items"]
    assert piece == [["x" * 5000]]
