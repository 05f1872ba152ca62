"""A model's tool call, read strictly and told everything that is wrong with it at once.

Strict about meaning, lenient about form: what models do and can mean only one thing is taken as meant. A whole number
may come as `20`, `20.0` or `"20"`; true and false as strings; text as a number; a list of one as its only element, and
a list as JSON in a string; `null` where an optional argument is left out; `unit` by the name that answers use (`rows`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar

from blobs.domain import exact_json
from blobs.domain.errors import CallerError, ToolInputError
from blobs.domain.limits import Limits
from blobs.domain.media_type import CSV, JSON, NDJSON, PARQUET, PDF, TEXT, parse_media_type
from blobs.operations.definitions import CODE, READ, SEARCH, TOOL_NAMES, tool_definitions, tool_schema
from blobs.operations.problems import Problems, listed, no_such_argument, shown, shown_name

__all__ = ["TOOL_NAMES", "CodeCall", "ReadCall", "SearchCall", "parse_arguments", "tool_definitions"]

WHOLE_MAX = 2**63 - 1
"""The largest position or number of items: no blob has more bytes."""

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*\Z", re.DOTALL)
_WHOLE_TEXT = re.compile(r"\s*[+-]?[0-9]{1,19}(?:\.0+)?\s*\Z", re.ASCII)
_UNIT_NAMES = dict.fromkeys(("rows", "entries", "pages", "members", "tables", "records"), "items") | {
    "characters": "chars"
}
_FORMATS = {
    "csv": CSV,
    "tsv": "text/tab-separated-values",
    "json": JSON,
    "ndjson": NDJSON,
    "jsonl": NDJSON,
    "parquet": PARQUET,
    "text": TEXT,
    "txt": TEXT,
    "html": "text/html",
    "markdown": "text/markdown",
    "xml": "application/xml",
    "pdf": PDF,
    "png": "image/png",
    "jpeg": "image/jpeg",
}
_WANTED = {
    "blob": 'the name of a blob, such as "blob1"',
    "blobs": 'the names of blobs, such as ["blob1", "blob2"]',
    "pattern": "the text to find",
    "code": "the SELECT or the Python program",
    "part": "the name of a part",
    "columns": "the names of columns",
    "path": 'a JSON Pointer, such as "/results/0"',
    "save_as": "csv, json, ndjson, parquet, or a media type",
}


class _Call:
    """What the three calls share: they can be said again."""

    tool: ClassVar[str]

    def arguments(self) -> dict[str, Any]:
        """The literal arguments of this call, defaults left out, for `next`; read back they are an equal call."""
        given = {}
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, each.name)
            if each.default is MISSING or value != each.default:
                given[each.name] = list(value) if isinstance(value, tuple) else value
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall(_Call):
    """A call of blob_read; `path` is a JSON Pointer that is not empty."""

    tool: ClassVar[str] = READ
    blob: str
    start: int = 0
    count: int | None = None
    part: str | None = None
    path: str | None = None
    columns: tuple[str, ...] | None = None
    unit: str = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall(_Call):
    """A call of blob_search."""

    tool: ClassVar[str] = SEARCH
    blob: str
    pattern: str
    regex: bool = False
    ignore_case: bool = False
    start: int = 0
    limit: int = 20
    context: int = 0
    part: str | None = None
    path: str | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCall(_Call):
    """A call of blob_code over one or more blobs, each once; `save_as` is a media type, and then `save` is true."""

    tool: ClassVar[str] = CODE
    blobs: tuple[str, ...]
    language: str = "sql"
    code: str
    save: bool = False
    save_as: str | None = None


def parse_arguments(
    tool: str, arguments: Mapping[str, Any] | str, *, limits: Limits | None = None
) -> ReadCall | SearchCall | CodeCall:
    """The call that a model means by these arguments, or `ToolInputError` whose text tells it all that is wrong.

    `arguments` is an object, or its JSON text as some services hand it over; it is not changed. Whether the blobs,
    parts and columns exist is not looked at here.
    """
    if tool not in TOOL_NAMES:
        raise ToolInputError(f"There is no tool {shown_name(tool)}.", hint=f"Use {listed(TOOL_NAMES)}.")
    problems = Problems()
    values = _read_object(tool, _as_object(tool, arguments), limits or Limits(), problems)
    if tool == CODE:
        _settle_blobs(values, problems)
    if problems:
        raise ToolInputError(problems.text())
    if tool == READ:
        return ReadCall(**values)
    return SearchCall(**values) if tool == SEARCH else CodeCall(**values)


def _as_object(tool: str, arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = exact_json.loads(arguments or "{}")
        except ValueError as error:
            raise ToolInputError(
                f"The arguments of {tool} are not JSON ({error}).", hint="Give one JSON object."
            ) from None
    if not isinstance(arguments, Mapping):
        example = '{"blob": "blob1"}' if tool == READ else '{"blob": "blob1", …}'
        raise ToolInputError(f"Give the arguments of {tool} as an object, such as {example}, not {shown(arguments)}.")
    return arguments


def _read_object(tool: str, arguments: Mapping[str, Any], limits: Limits, problems: Problems) -> dict[str, Any]:
    """Each argument that was given, read by the schema that is published for it."""
    schema = tool_schema(tool)
    values: dict[str, Any] = {}
    for name, described in schema["properties"].items():
        given = arguments.get(name)
        if given is not None:
            read = _READERS[described["type"]](name, given, described, problems)
            if read is not None:
                values[name] = read
            if read is not None and name in _SETTLERS:
                _SETTLERS[name](values, limits, problems)
        elif name in schema["required"]:
            problems.add([name], f"missing. Give {_WANTED[name]}.")
    for name in arguments:
        if name not in schema["properties"]:
            problems.add([str(name)], no_such_argument(str(name), list(schema["properties"])))
    return values


def _read_text(name: str, given: Any, described: Mapping[str, Any], problems: Problems) -> str | None:
    if isinstance(given, int | float | exact_json.Number) and not isinstance(given, bool):
        given = exact_json.text(given)
    if not isinstance(given, str):
        problems.add([name], f"give {_wanted(name, described)}, not {shown(given)}.")
        return None
    if "enum" in described:
        return _read_choice(name, given, described["enum"], problems)
    if not given and described.get("minLength"):
        problems.add([name], f"give {_wanted(name, described)}; it is empty.")
        return None
    return given


def _read_choice(name: str, given: str, choices: list[str], problems: Problems) -> str | None:
    choice = given.strip().lower()
    if name == "unit":
        choice = _UNIT_NAMES.get(choice, choice)
    if choice in choices:
        return choice
    problems.add([name], f"give {listed(choices)}, not {shown(given)}.")
    return None


def _read_whole(name: str, given: Any, described: Mapping[str, Any], problems: Problems) -> int | None:
    whole = _whole(given)
    least = described.get("minimum", -WHOLE_MAX)
    if whole is None:
        problems.add([name], f"give a whole number, not {shown(given)}.")
    elif whole < least:
        leave_out = ", or leave it out for as many as fit" if name == "count" else ""
        problems.add([name], f"give {least} or more{leave_out}, not {shown(given)}.")
    elif whole > WHOLE_MAX:
        problems.add([name], f"give at most {WHOLE_MAX}.")
    else:
        return whole
    return None


def _whole(given: Any) -> int | None:
    match given:
        case bool():
            return None
        case int():
            return given
        case str() if _WHOLE_TEXT.match(given):
            return int(Decimal(given.strip()))
        case float() | exact_json.Number():
            number = Decimal(repr(given))
            # The exponent is looked at first: 1e999999999 is a whole number too, and would fill the memory.
            if number.is_finite() and number.adjusted() < 20 and number == number.to_integral_value():
                return int(number)
    return None


def _read_truth(name: str, given: Any, _described: Mapping[str, Any], problems: Problems) -> bool | None:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in ("true", "false"):
        return given.strip().lower() == "true"
    problems.add([name], f"give true or false, not {shown(given)}.")
    return None


def _read_names(name: str, given: Any, described: Mapping[str, Any], problems: Problems) -> tuple[str, ...] | None:
    """A list of names; one name stands for a list of one, and JSON text of a list for that list."""
    if isinstance(given, str):
        given = _listed_in_text(given)
    if not isinstance(given, list | tuple):
        problems.add([name], f"give {_wanted(name, described)}, not {shown(given)}.")
        return None
    if not given:
        problems.add([name], f"give {_wanted(name, described)}; the list is empty.")
        return None
    wrong = [(place, each) for place, each in enumerate(given) if not isinstance(each, str) or not each]
    for place, each in wrong:
        one = "the name of a blob" if name == "blobs" else "the name of a column"
        problems.add([name, place], f"give {one}, not {shown(each)}.")
    return None if wrong else tuple(dict.fromkeys(given))


def _listed_in_text(given: str) -> list[Any]:
    if given.startswith("["):
        try:
            read = exact_json.loads(given)
        except ValueError:
            return [given]
        if isinstance(read, list) and all(isinstance(each, str) for each in read):
            return read
    return [given]


def _wanted(name: str, described: Mapping[str, Any]) -> str:
    return listed(described["enum"]) if "enum" in described else _WANTED[name]


_READERS: dict[str, Callable[[str, Any, Mapping[str, Any], Problems], Any]] = {
    "string": _read_text,
    "integer": _read_whole,
    "boolean": _read_truth,
    "array": _read_names,
}


def _settle_blobs(values: dict[str, Any], problems: Problems) -> None:
    """`blob` and `blobs` as one list of names, each once."""
    one = values.pop("blob", None)
    names = ([one] if one else []) + list(values.get("blobs", ()))
    if not names and not problems:
        problems.add(["blob"], 'missing. Give the name of a blob, such as "blob1", or several as blobs.')
    values["blobs"] = tuple(dict.fromkeys(names))


def _settle_format(values: dict[str, Any], _limits: Limits, problems: Problems) -> None:
    given = values["save_as"].strip().lower().removeprefix(".")
    try:
        values["save_as"] = _FORMATS.get(given) or parse_media_type(given)
    except CallerError:
        problems.add(["save_as"], f"give {_WANTED['save_as']} such as image/png, not {shown(values['save_as'])}.")
    values["save"] = True


def _settle_path(values: dict[str, Any], _limits: Limits, problems: Problems) -> None:
    """The empty pointer is the whole document, as no pointer is."""
    path = values["path"]
    if not path:
        del values["path"]
    elif not path.startswith("/"):
        problems.add(["path"], f'start a JSON Pointer with "/", such as {shown("/" + path.lstrip("#/$."))}.')
    elif not _POINTER.match(path):
        problems.add(["path"], 'in a JSON Pointer write "~" as "~0" and "/" inside a key as "~1".')


def _check_pattern(values: dict[str, Any], limits: Limits, problems: Problems) -> None:
    _check_size("pattern", values, limits.pattern_bytes_max, "Search for a shorter piece of it.", problems)


def _check_code(values: dict[str, Any], limits: Limits, problems: Problems) -> None:
    if values.get("language") == "python":
        _check_size("code", values, limits.code_bytes_max, "Split the work into several calls.", problems)
    else:
        step = "Join with a blob instead of listing values, or split the work."
        _check_size("code", values, limits.sql_bytes_max, step, problems)


def _check_size(name: str, values: Mapping[str, Any], limit: int, step: str, problems: Problems) -> None:
    size = len(values[name].encode("utf-8", "replace"))
    if size > limit:
        problems.add([name], f"{size} bytes are over the limit of {limit}. {step}")


_SETTLERS: dict[str, Callable[[dict[str, Any], Limits, Problems], None]] = {
    "pattern": _check_pattern,
    "code": _check_code,
    "path": _settle_path,
    "save_as": _settle_format,
}
