"""Telling YAML from prose, code and logs: every line of the head has to fit, and there has to be structure."""

import re
from dataclasses import dataclass

import yaml

_CHARS_MAX = 4096
"""How much is parsed to be sure: the parser that is safe in any process is slow."""
_LINES_MAX = 400
_OTHERS_SHARE = 0.3

_KEY = re.compile(
    r"(?P<indent> *)(?P<dashes>(?:-[ ]+)*)(?:\? )?"
    r"(?P<key>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\w.$/~@<*+^-][\w .,/$@*+^<>=-]{0,79}?)[ ]*:(?:[ ]+(?P<value>\S.*)|[ ]*)"
)
_ITEM = re.compile(r"(?P<indent> *)-(?:[ ]+(?P<value>\S.*)|[ ]*)")
_MARKER = re.compile(r"(?:---|\.\.\.)(?:[ ]+.*)?|%[A-Z]+ .*")
_BLOCK = re.compile(r"(?:.*[ ])?(?:[&!]\S*[ ]+)*[|>][-+0-9]{0,2}(?:[ ]+#.*)?")
_CODE = re.compile(
    r"\s*(?:(?:def|class|if|elif|for|while|except|async|with|case|switch) .+|else|try|finally|except|default):"
)
_IDENTIFIER = re.compile(r"[^\W\d][\w.-]*")
_TYPED = re.compile(r"[\[{\"'&!|>~\d-].*|true|false|yes|no|on|off|null", re.IGNORECASE)


@dataclass(slots=True)
class _Seen:
    """What the lines of a text are."""

    keys: int = 0
    items: int = 0
    others: int = 0
    lines: int = 0
    is_nested: bool = False
    begins_with_marker: bool = False
    is_flat: bool = True
    """The keys at the margin are plain words, one blank before each value: no header, no aligned columns."""
    is_typed: bool = False
    """There is a value that is no plain word."""
    is_lower: bool = False
    """There is a key that does not begin with a capital: it is no list of headers."""


def yaml_level(text: str, *, is_whole: bool) -> int:
    """How surely a text is YAML: 0 for no, else the level of confidence."""
    lines = text.split("\n")
    if not is_whole:
        lines.pop()
    seen = _look_at([line.rstrip("\r") for line in lines[:_LINES_MAX]])
    if seen is None or seen.others > _OTHERS_SHARE * seen.lines:
        return 0
    level = 0
    if seen.is_nested and seen.keys >= 2:
        level = 54
    elif seen.begins_with_marker and (seen.keys or seen.items > 1):
        level = 53
    elif seen.keys >= 3 and not seen.items and not seen.others and seen.is_flat and seen.is_typed and seen.is_lower:
        level = 51
    return level if level and _parses(lines, is_whole=is_whole) else 0


def _look_at(lines: list[str]) -> _Seen | None:
    """What the lines are, or None as soon as one is there that YAML would not have."""
    walk = _Walk()
    return walk.seen if all(walk.fits(line) for line in lines) else None


class _Walk:
    """The state between two lines."""

    def __init__(self) -> None:
        self.seen = _Seen()
        self._indent = -1  # of the last key or item
        self._block: int | None = None  # of the key that a block of text belongs to
        self._depth = 0  # of brackets that are open
        self._was_open = False  # the last key or item had no value yet
        self._top_keys: set[str] = set()

    def fits(self, line: str) -> bool:
        """Take the next line; false where it is none of YAML."""
        bare = line.strip()
        here = len(line) - len(line.lstrip(" "))
        is_comment = bare[:1] == "#" and not self._depth
        if not bare or is_comment or (self._block is not None and here > self._block):
            return True
        self._block = None
        if line[here] == "\t":
            return False
        self.seen.lines += 1
        if self._depth > 0:
            self._depth += _brackets(bare)
            return True
        if _MARKER.fullmatch(line):
            self.seen.begins_with_marker = self.seen.begins_with_marker or self.seen.lines == 1
            self._indent, self._was_open, self._top_keys = -1, False, set()
            return True
        return self._is_node(line, here)

    def _is_node(self, line: str, here: int) -> bool:
        """The line begins a key or an item, or goes on with the value of the last one."""
        found = _KEY.fullmatch(line) if not _CODE.fullmatch(line) else None
        if found is not None and len(found["key"].split()) <= 4:
            if not self._take_key(found, here):
                return False
        else:
            found = _ITEM.fullmatch(line)
            if found is None:
                self.seen.others += 1
                return here > max(self._indent, 0)
            self.seen.items += 1
            self.seen.is_nested = self.seen.is_nested or (self._was_open and here >= self._indent)
            self._indent = here
        value = found["value"] or ""
        self._was_open = not value or value[0] in "&!#"
        self._depth = max(0, _brackets(value)) if value[:1] in ("[", "{") else 0
        self._block = here if _BLOCK.fullmatch(value) else None
        return True

    def _take_key(self, found: re.Match[str], here: int) -> bool:
        """Count a key; false where it is at the margin again, as in a log of levels."""
        seen, key = self.seen, found["key"]
        inner = here + len(found["dashes"])
        seen.keys += 1
        seen.is_nested = seen.is_nested or (self._was_open and inner > self._indent) or inner > here
        self._indent = inner
        if inner:
            return True
        is_spaced = re.search(r":  ", found[0]) is not None
        seen.is_flat = seen.is_flat and bool(_IDENTIFIER.fullmatch(key)) and not is_spaced
        seen.is_typed = seen.is_typed or bool(_TYPED.fullmatch(found["value"] or "~"))
        seen.is_lower = seen.is_lower or not key[:1].isupper()
        is_new = key not in self._top_keys
        self._top_keys.add(key)
        return is_new


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{") - text.count("]") - text.count("}")


def _parses(lines: list[str], *, is_whole: bool) -> bool:
    """The first lines are valid YAML, as far as they are cut at a line that begins something new."""
    text = "\n".join(lines)
    if len(text) > _CHARS_MAX:
        text, is_whole = text[:_CHARS_MAX].rpartition("\n")[0] + "\n", False
    if not is_whole:
        last = max(text.rfind("\n" + sign) for sign in map(chr, range(33, 127)) if sign not in "#]})")
        text = text[: last + 1] if last > 0 else text
    try:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as problem:
        return not is_whole and problem.problem_mark is not None and problem.problem_mark.index >= len(text) - 1
    except yaml.YAMLError:
        return False
    return True
