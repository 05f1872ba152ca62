"""TOML: lines, with the values of its tables."""

import datetime as dt
import re
import tomllib
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.reading.reader import Confidence, Sample, View
from blobs.reading.source import Source
from previewers.json_sniff import utf8_head
from previewers.said_document import SaidDocumentView
from previewers.structured_text import Structure

TOML = "application/toml"
_SNIFFED_CHARS_MAX = 16_000
_TRIES = 4
_HEADER = re.compile(r"^\[{1,2}[ \t]*[\w\"'.-][^\[\]\n]*\]{1,2}[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_PAIR = re.compile(r"^[ \t]*[\w\"'.-]+[ \t]*=", re.MULTILINE)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_CAUSE_CHARS_MAX = 160


class TomlView(SaidDocumentView):
    """The lines of a TOML text. Values are JSON's; dates and times are text, and so are `inf` and `nan`."""

    type: str = TOML
    noun = "TOML text"
    chars_max = 1_000_000  # the parser needs about a second for it

    def value(self, text: str, structure: Structure) -> Any:
        """The tables and keys of the text; raises `UnreadableError` with the line where it is not TOML."""
        del structure
        return _read_toml(text)


class TomlReader:
    """TOML by its table headers, where all of it is valid."""

    name = "toml"
    media_types = (TOML,)
    has_signature = False
    aliases = ("text/toml", "text/x-toml", "application/x-toml")
    is_light = True

    def sniff(self, sample: Sample) -> Confidence:
        """Tables and keys whose values are all TOML: other configuration files lack quotes; any text if declared."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        if not head.strip():
            return Confidence.NO
        if _HEADER.search(head) and _PAIR.search(head) and _is_toml(head, is_whole=sample.is_whole):
            return Confidence(56, TOML)
        return Confidence(1, TOML) if is_declared else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the text; never refuses."""
        return TomlView(source)


def _is_toml(head: str, *, is_whole: bool) -> bool:
    """The text is TOML, up to one of its last headers where it is cut."""
    if is_whole and len(head) <= _SNIFFED_CHARS_MAX:
        return _is_valid(head)
    head = head[:_SNIFFED_CHARS_MAX]
    headers = [found.start() for found in _HEADER.finditer(head)]
    return any(_PAIR.search(head[:at]) and _is_valid(head[:at]) for at in headers[-_TRIES:])


def _is_valid(text: str) -> bool:
    try:
        _read_toml(text)
    except UnreadableError:
        return False
    return True


def _read_toml(text: str) -> Any:
    try:
        return _json_ready(tomllib.loads(text.removeprefix("\ufeff"), parse_float=_number))
    except RecursionError:
        raise UnreadableError("not read as TOML: it is nested too deeply") from None
    except ValueError as problem:  # also integers of thousands of digits
        cause = " ".join(str(problem).split())[:_CAUSE_CHARS_MAX]
        raise UnreadableError(f"not valid TOML: {cause}") from None


def _number(text: str) -> Any:
    """A float as written, without the underscores that group its digits."""
    plain = text.replace("_", "").removeprefix("+")
    return exact_json.Number(plain) if _NUMBER.match(plain) else text


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_ready(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_json_ready(each) for each in value]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        written = value.isoformat()
        return written.removesuffix("+00:00") + "Z" if written.endswith("+00:00") else written
    return value
