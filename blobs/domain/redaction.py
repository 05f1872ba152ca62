"""Taking secrets out of what comes in, before it is hashed: afterwards nothing here has ever seen them.

A secret is masked by as many `*` as it has bytes, so that lengths, offsets and the structure around it stay.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import SettingsError

VALUE_BYTES_MIN = 6
"""A shorter value stands in ordinary text by chance."""

MATCH_BYTES_MAX = 8 * 1024
"""What a pattern may cover at most; a private key is the longest of those known."""

PATTERNS = {
    "aws": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "bearer": r"(?i)\bbearer [a-z0-9._~+/=-]{16,}",
    "github": r"\b(?:gh[oprsu]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b",
    "google": r"\bAIza[0-9A-Za-z_-]{35}",
    "jwt": r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "private_key": r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.+?-----END [A-Z ]{0,30}PRIVATE KEY-----",
    "sk": r"\bsk-[A-Za-z0-9_-]{20,255}",
    "slack": r"\bxox[abeprs]-[A-Za-z0-9-]{10,255}",
}
"""The forms of well-known tokens, as their issuers document them, by the names that turn them on."""

_STRETCH_BYTES = 64 * 1024
"""So much is looked at together, however small the chunks are."""

_MASK = b"*"


class Redactor:
    """Masks known secret values, and what matches patterns. Safe to use from many threads."""

    def __init__(self, values: Sequence[str] = (), patterns: Sequence[str] = ()) -> None:
        """`patterns` are names of `PATTERNS`, or regular expressions of RE2.

        Raises `SettingsError` where a value is too short or a pattern is none; the value itself is not in the message.
        """
        if any(len(each.encode("utf-8", "surrogatepass")) < VALUE_BYTES_MIN for each in values):
            raise SettingsError(f"redact_values: a value has less than {VALUE_BYTES_MIN} bytes.")
        forms = {form for value in values for form in _forms(value)}
        self._literals = sorted(forms, key=lambda form: (-len(form), form))
        self._expressions = [PATTERNS.get(each, each) for each in patterns]
        self._window = MATCH_BYTES_MAX if patterns else max((len(each) for each in forms), default=0)
        if self._expressions:
            _ = self._engine  # a pattern that is none is told at the start

    def __bool__(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._literals or self._expressions)

    def text(self, text: str) -> str:
        """The text without its secrets."""
        if not self:
            return text
        content = text.encode("utf-8", "surrogatepass")
        return self._mask(content, 0, is_end=True)[0].decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """The JSON value without secrets in its strings and keys; the very same object where there are none.

        Deeper than `exact_json.DEPTH_MAX` it is as it was: nothing nested so deep is taken in.
        """
        return self._value(value) if self else value

    def _value(self, value: Any, depth: int = 0) -> Any:
        if depth > exact_json.DEPTH_MAX:
            return value
        if isinstance(value, str):
            redacted = self.text(value)
            return value if redacted == value else redacted
        if isinstance(value, dict):
            pairs = [(self._value(key), self._value(each, depth + 1)) for key, each in value.items()]
            return dict(pairs) if _differ(pairs, value.items()) else value
        if isinstance(value, list | tuple):
            items = [self._value(each, depth + 1) for each in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def chunks(self, chunks: Iterable[bytes | bytearray | memoryview]) -> Iterator[bytes]:
        """The content without its secrets, wherever the chunks divide them; in constant memory."""
        held, given = bytearray(), 0  # what was not given on yet, after one byte that was: patterns look at word ends
        for chunk in chunks:
            held += chunk
            if len(held) < self._window + _STRETCH_BYTES:
                continue
            masked, ready = self._mask(bytes(held), given)
            if ready > given:
                yield masked[given:ready]
                del held[: ready - 1]
                given = 1
        if len(held) > given:
            yield self._mask(bytes(held), given, is_end=True)[0][given:]

    def _mask(self, content: bytes, start: int, *, is_end: bool = False) -> tuple[bytes, int]:
        """The content with what matches from `start` on masked, and up to where this cannot change any more.

        A match that ends with the content may go on beyond it, and another may begin in its last bytes.
        """
        pieces: list[bytes] = []
        at, settled = 0, len(content) - self._window
        for found in self._engine.finditer(content, start):
            first, last = found.span()
            if last == len(content) and not is_end and last - first < self._window:
                settled = min(settled, first)
                break
            if first < settled < last:
                settled = last
            pieces += [content[at:first], _MASK * (last - first)]
            at = last
        return b"".join([*pieces, content[at:]]) if at else content, settled

    @cached_property
    def _engine(self) -> Any:
        import re2

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        for each in self._expressions:
            try:
                re2.compile(each.encode(), options)
            except re2.error as error:
                raise SettingsError(f"redact_patterns: {each!r} is no known name and no pattern: {error}.") from None
        literals = [re2.escape(each) for each in self._literals]
        return re2.compile(b"|".join([*literals, *(b"(?:%b)" % each.encode() for each in self._expressions)]), options)


def _forms(value: str) -> Iterator[bytes]:
    """A value as it stands in text, and in JSON with and without characters outside ASCII."""
    yield value.encode("utf-8", "surrogatepass")
    for is_ascii in (False, True):
        yield json.dumps(value, ensure_ascii=is_ascii)[1:-1].encode("utf-8", "surrogatepass")


def _differ(pairs: Iterable[tuple[Any, Any]], fields: Iterable[tuple[Any, Any]]) -> bool:
    return any(new[0] is not old[0] or new[1] is not old[1] for new, old in zip(pairs, fields, strict=True))
