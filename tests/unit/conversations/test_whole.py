"""Content blocks in each service's own shape, as the types of its SDK have them."""

from typing import Any

import pytest

from blobs.conversations.whole import whole_block
from blobs.domain.errors import CallerError

PNG, PDF = "image/png", "application/pdf"


@pytest.mark.parametrize(
    ("service", "media_type", "block"),
    [
        ("anthropic", PNG, {"type": "image", "source": {"type": "base64", "media_type": PNG, "data": "AP8="}}),
        (
            "anthropic-standard",
            PDF,
            {"type": "document", "source": {"type": "base64", "media_type": PDF, "data": "AP8="}},
        ),
        ("openai", PNG, {"type": "input_image", "image_url": "data:image/png;base64,AP8="}),
        (
            "openai",
            PDF,
            {"type": "input_file", "filename": "blob1.pdf", "file_data": "data:application/pdf;base64,AP8="},
        ),
        ("gemini", PNG, {"inlineData": {"mimeType": PNG, "data": "AP8="}}),
        ("gemini", PDF, {"inlineData": {"mimeType": PDF, "data": "AP8="}}),
    ],
)
def test_blocks(service: str, media_type: str, block: dict[str, Any]) -> None:
    """The bytes 00 FF as each service takes them."""
    assert whole_block(service, "blob1", media_type, b"\x00\xff") == block


@pytest.mark.parametrize(("service", "media_type"), [("openai-chat", PNG), ("anthropic", "text/csv"), ("skynet", PNG)])
def test_no_block(service: str, media_type: str) -> None:
    """A type that the service does not take, or an unknown service, has no block."""
    with pytest.raises(CallerError):
        whole_block(service, "blob1", media_type, b"x")
