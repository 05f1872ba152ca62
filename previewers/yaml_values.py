"""Values from YAML text by the rules of YAML 1.2, bounded whatever its aliases do.

Scalars stay as they are written: only what JSON also calls null, a boolean or a number is one (`no`, `22:22`, `0123`,
`0x1F`, `2024-01-02` are text, and `1.10` keeps its digits). An alias is the value of its anchor, a merge key `<<` is a
key like any other, and a tag that YAML does not define itself becomes `{"!tag": value}`.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError

EXPANDED_MAX = 32_000_000
"""How many characters aliases may add to a text: a bomb of aliases is 300 bytes that say gigabytes."""

_CORE = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\Z")
_NODE_SIZE = 8
_NO_KEY: Any = object()
_CAUSE_CHARS_MAX = 160


@dataclass(slots=True)
class YamlText:
    """What a text says: a value a document, and how many keys are repeated and aliases are left as written."""

    documents: list[Any] = field(default_factory=list)
    repeated: int = 0
    unexpanded: int = 0


@dataclass(slots=True)
class _Open:
    """A list or object that is being read."""

    value: Any
    anchor: str | None
    tag: str | None
    key: Any = _NO_KEY
    size: int = _NODE_SIZE


def read_yaml(text: str) -> YamlText:
    """All documents of a text; raises `UnreadableError` with the line where it is not YAML."""
    from yaml.cyaml import CParser

    builder = _Builder()
    try:
        parser = CParser(text)
        while True:
            event = parser.get_event()
            if type(event) is events.StreamEndEvent:
                return builder.found
            builder.take(event)
    except yaml.YAMLError as problem:
        raise UnreadableError(told(problem)) from None
    except (ValueError, UnicodeError) as problem:
        raise UnreadableError(f"not valid YAML: {str(problem)[:_CAUSE_CHARS_MAX]}") from None


def told(problem: yaml.YAMLError) -> str:
    """What is wrong with a text, in one line."""
    mark = getattr(problem, "problem_mark", None)
    cause = " ".join(str(getattr(problem, "problem", None) or problem).split())[:_CAUSE_CHARS_MAX]
    return f"not valid YAML at line {mark.line + 1}: {cause}" if mark is not None else f"not valid YAML: {cause}"


class _Builder:
    """Builds values from events, without recursion."""

    def __init__(self) -> None:
        self.found = YamlText()
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._room = EXPANDED_MAX

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is events.ScalarEvent:
            self._scalar(event)
        elif kind is events.AliasEvent:
            self._alias(event.anchor)
        elif kind is events.MappingStartEvent:
            self._stack.append(_Open({}, event.anchor, event.tag))
        elif kind is events.SequenceStartEvent:
            self._stack.append(_Open([], event.anchor, event.tag))
        elif kind in (events.MappingEndEvent, events.SequenceEndEvent):
            self._close()
        elif kind is events.DocumentStartEvent:
            self._anchors.clear()

    def _scalar(self, event: Any) -> None:
        is_key = bool(self._stack) and self._stack[-1].key is _NO_KEY and isinstance(self._stack[-1].value, dict)
        value = event.value if is_key else _resolved(event.value, event.tag, is_plain=event.implicit[0])
        size = len(event.value) + _NODE_SIZE
        if event.anchor is not None:
            self._anchors[event.anchor] = value, size
        self._put(value, size)

    def _alias(self, anchor: str) -> None:
        value, size = self._anchors.get(anchor, (None, EXPANDED_MAX + 1))
        if size > self._room:  # a bomb, an alias inside of its own anchor, or one of nothing
            self.found.unexpanded += 1
            value, size = f"*{anchor}", len(anchor) + _NODE_SIZE
        else:
            self._room -= size
        self._put(value, size)

    def _close(self) -> None:
        done = self._stack.pop()
        value = done.value
        if done.tag is not None and not done.tag.startswith(_CORE) and done.tag != "!":
            value = {_tag_name(done.tag): value}
        if done.anchor is not None:
            self._anchors[done.anchor] = value, done.size
        self._put(value, done.size)

    def _put(self, value: Any, size: int) -> None:
        if not self._stack:
            self.found.documents.append(value)
            return
        top = self._stack[-1]
        top.size += size
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is _NO_KEY:
            top.key = value if isinstance(value, str) else exact_json.text(value)
        else:
            self.found.repeated += top.key in top.value
            top.value[top.key] = value
            top.key = _NO_KEY


def _resolved(text: str, tag: str | None, *, is_plain: bool) -> Any:
    """The value of a scalar: text, unless it is plain or tagged as something that JSON has too."""
    if tag is not None and tag != "!" and not tag.startswith(_CORE):
        return {_tag_name(tag): text}
    name = tag[len(_CORE) :] if tag is not None and tag.startswith(_CORE) else ""
    if name not in ("null", "bool", "int", "float") and not (tag is None and is_plain):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    number = _NUMBER.match(text)
    if number is None:
        return text
    return exact_json.Number(text) if number["rest"] or len(text) > 4000 else int(text)


def _tag_name(tag: str) -> str:
    return tag if tag.startswith("!") else f"!<{tag}>"
