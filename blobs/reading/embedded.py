"""Bytes hidden in text: data URIs and base64 strings inside JSON, which a model would read as thousands of tokens."""

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from blobs.domain.errors import CallerError
from blobs.domain.media_type import BINARY, parse_media_type

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.+-]+=[^;,]*)*)(;base64)?,", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_BASE64_URL = re.compile(r"[A-Za-z0-9_-]+={0,2}\Z")
_CLASSES = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))


@dataclass(frozen=True, slots=True)
class Embedded:
    """Decoded bytes and the type that their text declared (`application/octet-stream` where it declared none)."""

    content: bytes
    type: str


def decode_embedded(text: str, *, length_min: int) -> Embedded | None:
    """The bytes that a string of at least `length_min` characters carries, or None where it is ordinary text.

    A base64 string counts as such only if encoding its bytes gives the same text again and it mixes small letters,
    capitals and digits, so that long words, numbers, hexadecimal and sequences stay text.
    """
    if len(text) < length_min:
        return None
    if text.startswith("data:"):
        return _from_data_uri(text)
    return _from_base64(text)


def _from_data_uri(text: str) -> Embedded | None:
    match = _DATA_URI.match(text)
    if match is None:
        return None
    try:
        media_type = parse_media_type(match.group(1) or "text/plain")
        body = text[match.end() :]
        if match.group(3):
            unquoted = unquote_to_bytes(body) if "%" in body else body.encode("ascii")
            return Embedded(base64.b64decode(unquoted, validate=True), media_type)
        return Embedded(unquote_to_bytes(body), media_type)
    except (CallerError, ValueError):
        return None


def _from_base64(text: str) -> Embedded | None:
    plain = text.replace("\r\n", "").replace("\n", "") if "\n" in text[:100] else text
    is_url = "-" in plain or "_" in plain
    if not (_BASE64_URL if is_url else _BASE64).match(plain) or not all(each.search(plain) for each in _CLASSES):
        return None
    padded = plain + "=" * (-len(plain) % 4)
    try:
        content = base64.b64decode(padded, altchars=b"-_" if is_url else None, validate=True)
    except binascii.Error:
        return None
    again = base64.b64encode(content, altchars=b"-_" if is_url else None).decode()
    return Embedded(content, BINARY) if again in (padded, plain) else None
