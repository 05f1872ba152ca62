"""Arguments as a model gave them, with the names of blobs replaced by references where the schema marks a blob.

Checked on the way: which arguments there may and must be, basic types, `enum` and `const`. Other rules of JSON Schema
(lengths, ranges, patterns) are left to the tool, which is told nothing else than what the model wrote.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from blobs.conversations.schemas import Shape, parse_schema
from blobs.domain.errors import CallerError
from blobs.domain.exact_json import Number
from blobs.domain.reference import Reference
from blobs.operations.problems import Problems, either, no_such_argument, no_such_blob, shown

ARGUMENTS_DEPTH_MAX = 200
"""Nesting of arguments; nothing that a model writes is deeper, and every walk over them fits the stack."""

_NAME = re.compile(r"blob[0-9]+\Z", re.IGNORECASE)
_NOUNS = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float, Number),
    "object": (dict,),
    "array": (list,),
}

_Path = tuple[str | int, ...]


def resolve(
    schema: Any, arguments: Any, lookup: Callable[[str], Reference | None], known_names: Sequence[str]
) -> dict[str, Any]:
    """`{"ok": True, "arguments": …}`, or `{"ok": False, "message": …}` with every problem, one a line in schema order.

    Each string at a place that the schema marks is replaced by the JSON form of the reference that `lookup` gives for
    it; `lookup` answers `None` for what this conversation has not shown, and `known_names` is what it has. Nothing
    else changes: an unmarked "blob1" stays a string. The arguments of the answer are a copy, what is passed in stays as
    it is. Of `anyOf` and `oneOf` the branches that fit count; a name that some branch takes for a blob is one.

    Raises `CallerError` where the schema itself is wrong; see `parse_schema`.
    """
    shape = parse_schema(schema)
    try:
        copied = _copied(arguments, 0)
    except CallerError as error:
        return {"ok": False, "message": str(error)}
    found = _Found()
    _Walk(lookup, known_names).visit(shape, copied, (), found)
    if found.problems:
        problems = Problems()
        for each in found.problems:
            problems.add(each.path, each.message)
        return {"ok": False, "message": problems.text()}
    for path, reference in found.references.items():
        holder = copied
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = reference.to_json()
    return {"ok": True, "arguments": copied}


@dataclass(frozen=True, slots=True)
class _Problem:
    path: _Path
    message: str
    is_type: bool = False
    is_unknown_name: bool = False


@dataclass(slots=True)
class _Found:
    """What a walk has met: what is wrong, and which places hold names of blobs."""

    problems: list[_Problem] = field(default_factory=list)
    references: dict[_Path, Reference] = field(default_factory=dict)

    def add(self, path: _Path, message: str, *, is_type: bool = False, is_unknown_name: bool = False) -> None:
        self.problems.append(_Problem(path, message, is_type, is_unknown_name))


class _Walk:
    def __init__(self, lookup: Callable[[str], Reference | None], known_names: Sequence[str]) -> None:
        self._lookup = lookup
        self._known_names = known_names

    def visit(self, shape: Shape, value: Any, path: _Path, found: _Found) -> None:
        """Note what is wrong with this value at this place, and the names of blobs in it."""
        if shape.is_never:
            found.add(path, "nothing may be given here; leave it out.")
            return
        if shape.types is not None and not any(_is_of_type(value, each) for each in shape.types):
            found.add(path, f"give {_wanted(shape)}, not {shown(value)}.", is_type=True)
            return
        if shape.choices is not None and not any(_is_same(value, each) for each in shape.choices):
            found.add(path, f"give {_wanted(shape)}, not {shown(value)}.")
            return
        if shape.is_mark and isinstance(value, str):
            self._name(value, path, found)
        if isinstance(value, dict):
            self._fields(shape, value, path, found)
        elif isinstance(value, list):
            self._items(shape, value, path, found)
        for each in shape.together:
            self.visit(each, value, path, found)
        for group in shape.alternatives:
            self._alternatives(group, value, path, found)

    def _name(self, name: str, path: _Path, found: _Found) -> None:
        reference = self._lookup(name) if name else None
        if reference is not None:
            found.references[path] = reference
        elif name:
            found.add(path, no_such_blob(name, self._known_names), is_unknown_name=True)
        else:
            found.add(path, 'give the name of a blob, such as "blob1"; it is empty.')

    def _fields(self, shape: Shape, value: Mapping[str, Any], path: _Path, found: _Found) -> None:
        for key, below in shape.properties.items():
            is_required = key in shape.required
            if key not in value:
                if is_required:
                    found.add((*path, key), f"missing. Give {_wanted(below)}.")
            elif value[key] is not None or is_required or not below.may_be_name:
                self.visit(below, value[key], (*path, key), found)
        for key in shape.required:
            if key not in shape.properties and key not in value:
                found.add((*path, key), "missing. It must be given.")
        for key, each in value.items():
            if key not in shape.properties:
                self._further_field(shape, key, each, path, found)

    def _further_field(self, shape: Shape, key: str, value: Any, path: _Path, found: _Found) -> None:
        text = str(key).encode("utf-8", "replace").decode()  # re2 refuses lone surrogates
        matching = [below for pattern, below in shape.patterns if pattern.search(text)]
        for below in matching:
            self.visit(below, value, (*path, key), found)
        if matching or shape.others is None:
            return
        if shape.others.is_never:
            found.add((*path, key), no_such_argument(str(key), list(shape.properties)))
        else:
            self.visit(shape.others, value, (*path, key), found)

    def _items(self, shape: Shape, value: Sequence[Any], path: _Path, found: _Found) -> None:
        for place, each in enumerate(value):
            below = shape.first_items[place] if place < len(shape.first_items) else shape.items
            if below is None:
                return
            self.visit(below, each, (*path, place), found)

    def _alternatives(self, group: tuple[Shape, ...], value: Any, path: _Path, found: _Found) -> None:
        """Every branch that fits counts, so that a string is a blob where one of them marks it.

        A string that looks like a name and is none is refused although another branch would take any string: the model
        meant a blob. Where no branch fits, the one that fits best says why.
        """
        tried = []
        for branch in group:
            attempt = _Found()
            self.visit(branch, value, path, attempt)
            tried.append(attempt)
        fitting = [each for each in tried if not each.problems]
        mistaken = [each for each in tried if _is_mistaken_name(each, value, path)]
        if mistaken and not any(each.references for each in fitting):
            found.problems += mistaken[0].problems
        elif fitting:
            for each in fitting:
                found.references.update(each.references)
        else:
            typed = [each for each in tried if not _is_of_other_type(each, path)]
            if typed:
                found.problems += min(typed, key=lambda each: len(each.problems)).problems
            else:
                found.add(path, f"give {_wanted(Shape(alternatives=(group,)))}, not {shown(value)}.", is_type=True)


def _is_mistaken_name(attempt: _Found, value: Any, path: _Path) -> bool:
    if len(attempt.problems) != 1 or not attempt.problems[0].is_unknown_name:
        return False
    at = value
    for step in attempt.problems[0].path[len(path) :]:
        at = at[step]
    return bool(_NAME.match(at))


def _is_of_other_type(attempt: _Found, path: _Path) -> bool:
    return any(each.is_type and each.path == path for each in attempt.problems)


def _wanted(shape: Shape) -> str:
    """What a place takes, in words."""
    return either(list(dict.fromkeys(_wants(shape)))) or "a value"


def _wants(shape: Shape) -> list[str]:
    if shape.choices is not None:
        return [shown(each) for each in shape.choices]
    if shape.types is not None:
        names = [each for each in _NOUNS if each in shape.types]
        return ["the name of a blob" if shape.is_mark and each == "string" else _NOUNS[each] for each in names]
    below = (*shape.together, *(branch for group in shape.alternatives for branch in group))
    return [word for each in below for word in _wants(each)]


def _is_of_type(value: Any, name: str) -> bool:
    if isinstance(value, bool) or value is None:
        return name == ("null" if value is None else "boolean")
    if name == "integer":
        return _is_whole(value)
    return isinstance(value, _PYTHON_TYPES.get(name, ()))


def _is_whole(value: Any) -> bool:
    if isinstance(value, Number):
        number = Decimal(value.text)
        return number.is_finite() and number == number.to_integral_value()
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _copied(value: Any, depth: int) -> Any:
    if depth > ARGUMENTS_DEPTH_MAX:
        raise CallerError(f"The arguments are nested deeper than {ARGUMENTS_DEPTH_MAX} levels.", hint="Nest them less.")
    if isinstance(value, Mapping):
        return {key: _copied(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(each, depth + 1) for each in value]
    return value
