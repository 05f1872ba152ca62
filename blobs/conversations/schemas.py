"""Schemas of tool arguments in both shapes, read into one, and the places in them that mark a blob.

The short shape maps names to types: `{"file": "blob", "n": "number?", "tags": ["string"], "box": {"x": "integer"}}`.
Types are string, number, integer, boolean, object, array (or list), any and blob; `?` makes one optional, and null is
then as good as leaving it out. A list of one type is a list of such, a mapping an object with exactly these fields. An
argument may be written in JSON Schema: `{"type": "string", "description": "…"}`, `{"type": "blob"}`.

A shape whose `type` is `object` is JSON Schema; there `format: blob` marks a string that names a blob.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import re2

from blobs.domain.errors import CallerError
from blobs.operations.problems import listed, shown, shown_path

DEPTH_MAX = 64
"""Nesting of a schema, references followed; no tool that a model can fill in is deeper."""

SIZE_MAX = 10_000
"""Places of a schema with every reference written out: a few references to references can stand for billions."""

MARKS_MAX = 1_000
"""Marked places that `find_blob_marks` lists."""

_JSON_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_SHORT_TYPES = ("string", "number", "integer", "boolean", "object", "array", "list", "any", "blob")
_ARGUMENT_KEYWORDS = frozenset(
    (
        *("type", "description", "title", "format", "enum", "const", "default", "examples", "nullable", "deprecated"),
        *("properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"),
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "pattern", "minLength", "maxLength"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    )
)
_UNMARKABLE = (
    *("not", "if", "then", "else", "contains", "propertyNames", "contentSchema"),
    *("unevaluatedProperties", "unevaluatedItems"),
)

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """One place of a schema, whichever shape it was written in, with what it refers to in place.

    `types` is `None` where any is allowed. `alternatives` holds each `anyOf` and `oneOf`, of which one branch must fit;
    `together` what must fit as well. `size` and `depth` count the places below, this one included.
    """

    types: frozenset[str] | None = None
    is_mark: bool = False
    is_never: bool = False
    choices: tuple[Any, ...] | None = None
    properties: Mapping[str, "Shape"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    patterns: tuple[tuple[Any, "Shape"], ...] = ()
    others: "Shape | None" = None
    first_items: tuple["Shape", ...] = ()
    items: "Shape | None" = None
    together: tuple["Shape", ...] = ()
    alternatives: tuple[tuple["Shape", ...], ...] = ()
    has_marks: bool = False
    size: int = 1
    depth: int = 1

    @property
    def may_be_name(self) -> bool:
        """Whether a string at this very place can name a blob."""
        below = (*self.together, *(branch for group in self.alternatives for branch in group))
        return self.is_mark or any(each.may_be_name for each in below)

    def children(self) -> Iterator[tuple[str | None, "Shape"]]:
        """The shapes below in schema order: with a key or index, `*` for any, or `None` for this same place."""
        yield from self.properties.items()
        yield from (("*", each) for _, each in self.patterns)
        if self.others is not None:
            yield "*", self.others
        yield from ((str(place), each) for place, each in enumerate(self.first_items))
        if self.items is not None:
            yield "*", self.items
        yield from ((None, each) for each in self.together)
        yield from ((None, branch) for group in self.alternatives for branch in group)


_ANYTHING = Shape()
_NEVER = Shape(is_never=True)


def parse_schema(schema: Any) -> Shape:
    """Read a schema of either shape; what is passed in is not changed.

    Raises `CallerError` that names the place where it is neither shape, is recursive, refers to what is not there or
    outside of it, is too large, or marks a blob where no value can be told to be meant (below `not`, `if` and such).
    """
    if not isinstance(schema, Mapping):
        raise _refusal((), f"a schema is an object, not {shown(schema)}", 'Give {"file": "blob"} or JSON Schema.')
    reader = _SchemaReader(schema)
    return reader.json_schema(schema, ()) if _is_object_schema(schema) else reader.short_object(schema, ())


def find_blob_marks(schema: Any) -> list[str]:
    """The places that mark a blob, as dotted paths in schema order, `*` for any key or index.

    Raises `CallerError` as `parse_schema` does, and where more than `MARKS_MAX` places are marked.
    """
    found: dict[str, None] = {}
    for path in _marked(parse_schema(schema), ()):
        found[".".join(path)] = None
        if len(found) > MARKS_MAX:
            raise _refusal((), f"a blob is marked in over {MARKS_MAX} places", "Mark fewer.")
    return list(found)


def _marked(shape: Shape, path: _Path) -> Iterator[_Path]:
    if shape.is_mark:
        yield path
    for key, child in shape.children():
        if child.has_marks:
            yield from _marked(child, path if key is None else (*path, key))


def _refusal(path: Sequence[str], what: str, hint: str) -> CallerError:
    place = f"{shown_path(path)}: " if path else ""
    return CallerError(f"{place}{what}.", code="invalid_schema", hint=hint)


def _is_object_schema(schema: Mapping[Any, Any]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _is_argument_schema(given: Mapping[Any, Any]) -> bool:
    """Whether a mapping inside the short shape is an argument in JSON Schema and not an object with such fields.

    `{"type": "string", "title": "string"}` is an object of two fields: what else it says are short types too.
    """
    if _is_object_schema(given):
        return True
    kinds = given["type"] if isinstance(given.get("type"), list) else [given.get("type")]
    if not all(kind in (*_JSON_TYPES, "blob") for kind in kinds if isinstance(kind, str)) or None in kinds:
        return False
    if not all(isinstance(kind, str) for kind in kinds) or not set(given) <= _ARGUMENT_KEYWORDS:
        return False
    rest = [value for key, value in given.items() if key != "type"]
    return not rest or given.get("format") == "blob" or not all(_is_short_type(each) for each in rest)


def _is_short_type(value: Any) -> bool:
    return isinstance(value, str) and value.removesuffix("?") in _SHORT_TYPES


def _counted(shape: Shape, path: _Path) -> Shape:
    """The shape with what is worked out from below; the one place where size and depth are held to their limits."""
    below = [child for _, child in shape.children()]
    size = 1 + sum(each.size for each in below)
    depth = 1 + max((each.depth for each in below), default=0)
    if size > SIZE_MAX or depth > DEPTH_MAX:
        raise _refusal(path, "the schema is too large", f"Keep to {SIZE_MAX} places and {DEPTH_MAX} levels.")
    has_marks = shape.is_mark or any(each.has_marks for each in below)
    return replace(shape, size=size, depth=depth, has_marks=has_marks)


class _SchemaReader:
    """Reads the parts of one schema, each once however often it is referred to."""

    def __init__(self, root: Mapping[Any, Any]) -> None:
        self._root = root
        self._read: dict[int, Shape] = {}
        self._being_read: dict[int, None] = {}

    def short_object(self, given: Mapping[Any, Any], path: _Path) -> Shape:
        """An object with exactly these fields, all of them required that do not say otherwise."""
        self._enter(given, path)
        properties, required = {}, []
        for name, kind in given.items():
            if not isinstance(name, str):
                raise _refusal(path, f"the name {shown(name)} is not a string", "Write the names as strings.")
            properties[name] = self._short(kind, (*path, name))
            if not _may_be_left_out(kind):
                required.append(name)
        del self._being_read[id(given)]
        shape = Shape(types=frozenset(("object",)), properties=properties, required=tuple(required), others=_NEVER)
        return _counted(shape, path)

    def _short(self, kind: Any, path: _Path) -> Shape:
        if isinstance(kind, str):
            return _short_type(kind, path)
        if isinstance(kind, Mapping):
            return self.json_schema(kind, path) if _is_argument_schema(kind) else self.short_object(kind, path)
        if isinstance(kind, list | tuple) and len(kind) <= 1:
            self._enter(kind, path)
            items = self._short(kind[0], (*path, "*")) if kind else None
            del self._being_read[id(kind)]
            return _counted(Shape(types=frozenset(("array",)), items=items), path)
        hint = 'Give a type, a list of one type such as ["blob"], or an object of types.'
        raise _refusal(path, f"{shown(kind)} is no type", hint)

    def json_schema(self, given: Any, path: _Path) -> Shape:
        """A schema as JSON Schema means it, in the keywords that say which values go where."""
        if given is True:
            return _ANYTHING
        if given is False:
            return _NEVER
        if not isinstance(given, Mapping):
            raise _refusal(path, f"{shown(given)} is no JSON Schema", "Give an object, true or false.")
        if id(given) in self._read:
            return self._read[id(given)]
        self._enter(given, path)
        shape = _counted(self._json_object(given, path), path)
        del self._being_read[id(given)]
        self._read[id(given)] = shape
        return shape

    def _enter(self, given: Any, path: _Path) -> None:
        if id(given) in self._being_read:
            raise _refusal(path, "the schema is recursive", "Write out as many levels as are needed.")
        if len(self._being_read) >= DEPTH_MAX:
            raise _refusal(path[:3], "the schema is nested too deeply", f"Keep to {DEPTH_MAX} levels.")
        self._being_read[id(given)] = None

    def _json_object(self, given: Mapping[Any, Any], path: _Path) -> Shape:
        self._refuse_unmarkable(given, path)
        types, is_mark = _types(given, path)
        return Shape(
            types=types,
            is_mark=is_mark,
            choices=_choices(given, path),
            properties=dict(self._named(given, "properties", path)),
            required=_required(given, path),
            patterns=tuple((_pattern(key, path), each) for key, each in self._named(given, "patternProperties", path)),
            others=self._single(given, "additionalProperties", path),
            first_items=self._first_items(given, path),
            items=self._rest_items(given, path),
            together=(*self._referred(given, path), *self._several(given, "allOf", path)),
            alternatives=tuple(filter(None, (self._several(given, key, path) for key in ("anyOf", "oneOf")))),
        )

    def _named(self, given: Mapping[Any, Any], keyword: str, path: _Path) -> Iterator[tuple[str, Shape]]:
        named = given.get(keyword, {})
        if not isinstance(named, Mapping):
            raise _refusal((*path, keyword), f"{shown(named)} is not an object", "Give a schema for each name.")
        for name, each in named.items():
            yield str(name), self.json_schema(each, (*path, keyword, str(name)))

    def _single(self, given: Mapping[Any, Any], keyword: str, path: _Path) -> Shape | None:
        return self.json_schema(given[keyword], (*path, keyword)) if keyword in given else None

    def _several(self, given: Mapping[Any, Any], keyword: str, path: _Path) -> tuple[Shape, ...]:
        several = given.get(keyword, [])
        if not isinstance(several, list | tuple):
            raise _refusal((*path, keyword), f"{shown(several)} is not a list", "Give a list of schemas.")
        return tuple(self.json_schema(each, (*path, keyword, str(place))) for place, each in enumerate(several))

    def _first_items(self, given: Mapping[Any, Any], path: _Path) -> tuple[Shape, ...]:
        # Until draft 2019-09 `items` as a list was what `prefixItems` is now, and `additionalItems` the rest.
        keyword = "items" if isinstance(given.get("items"), list | tuple) else "prefixItems"
        return self._several(given, keyword, path)

    def _rest_items(self, given: Mapping[Any, Any], path: _Path) -> Shape | None:
        is_old = isinstance(given.get("items"), list | tuple)
        return self._single(given, "additionalItems" if is_old else "items", path)

    def _referred(self, given: Mapping[Any, Any], path: _Path) -> tuple[Shape, ...]:
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in given:
                raise _refusal((*path, keyword), "the schema is recursive", "Write out as many levels as are needed.")
        if "$ref" not in given:
            return ()
        target = self._target(given["$ref"], (*path, "$ref"))
        return (self.json_schema(target, (*path, "$ref")),)

    def _target(self, reference: Any, path: _Path) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            hint = 'Refer to a place in the same schema, such as "#/$defs/file".'
            raise _refusal(path, f"{shown(reference)} is not a local reference", hint)
        target: Any = self._root
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and key in target:
                target = target[key]
            elif isinstance(target, list | tuple) and key.isascii() and key.isdigit() and int(key[:9]) < len(target):
                target = target[int(key)]
            else:
                raise _refusal(path, f"there is nothing at {shown(reference)}", "Put it under $defs.")
        return target

    def _refuse_unmarkable(self, given: Mapping[Any, Any], path: _Path) -> None:
        below = [(keyword, given[keyword]) for keyword in _UNMARKABLE if keyword in given]
        dependent = given.get("dependentSchemas", {})
        below += dependent.items() if isinstance(dependent, Mapping) else []
        for keyword, schema in below:
            if self.json_schema(schema, (*path, keyword)).has_marks:
                hint = "Mark it under properties, items, anyOf, oneOf, allOf or $ref."
                raise _refusal((*path, keyword), "a blob cannot be marked here", hint)


def _may_be_left_out(kind: Any) -> bool:
    if isinstance(kind, Mapping):
        return _is_argument_schema(kind) and "default" in kind
    return isinstance(kind, str) and kind.endswith("?")


def _short_type(kind: str, path: _Path) -> Shape:
    name = kind.removesuffix("?")
    if name not in _SHORT_TYPES:
        raise _refusal(path, f"{shown(kind)} is no type", f"Use {listed(_SHORT_TYPES)}, with ? where it is optional.")
    if name == "any":
        return _ANYTHING
    json_type = {"blob": "string", "list": "array"}.get(name, name)
    types = frozenset((json_type, "null")) if kind.endswith("?") else frozenset((json_type,))
    return _counted(Shape(types=types, is_mark=name == "blob"), path)


def _types(given: Mapping[Any, Any], path: _Path) -> tuple[frozenset[str] | None, bool]:
    """The types that are allowed, and whether a string among them names a blob."""
    written = given.get("type", [])
    names = [written] if isinstance(written, str) else written
    if not isinstance(names, list | tuple) or not all(each in (*_JSON_TYPES, "blob") for each in names):
        raise _refusal((*path, "type"), f"{shown(written)} is no type", f"Use {listed((*_JSON_TYPES, 'blob'))}.")
    is_mark = given.get("format") == "blob" or "blob" in names
    types = {"string" if each == "blob" else each for each in names}
    if is_mark and not types:
        types.add("string")
    if is_mark and "string" not in types:
        raise _refusal(path, "format blob marks a string, the blob's name", 'Give it the type "string".')
    if types and given.get("nullable") is True:
        types.add("null")
    return frozenset(types) or None, is_mark


def _choices(given: Mapping[Any, Any], path: _Path) -> tuple[Any, ...] | None:
    if "const" in given:
        return (given["const"],)
    choices = given.get("enum")
    if choices is not None and not isinstance(choices, list | tuple):
        raise _refusal((*path, "enum"), f"{shown(choices)} is not a list", "Give a list of values.")
    return None if choices is None else tuple(choices)


def _required(given: Mapping[Any, Any], path: _Path) -> tuple[str, ...]:
    required = given.get("required", [])
    if isinstance(required, bool):  # draft 3 and some OpenAPI tools say it at the property; it forbids nothing
        return ()
    if not isinstance(required, list | tuple) or not all(isinstance(each, str) for each in required):
        raise _refusal((*path, "required"), f"{shown(required)} is not a list of names", "Give a list of strings.")
    return tuple(required)


def _pattern(text: str, path: _Path) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        hint = "Write it without look-around and backreferences."
        raise _refusal((*path, "patternProperties"), f"{shown(text)} is no pattern ({reason})", hint) from None
