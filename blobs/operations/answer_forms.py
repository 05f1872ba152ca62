"""The form of what tasks answer. What comes from a cell is a stranger's: JSON, but with any fields of any types."""

from collections.abc import Callable, Mapping
from typing import Any

from blobs.domain.errors import CallerError
from blobs.domain.limits import KIB
from blobs.domain.media_type import parse_media_type

_TEXT_CHARS_MAX = 4 * KIB


def _is_type(value: Any) -> bool:
    try:
        return isinstance(value, str) and parse_media_type(value) == value
    except CallerError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _TEXT_CHARS_MAX


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, list) for each in value)


_Form = Mapping[str, Callable[[Any], bool]]
_RESULT: _Form = {"payload_type": _is_type, "columns": _are_texts, "count": _is_count, "note": _is_text}
_FORMS: Mapping[str, _Form] = {
    "python": _RESULT,
    "sql": {**_RESULT, "rows": _are_rows, "complete": _is_bool, "is_exact": _is_bool, "payload_rows": _is_count},
    "view": {"type": _is_type},
}
_REQUIRED = {"sql": ("columns", "rows", "count", "complete", "is_exact")}


def fault_of(task: str, value: Any) -> str:
    """What is wrong with the form of a task's answer; empty where nothing is."""
    if not isinstance(value, dict):
        return f"the answer of {task} is no object"
    for name in _REQUIRED.get(task, ()):
        if name not in value:
            return f"the answer of {task} has no {name}"
    for name, is_right in _FORMS.get(task, {}).items():
        if name in value and not is_right(value[name]):
            return f"the answer of {task} has a wrong {name}"
    return ""
