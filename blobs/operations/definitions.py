"""The three tools as data: what is published to models, in plain JSON Schema."""

import copy
from typing import Any

from blobs.domain.limits import KIB, Limits

READ = "blob_read"
SEARCH = "blob_search"
CODE = "blob_code"
TOOL_NAMES = (READ, SEARCH, CODE)

UNITS = ("items", "lines", "chars", "bytes")
LANGUAGES = ("sql", "python")

_BLOB = {"type": "string", "format": "blob", "minLength": 1, "description": 'The name of a blob, such as "blob1".'}
_PART = {
    "type": "string",
    "minLength": 1,
    "description": (
        "One part of a blob that has several, as its preview names them: a sheet, a table, a member of an archive."
    ),
}
_PATH = {
    "type": "string",
    "description": 'JSON Pointer to a place inside a JSON document, such as "/results" or "/results/0/name".',
}
_COLUMNS = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "minItems": 1,
}

_READ = {
    "description": (
        "Read part of a blob from start: lines of a text, rows of a table, entries of a JSON document, pages of a PDF. "
        "The answer gives the items, with start, count and total. It is bounded: where complete is false it is not all "
        "and next holds the arguments of the call that goes on. Leave count out for as many items as fit; with a count "
        "that does not fit, the slice is kept as a blob of its own. To find text use blob_search; to count, filter, "
        "join or sum use blob_code."
    ),
    "properties": {
        "blob": _BLOB,
        "start": {
            "type": "integer",
            "default": 0,
            "description": "The first item to read, counted from 0; negative counts from the end, -10 is the last ten.",
        },
        "count": {"type": "integer", "minimum": 1, "description": "How many items; left out, as many as fit."},
        "part": _PART,
        "path": _PATH,
        "columns": {**_COLUMNS, "description": "Of a table, only these columns, in this order."},
        "unit": {
            "type": "string",
            "enum": list(UNITS),
            "default": "items",
            "description": (
                "What start and count count: items (those of the blob), or lines, chars or bytes of its text. "
                "chars reads an item that is too long for one answer in pieces."
            ),
        },
    },
    "required": ["blob"],
}

_SEARCH = {
    "description": (
        "Find text in a whole blob, item by item. The pattern is literal text unless regex is true. The answer gives "
        "each match with the number of its item, where blob_read can start, how many were found, and how much was "
        "searched. It is bounded: where complete is false, next holds the arguments of the call that goes on."
    ),
    "properties": {
        "blob": _BLOB,
        "pattern": {
            "type": "string",
            "minLength": 1,
            "description": "What to find: literal text, or with regex an RE2 expression, without look-around.",
        },
        "regex": {"type": "boolean", "default": False, "description": "Read pattern as a regular expression."},
        "ignore_case": {"type": "boolean", "default": False, "description": "Let A and a match each other."},
        "start": {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "The first item to search, counted from 0.",
        },
        "limit": {"type": "integer", "minimum": 1, "default": 20, "description": "The most matches to give."},
        "context": {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "How many items before and after each match to give with it.",
        },
        "part": _PART,
        "path": _PATH,
        "columns": {**_COLUMNS, "description": "Of a table, search only these columns."},
    },
    "required": ["blob", "pattern"],
}

_CODE = {
    "description": (
        "Compute over whole blobs, exactly, whatever their size: count, filter, join, sum, convert. SQL: one SELECT "
        "(WITH is allowed) in DuckDB's dialect over tables named as the blobs; sheets, tables of a database and arrays "
        'of objects inside a document are further tables, such as blob1.results or blob1."Sheet 1". {python} The '
        "answer is bounded: where complete is false it is not all; a result that is too large, or any with save, is "
        "kept whole as a blob of its own, and its name is the answer."
    ),
    "properties": {
        "blob": {**_BLOB, "description": 'The name of the blob to use, such as "blob1"; for several give blobs.'},
        "blobs": {
            "type": "array",
            "items": _BLOB,
            "minItems": 1,
            "description": 'The names of all blobs to use, such as ["blob1", "blob2"]; instead of blob.',
        },
        "language": {
            "type": "string",
            "enum": list(LANGUAGES),
            "default": "sql",
            "description": "The language of code.",
        },
        "code": {"type": "string", "minLength": 1},
        "save": {
            "type": "boolean",
            "default": False,
            "description": "Keep the whole result as a blob and answer with its name and preview.",
        },
        "save_as": {
            "type": "string",
            "minLength": 1,
            "description": (
                "The format of the kept result: csv, tsv, json, ndjson, parquet, text, or a media type "
                "such as image/png for bytes; keeps the result also without save."
            ),
        },
    },
    "required": ["code"],
}

_PYTHON = (
    "Python: blob1 is an object with .bytes() .text() .lines() .json() .rows() .arrow() .df() and .path; the value of "
    "the last expression, or of a variable named result, is the answer: tables with their rows, bytes, pictures and "
    "figures as blobs, anything else as JSON; what is printed comes with it. It has no network, no other files or "
    "programs, and these libraries: {libraries}."
)
_SMALL_PYTHON = (
    "Python is a small one here: no pandas, no generators, no inheritance, no del, no files, and of modules only parts "
    "of {libraries}. blob1 is an object with .bytes() .text() .lines() .json() .rows(); the value of the last "
    "expression, or of a variable named result, is the answer: bytes as a blob, anything else as JSON; what is printed "
    "comes with it. For tables prefer SQL."
)
_NO_PYTHON = "Python is not available here: use SQL."


def tool_schema(tool: str) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, as `tool_definitions` publishes it where Python is available."""
    source = {READ: _READ, SEARCH: _SEARCH, CODE: _CODE}[tool]
    return {
        "type": "object",
        "properties": copy.deepcopy(source["properties"]),
        "required": list(source["required"]),
        "additionalProperties": False,
    }


def tool_definitions(
    *, python: str | None, is_small: bool = False, limits: Limits | None = None
) -> list[dict[str, Any]]:
    """The three tools as `{"name", "description", "schema"}`, new objects each time, in a fixed order.

    `python` names the libraries that model-written Python finds ("pandas 3.1, pyarrow 26"); `None` says that this host
    runs no Python: then only SQL is offered. `is_small` says that they are the modules of the smaller Python, which
    runs where there is no cell. `limits` gives the sizes that descriptions state.
    """
    limits = limits or Limits()
    definitions = [
        {"name": READ, "description": str(_READ["description"]), "schema": tool_schema(READ)},
        {"name": SEARCH, "description": str(_SEARCH["description"]), "schema": tool_schema(SEARCH)},
    ]
    template = _SMALL_PYTHON if is_small else _PYTHON
    about_python = _NO_PYTHON if python is None else template.format(libraries=python)
    schema = tool_schema(CODE)
    code, language = schema["properties"]["code"], schema["properties"]["language"]
    code["description"] = f"The SELECT, at most {limits.sql_bytes_max // KIB} KiB"
    if python is None:
        language["enum"] = ["sql"]
        code["description"] += "."
    else:
        code["description"] += f", or the Python program, at most {limits.code_bytes_max // KIB} KiB."
    description = str(_CODE["description"]).replace("{python}", about_python)
    return [*definitions, {"name": CODE, "description": description, "schema": schema}]
