"""Blobs that a reader opens and that then turn out to be damaged, too deep or half: told, never a fault of the host."""

import json

import pytest

from blobs import Conversation
from tests.material import fixture


def test_a_blob_that_fails_after_it_was_opened_is_told_by_the_next_reader(chat: Conversation):
    """Damage in the middle of a Parquet file is met late: the handle says why it is not read, and the bytes stay."""
    content = bytearray(fixture("people.parquet"))
    content[40:400] = b"\xff" * 360
    handle = chat.attach(bytes(content))
    assert handle["type"] == "application/vnd.apache.parquet"
    assert "items" not in handle
    assert any(note.startswith("not readable as application/vnd.apache.parquet") for note in handle["preview"]["notes"])
    assert chat.content(handle["blob"]) == bytes(content)


@pytest.mark.parametrize("depth", [100, 350, 500])
def test_deep_documents_are_carried(chat: Conversation, depth):
    """Nesting that a parser takes is read, shown and computed with; the answer is the value that went in."""
    text = '{"a":' * depth + "1" + "}" * depth
    handle = chat.attach(text.encode(), type="application/json")
    assert handle["items"] == 1
    assert json.loads(json.dumps(chat.call("blob_read", {"blob": handle["blob"]})["data"]["items"])) == [
        json.loads(text)
    ]
    assert chat.call("blob_search", {"blob": handle["blob"], "pattern": "1"})["data"]["found"] == 1
    python = {"blob": handle["blob"], "language": "python", "code": f"len(str({handle['blob']}.rows()))"}
    assert chat.call("blob_code", python)["data"]["result"] == len(str([json.loads(text)]))


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_documents_too_deep_are_text(chat: Conversation, depth):
    """What no parser walks is its lines, with a note."""
    handle = chat.attach(b"[" * depth + b"]" * depth, type="application/json")
    assert (handle["type"], handle["items"]) == ("text/plain", 1)
    assert chat.call("blob_search", {"blob": handle["blob"], "pattern": "]"})["data"]["found"] == 1
