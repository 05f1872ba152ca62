"""Content blocks: an image or PDF as a model service takes it, beside its handle."""

from base64 import b64encode
from typing import Any

from blobs.domain.errors import CallerError
from blobs.domain.media_type import PDF
from blobs.domain.services import service_profile


def whole_block(service: str, name: str, media_type: str, content: bytes) -> dict[str, Any]:
    """The service's own content block with these bytes in it, for the result of a tool.

    Anthropic: a part of `tool_result.content`; OpenAI: a part of the `output` of a `function_call_output` (Responses);
    Gemini: one of the `parts` of a `functionResponse`. Ask `accepts` first: this raises `CallerError` only for a type
    or a service that has no such block.
    """
    profile = service_profile(service)
    if media_type not in (*profile.image_types, *profile.document_types):
        raise CallerError(f"{service} has no content block for {media_type}.", code="unsupported_type")
    data = b64encode(content).decode("ascii")
    match profile.dialect:
        case "anthropic":
            source = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "document" if media_type == PDF else "image", "source": source}
        case "openai":
            url = f"data:{media_type};base64,{data}"
            if media_type == PDF:
                return {"type": "input_file", "filename": f"{name}.pdf", "file_data": url}
            return {"type": "input_image", "image_url": url}
        case "gemini":
            return {"inlineData": {"mimeType": media_type, "data": data}}
