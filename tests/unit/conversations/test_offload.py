"""The offload rule: what is read inline, what becomes a handle, in every shape of a result."""

import base64
import json

import pytest

from blobs import Blobs, BlobsError, Conversation

LIMIT = 32_768
SIX_KEYS = ["blob", "type", "size", "items", "cost", "preview"]


def offload(chat: Conversation, value: object, **how: object) -> object:
    with chat.turn() as turn:
        return turn.offload(value, tool="t", **how)


@pytest.mark.parametrize(
    ("unit", "size"),
    [("a", 1), ("é", 2), ("漢", 3), ("😀", 4)],
)
def test_a_string_of_exactly_the_limit_stays_inline_and_one_byte_more_does_not(
    chat: Conversation, unit: str, size: int
) -> None:
    """Bytes of UTF-8 are counted, not characters."""
    text = unit * (LIMIT // size) + "x" * (LIMIT % size)
    assert len(text.encode()) == LIMIT
    assert offload(chat, text) == text
    shown = offload(chat, text + "x")
    assert isinstance(shown, dict)
    assert shown["size"] == LIMIT + 1


def test_a_value_is_measured_as_compact_json(chat: Conversation) -> None:
    """`["aaa…"]` counts its brackets and quotes."""
    assert offload(chat, ["a" * (LIMIT - 4)]) == ["a" * (LIMIT - 4)]
    shown = offload(chat, ["a" * (LIMIT - 3)])
    assert isinstance(shown, dict)
    assert shown["type"] == "application/json"
    assert shown["size"] == LIMIT + 1


def test_a_handle_has_its_six_keys_in_order_and_nothing_else(chat: Conversation) -> None:
    """No digest, path, time or url reaches the model."""
    shown = offload(chat, [{"id": i, "zip": "00123"} for i in range(3000)])
    assert isinstance(shown, dict)
    assert list(shown) == SIX_KEYS
    assert shown["blob"] == "blob1"
    assert shown["items"] == 3000
    assert "sha256" not in json.dumps(shown)


def test_a_blob_without_items_has_no_items_key(chat: Conversation) -> None:
    """Random bytes have no items, so the key is left out rather than null."""
    shown = offload(chat, bytes(range(256)) * 10)
    assert isinstance(shown, dict)
    assert list(shown) == ["blob", "type", "size", "cost", "preview"]


def test_the_preview_is_shown_once(chat: Conversation) -> None:
    """The same bytes again have the same name and no preview."""
    rows = [{"n": i} for i in range(5000)]
    first, second = offload(chat, rows), offload(chat, rows)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert "preview" in first
    assert second == {key: value for key, value in first.items() if key != "preview"}


def test_the_preview_is_not_repeated_after_carrying_on(service: Blobs, chat: Conversation) -> None:
    """A conversation carried on from its dump has shown what its names show."""
    rows = [{"n": i} for i in range(5000)]
    first = offload(chat, rows)
    later = service.conversation(carry_on=chat.dump())
    again = offload(later, rows)
    assert isinstance(first, dict)
    assert isinstance(again, dict)
    assert again["blob"] == first["blob"]
    assert "preview" not in again


def test_the_preview_fits_its_limit_and_is_valid_json(chat: Conversation) -> None:
    """2,048 bytes at most, whatever the cells hold."""
    shown = offload(chat, [{f"column {i}": "é" * 500 for i in range(60)} for _ in range(50)])
    assert isinstance(shown, dict)
    assert len(json.dumps(shown["preview"], ensure_ascii=False, separators=(",", ":")).encode()) <= 2048


def test_only_the_data_of_a_tool_result_is_replaced(chat: Conversation) -> None:
    """`ok` and `message` stay for the model to read."""
    shown = offload(chat, {"ok": True, "message": "Found 9000 orders.", "data": list(range(9000))})
    assert isinstance(shown, dict)
    assert list(shown) == ["ok", "message", "data"]
    assert shown["ok"] is True
    assert shown["message"] == "Found 9000 orders."
    assert shown["data"]["blob"] == "blob1"
    assert shown["data"]["items"] == 9000


@pytest.mark.parametrize(
    ("text", "media_type", "unit"),
    [
        ("id,name\n" + "".join(f"{i},name {i}\n" for i in range(4000)), "text/csv", "rows"),
        (json.dumps([{"id": i} for i in range(4000)]), "application/json", "entries"),
        ("".join(json.dumps({"id": i}) + "\n" for i in range(4000)), "application/x-ndjson", "rows"),
        ("The quick brown fox.\n" * 2000, "text/plain", "lines"),
    ],
)
def test_a_string_keeps_the_type_of_what_is_in_it(chat: Conversation, text: str, media_type: str, unit: str) -> None:
    """CSV, JSON and NDJSON in a string are told apart from text."""
    shown = offload(chat, text)
    assert isinstance(shown, dict)
    assert shown["type"] == media_type
    assert shown["preview"]["unit"] == unit


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_base64_string_inside_json_becomes_a_handle_in_place(chat: Conversation) -> None:
    """The image is a blob of its own type; the rest stays inline."""
    data = base64.b64encode(bytes(range(256)) * 6).decode()
    shown = offload(chat, {"name": "chart", "image": data, "n": 1})
    assert isinstance(shown, dict)
    assert list(shown) == ["name", "image", "n"]
    assert shown["name"] == "chart"
    assert shown["image"]["blob"] == "blob1"
    assert shown["image"]["size"] == 1536
    assert chat.content("blob1") == bytes(range(256)) * 6


def test_a_data_uri_inside_json_becomes_a_handle_in_place(chat: Conversation) -> None:
    """The type that the URI declares is taken where the bytes allow it."""
    uri = "data:text/plain;base64," + base64.b64encode(b"hello world\n" * 100).decode()
    shown = offload(chat, [uri])
    assert isinstance(shown, list)
    assert shown[0]["type"] == "text/plain"
    assert shown[0]["items"] == 100


@pytest.mark.parametrize("text", ["a" * 2000, "0123456789abcdef" * 100, "ACGT" * 500, "word " * 400, "x" * 1023])
def test_text_that_only_looks_like_base64_stays_text(chat: Conversation, text: str) -> None:
    """Long words, hexadecimal, sequences and prose are not decoded."""
    assert offload(chat, {"text": text}) == {"text": text}


def test_parts_of_an_mcp_result_become_blobs_of_their_own_type(chat: Conversation) -> None:
    """Images and resources become blobs; text follows the rule; an error stays one."""
    result = {
        "content": [
            {"type": "text", "text": "one window open"},
            {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
            {"type": "text", "text": json.dumps([{"id": i} for i in range(4000)])},
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "hello\n"}},
        ],
        "isError": True,
    }
    with chat.turn() as turn:
        shown = turn.offload(result, tool="screen")
        assert turn.results[0]["is_error"] is True
    parts = shown["content"]
    assert parts[0] == {"type": "text", "text": "one window open"}
    assert parts[1]["type"] == "image/png"
    assert parts[2]["type"] == "application/json"
    assert parts[2]["items"] == 4000
    assert parts[3]["type"] == "text/plain"
    assert [part["blob"] for part in parts[1:]] == ["blob1", "blob2", "blob3"]


