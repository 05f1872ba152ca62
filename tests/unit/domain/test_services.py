"""What the services take whole, case by case from their own pages."""

from datetime import date
from typing import Any

import pytest

from blobs.domain.errors import CallerError
from blobs.domain.services import CHECKED_ON, DEFAULT, PROFILES, accepts, service_profile

PICTURE = {"width": 800, "height": 600, "frames": 1}


def test_profiles() -> None:
    """Five profiles, each found under its own name, with its sources; the table is dated."""
    assert list(PROFILES) == ["anthropic", "anthropic-standard", "openai", "openai-chat", "gemini"]
    assert all(service_profile(name).name == name for name in PROFILES)
    assert all(
        profile.sources and all(url.startswith("https://") for url in profile.sources) for profile in PROFILES.values()
    )
    assert date.fromisoformat(CHECKED_ON)
    assert DEFAULT.image_rule == "claude-high"


@pytest.mark.parametrize(
    ("service", "media_type", "size", "facts"),
    [
        ("anthropic", "image/png", 7_500_000, {"width": 8000, "height": 8000}),
        ("anthropic", "image/gif", 1000, {**PICTURE, "frames": 30}),
        ("anthropic", "application/pdf", 20_000_000, {"pages": 600}),
        ("anthropic-standard", "application/pdf", 20_000_000, {"pages": 100}),
        ("openai", "image/webp", 20_000_000, PICTURE),
        ("openai", "image/gif", 1000, PICTURE),
        ("openai", "application/pdf", 50_000_000, {"pages": 2000}),
        ("gemini", "image/jpeg", 1000, PICTURE),
        ("gemini", "application/pdf", 1000, {"pages": 1000}),
    ],
)
def test_accepted(service: str, media_type: str, size: int, facts: dict[str, Any]) -> None:
    """Just within every published limit."""
    assert accepts(service, media_type, size, facts) is None


@pytest.mark.parametrize(
    ("service", "media_type", "size", "facts", "reason"),
    [
        ("anthropic", "image/png", 7_500_001, PICTURE, "over the 7500000 bytes"),
        ("anthropic", "image/png", 1000, {"width": 8001, "height": 10}, "8001x10 pixels"),
        ("anthropic", "image/tiff", 1000, PICTURE, "takes no image/tiff"),
        ("anthropic", "text/csv", 1000, {}, "takes no text/csv"),
        ("anthropic", "application/pdf", 1000, {"pages": 601}, "601 pages are more than the 600"),
        ("anthropic", "application/pdf", 1000, {"pages": 3, "encrypted": True}, "encrypted"),
        ("anthropic", "application/pdf", 40_000_000, {"pages": 3}, "over the"),
        ("anthropic-standard", "application/pdf", 1000, {"pages": 101}, "101 pages"),
        ("openai", "image/gif", 1000, {**PICTURE, "frames": 2}, "animated"),
        ("openai", "image/png", 1000, {"width": 6000, "height": 6000}, "6000x6000 pixels"),  # 35,344 patches
        ("openai", "application/pdf", 50_000_001, {"pages": 3}, "over the 50000000 bytes"),
        ("openai-chat", "image/png", 1000, PICTURE, "takes no image/png"),
        ("openai-chat", "application/pdf", 1000, {"pages": 3}, "takes no application/pdf"),
        ("gemini", "image/gif", 1000, PICTURE, "takes no image/gif"),
        ("gemini", "application/pdf", 1000, {"pages": 1001}, "1001 pages"),
    ],
)
def test_refused(service: str, media_type: str, size: int, facts: dict[str, Any], reason: str) -> None:
    """Just over a published limit, or of a kind that the service does not read: the reason says which."""
    assert reason in (accepts(service, media_type, size, facts) or "")


@pytest.mark.parametrize(
    ("media_type", "facts"),
    [
        ("image/png", {}),
        ("image/png", {"width": 0, "height": 5}),
        ("application/pdf", {"pages": None}),
        ("image/png", {"width": "9"}),
    ],
)
@pytest.mark.parametrize("service", ["anthropic", "openai", "gemini"])
def test_unmeasured_is_refused(service: str, media_type: str, facts: dict[str, Any]) -> None:
    """What could not be measured is not sent: a failing request would cost the turn."""
    assert accepts(service, media_type, 1000, facts)


def test_unknown_service() -> None:
    """An unknown service is the caller's error, and the message lists the known ones."""
    with pytest.raises(CallerError, match="Use one of anthropic, anthropic-standard, openai") as caught:
        accepts("skynet", "image/png", 10, PICTURE)
    assert caught.value.code == "unknown_service"
