"""What a model service takes whole goes along with its handle, once; hints name only tools that are offered."""

import base64
import io

import pytest
from PIL import Image

from blobs import Blobs, BlobsError, Conversation


def png(width: int = 64, height: int = 48) -> bytes:
    sink = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(sink, "PNG")
    return sink.getvalue()


def image_call(content: bytes) -> list[dict[str, object]]:
    part = {"type": "image", "data": base64.b64encode(content).decode(), "mimeType": "image/png"}
    return [{"id": "a", "tool": "screen", "mcp_result": {"content": [part]}}]


def test_an_image_is_also_sent_whole_once(chat: Conversation) -> None:
    """With its first handle, as the service's own block; not again."""
    answer = chat.put_turn(1, image_call(png()), service="anthropic")
    block = answer["results"][0]["whole"][0]
    assert block["type"] == "image"
    assert base64.b64decode(block["source"]["data"]) == png()
    assert "whole" not in chat.put_turn(2, image_call(png()), service="anthropic")["results"][0]


def test_a_retry_sends_the_same_blocks(chat: Conversation) -> None:
    """The block is made anew from the blob, byte for byte."""
    first = chat.put_turn(1, image_call(png()), service="anthropic")
    assert chat.put_turn(1, image_call(png()), service="anthropic") == first


def test_the_kept_record_holds_a_name_not_the_image(service: Blobs, chat: Conversation) -> None:
    """Another agent, on another service, can render the same turn."""
    chat.put_turn(1, image_call(png()), service="anthropic")
    record = service.content(chat.dump()["turns"][0]).decode()
    assert base64.b64encode(png()).decode() not in record


@pytest.mark.parametrize(
    ("model_service", "content"),
    [(None, png()), ("openai-chat", png()), ("anthropic", png()[:60]), ("anthropic", b"")],
)
def test_what_a_service_does_not_take_comes_as_its_handle_alone(
    chat: Conversation, model_service: str | None, content: bytes
) -> None:
    """No service, a service without media in results, an image that is broken or empty."""
    assert "whole" not in chat.put_turn(1, image_call(content), service=model_service)["results"][0]


def test_an_unknown_service_is_refused_before_anything_is_stored(chat: Conversation) -> None:
    """The message lists those that are known."""
    with pytest.raises(BlobsError, match="anthropic"):
        chat.put_turn(1, image_call(png()), service="skynet")
    assert chat.handles() == []


def test_hints_name_only_offered_tools(service: Blobs) -> None:
    """A model without blob_code is not told to use it."""
    for tools, is_named in ((None, True), (["blob_read"], False)):
        chat = service.conversation(tools=tools)
        chat.attach(png())
        message = chat.call("blob_read", {"blob": "blob1"})["message"]
        assert ("blob_code" in message) is is_named
        assert "no items" in message


def test_an_encrypted_pdf_without_its_password_is_kept_and_told(chat: Conversation) -> None:
    """Nothing of it can be read, nothing of it is lost."""
    from pypdf import PdfWriter

    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="AES-256")
    sink = io.BytesIO()
    writer.write(sink)
    handle = chat.attach(sink.getvalue())
    assert "items" not in handle
    assert any("encrypted" in note or "password" in note for note in handle["preview"]["notes"])
    assert chat.content("blob1") == sink.getvalue()