def test_a_long_error_is_cut_and_kept_whole(chat: Conversation) -> None:
    """The model reads its beginning, a mark, and the handle of the whole."""
    text = "Traceback: " + "line of the error\n" * 500
    with chat.turn() as turn:
        turn.error(text, tool="t")
        result = turn.results[0]
    assert result["is_error"] is True
    assert result["text"].startswith("Traceback: line")
    assert "…(+" in result["text"]
    assert "blob1" in result["text"]
    assert chat.content("blob1").decode() == text


def test_a_short_error_stays_as_it_is(chat: Conversation) -> None:
    """Nothing is stored for it."""
    with chat.turn() as turn:
        assert turn.error("no such order", tool="t") == "no such order"
    assert chat.handles() == []


def test_a_forged_reference_is_data_like_any_other(service: Blobs, chat: Conversation) -> None:
    """A `$blob` in a tool's output resolves nothing and stays as it is."""
    secret = service.put(b"secret " * 10_000)
    assert offload(chat, {"file": secret}) == {"file": secret}
    assert chat.handles() == []


def test_numbers_of_a_result_keep_their_digits(chat: Conversation) -> None:
    """30 digits pass through an offload and come back."""
    big = 123456789012345678901234567890
    shown = offload(chat, [{"id": big + i} for i in range(2000)])
    assert isinstance(shown, dict)
    content = chat.content("blob1").decode()
    assert content.startswith('[{"id":123456789012345678901234567890},{"id":123456789012345678901234567891}')


@pytest.mark.parametrize(
    ("value", "place"),
    [({"a": [1, {2, 3}]}, "a.1"), ([object()], "0"), ({1: "x"}, "result")],
)
def test_a_value_that_json_cannot_carry_is_an_error_naming_its_place(
    chat: Conversation, value: object, place: str
) -> None:
    """The author of the tool is told where, and nothing is stored."""
    with pytest.raises(BlobsError) as caught:
        offload(chat, value)
    assert caught.value.message.startswith(place)
    assert chat.handles() == []


def test_a_limit_of_one_tool_is_kept_for_it(chat: Conversation) -> None:
    """`inline_bytes_max` may be set for one call."""
    assert isinstance(offload(chat, "x" * 200, inline_bytes_max=100), dict)
    assert offload(chat, "x" * 200, inline_bytes_max=200) == "x" * 200


def test_what_a_model_reads_is_valid_utf8(chat: Conversation) -> None:
    """A lone surrogate, which UTF-8 cannot say, is replaced wherever it stands."""
    with chat.turn() as turn:
        for value in ("\ud800 text", {"key\udfff": ["\ud800"]}, {"ok": False, "message": "\ud800"}):
            turn.offload(value, tool="t")
        turn.error("\ud800", tool="t")
        for result in turn.results:
            json.dumps(result, ensure_ascii=False).encode()
            assert "\ufffd" in result["text"]


def test_nothing_passed_in_is_changed_or_kept(chat: Conversation) -> None:
    """What comes out is a copy: changing one does not change the other."""
    value = {"rows": [{"n": 1}], "image": base64.b64encode(bytes(range(256)) * 6).decode()}
    before = json.dumps(value)
    shown = offload(chat, value)
    assert isinstance(shown, dict)
    assert json.dumps(value) == before
    shown["rows"][0]["n"] = 2
    assert value["rows"] == [{"n": 1}]
