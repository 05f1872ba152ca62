"""All that is wrong with one set of arguments, told at once: a line each, `path: instruction`."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from blobs.domain import exact_json

LINES_MAX = 20
TEXT_BYTES_MAX = 3800
"""More problems than this teach a model nothing more; the rest are counted. Fits `error_bytes_max` with some room."""

_SHOWN_CHARS_MAX = 60
_WORDS_SHOWN_MAX = 10
_PLAIN = re.compile(r"[\w.$~/-]{1,64}\Z")


class Problems:
    """A list of problems in the order found, the same one once; paths are dotted keys and bare indexes from 0."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, path: Sequence[str | int], message: str) -> None:
        """Note what is wrong at this place; `message` is an instruction that starts in lower case."""
        self._lines[f"{shown_path(path)}: {message}" if path else message[:1].upper() + message[1:]] = None

    def text(self) -> str:
        """The lines, at most `LINES_MAX` of them and about `TEXT_BYTES_MAX`, and one more that counts the rest."""
        lines: list[str] = []
        room = TEXT_BYTES_MAX
        for line in self._lines:
            room -= len(line.encode("utf-8", "replace")) + 1
            if lines and (room < 0 or len(lines) == LINES_MAX):
                return "\n".join([*lines, f"… and {len(self._lines) - len(lines)} more problems."])
            lines.append(line)
        return "\n".join(lines)


def shown_path(path: Iterable[str | int]) -> str:
    """`items.0.file`; a key that is not plain is quoted, so that a path is always one line of bounded length."""
    return ".".join(shown_name(str(each)) for each in path)


def shown_name(name: str) -> str:
    """A name as it can stand in a sentence: bare where it is plain, else quoted and cut."""
    return name if _PLAIN.match(name) else shown(name)


def shown(value: Any) -> str:
    """A refused value as it can stand in a sentence, short whatever it is."""
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case str() if len(value) > _SHOWN_CHARS_MAX:
            return exact_json.text(f"{value[:_SHOWN_CHARS_MAX]}…(+{len(value) - _SHOWN_CHARS_MAX} chars)")
        case str() | bool() | int() | float() | exact_json.Number():
            text = exact_json.text(value)
            return text if len(text) <= 3 * _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}…"
        case _:
            return f"a {type(value).__name__}"


def listed(names: Sequence[str]) -> str:
    """`a, b or c`; of many names the first few and the last, with their number."""
    return either([shown_name(each) for each in names])


def either(words: Sequence[str]) -> str:
    """`a, b or c` of words that can stand as they are; of many the first few and the last, with their number."""
    if len(words) > _WORDS_SHOWN_MAX:
        return f"{', '.join(words[:3])}, …, {', '.join(words[-6:])} ({len(words)} in all)"
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def no_such_argument(name: str, known: Sequence[str]) -> str:
    """What is said of an argument that does not exist: what was probably meant, and what there is."""
    if not known:
        return "there is no such argument; leave it out, there are none."
    close = get_close_matches(name[:64], known, n=1)
    meant = f"; did you mean {close[0]}?" if close else "."
    return f"there is no such argument{meant} Use {listed(known)}."


def no_such_blob(name: str, known: Sequence[str]) -> str:
    """What is said of a blob that this conversation has not shown: which ones it has."""
    if not known:
        return f"there is no {shown_name(name)}; this conversation has no blobs yet."
    return f"there is no {shown_name(name)}. Use {listed(known)}."
