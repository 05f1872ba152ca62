"""Service profiles: what each model service takes whole in a tool result, as data with a date.

The numbers are the vendors' own, from the pages named by each profile; types and content blocks were checked against
their SDKs (`anthropic` 2.14.0, `openai` 3.57.0, `google-genai` 3.6.1) on `CHECKED_ON`.
"""

from dataclasses import dataclass
from typing import Any, Literal

from blobs.domain.errors import CallerError
from blobs.domain.media_type import PDF

CHECKED_ON = "2026-11-30"

ImageRule = Literal["claude-high", "claude-standard", "openai-patches", "gemini-3"]
PdfRule = Literal["claude", "openai", "gemini-3"]
Dialect = Literal["anthropic", "openai", "gemini"]

_MB = 1_000_000
_MIB = 1024 * 1024
_WEB_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceProfile:
    """What a service takes whole in the result of a tool; sizes are bytes of the content before base64.

    `image_rule` and `pdf_rule` name the formulas of the cost, `dialect` the form of a content block. None means that
    the vendor names no limit. `edge_pixels_max` bounds each side, `patches_max` the 32-pixel squares that cover it.
    """

    name: str
    dialect: Dialect
    image_types: tuple[str, ...] = ()
    document_types: tuple[str, ...] = ()
    image_bytes_max: int | None = None
    edge_pixels_max: int | None = None
    patches_max: int | None = None
    document_bytes_max: int | None = None
    pages_max: int | None = None
    refuses_animation: bool = False
    refuses_encryption: bool = True
    image_rule: ImageRule
    pdf_rule: PdfRule
    sources: tuple[str, ...]


_ANTHROPIC_PAGES = (
    "https://platform.claude.com/docs/en/build-with-claude/vision",
    "https://platform.claude.com/docs/en/build-with-claude/pdf-support",
)
_OPENAI_PAGES = (
    "https://developers.openai.com/api/docs/guides/images-vision",
    "https://developers.openai.com/api/docs/guides/pdf-files",
)
_GEMINI_PAGES = (
    "https://ai.google.dev/gemini-api/docs/image-understanding",
    "https://ai.google.dev/gemini-api/docs/document-processing",
    "https://ai.google.dev/gemini-api/docs/media-resolution",
)


def _anthropic(name: str, image_rule: ImageRule, pages_max: int) -> ServiceProfile:
    return ServiceProfile(
        name=name,
        dialect="anthropic",
        image_types=_WEB_IMAGES,  # of an animated GIF the first frame is read
        document_types=(PDF,),
        image_bytes_max=7_500_000,  # 10 MB as base64
        edge_pixels_max=8000,
        document_bytes_max=24 * _MB - _MIB,  # 32 MB as base64, and room for the rest of the request
        pages_max=pages_max,
        image_rule=image_rule,
        pdf_rule="claude",
        sources=_ANTHROPIC_PAGES,
    )


PROFILES: dict[str, ServiceProfile] = {
    each.name: each
    for each in (
        _anthropic("anthropic", "claude-high", 600),
        _anthropic("anthropic-standard", "claude-standard", 100),  # models with a context of 200,000 tokens
        ServiceProfile(
            name="openai",
            dialect="openai",
            image_types=_WEB_IMAGES,
            document_types=(PDF,),
            image_bytes_max=384 * _MB,  # a request of 512 MB as base64
            edge_pixels_max=65_535,
            patches_max=30_000,
            document_bytes_max=50 * _MB,
            refuses_animation=True,
            image_rule="openai-patches",
            pdf_rule="openai",
            sources=_OPENAI_PAGES,
        ),
        ServiceProfile(  # chat completions take only text in the result of a tool
            name="openai-chat",
            dialect="openai",
            image_rule="openai-patches",
            pdf_rule="openai",
            sources=("https://developers.openai.com/api/docs/guides/function-calling",),
        ),
        ServiceProfile(
            name="gemini",
            dialect="gemini",
            image_types=("image/jpeg", "image/png", "image/webp"),  # what the result of a function may carry
            document_types=(PDF,),
            image_bytes_max=15 * _MB - _MIB,  # a request of 20 MB as base64, and room for the rest
            document_bytes_max=15 * _MB - _MIB,
            pages_max=1000,
            image_rule="gemini-3",
            pdf_rule="gemini-3",
            sources=_GEMINI_PAGES,
        ),
    )
}

DEFAULT = PROFILES["anthropic"]
"""Whose cost rules count where no service is named."""


def service_profile(name: str) -> ServiceProfile:
    """The profile of a service; raises `CallerError` that lists the known ones."""
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise CallerError(f"There is no service {name[:80]!r}.", code="unknown_service", hint=f"Use one of {known}.")
    return PROFILES[name]


def accepts(service: str, media_type: str, size: int, facts: dict[str, Any]) -> str | None:
    """Why the service does not take these bytes whole, or None where it does.

    `facts` is what a reader found out: `width`, `height`, `frames` and `truncated` of an image, `pages` and `encrypted`
    of a PDF.
    What a reader could not measure is refused: a request that fails would cost the turn. Raises `CallerError` for an
    unknown service.
    """
    profile = service_profile(service)
    if media_type in profile.image_types:
        return _image_refusal(profile, media_type, size, facts)
    if media_type in profile.document_types:
        return _document_refusal(profile, size, facts)
    return f"{service} takes no {media_type} in the result of a tool"


def _image_refusal(profile: ServiceProfile, media_type: str, size: int, facts: dict[str, Any]) -> str | None:
    width, height, frames = (_number(facts, name) for name in ("width", "height", "frames"))
    if not size or not width or not height or facts.get("truncated"):
        return "the image is cut short or could not be measured"
    if _is_over(size, profile.image_bytes_max):
        return f"over the {profile.image_bytes_max} bytes that {profile.name} takes for an image"
    if _is_over(max(width, height), profile.edge_pixels_max):
        return f"{width}x{height} pixels are more than {profile.edge_pixels_max} on a side"
    if _is_over(-(-width // 32) * -(-height // 32), profile.patches_max):
        return f"{width}x{height} pixels are more than {profile.name} takes for an image"
    if profile.refuses_animation and media_type == "image/gif" and (frames or 1) > 1:
        return f"{profile.name} takes no animated GIF"
    return None


def _document_refusal(profile: ServiceProfile, size: int, facts: dict[str, Any]) -> str | None:
    pages = _number(facts, "pages")
    if profile.refuses_encryption and facts.get("encrypted"):
        return f"{profile.name} takes no encrypted PDF"
    if not size or not pages:
        return "the pages could not be counted"
    if _is_over(size, profile.document_bytes_max):
        return f"over the {profile.document_bytes_max} bytes that {profile.name} takes for a document"
    if _is_over(pages, profile.pages_max):
        return f"{pages} pages are more than the {profile.pages_max} that {profile.name} takes"
    return None


def _number(facts: dict[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and value > 0 else None


def _is_over(value: int, value_max: int | None) -> bool:
    return value_max is not None and value > value_max
