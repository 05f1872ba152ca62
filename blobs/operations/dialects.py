"""The three tools as services and protocols want them: each dialect is what goes into the `tools` field of a request.

Shapes: Anthropic Messages API (`input_schema`), OpenAI Responses API (a flat function; `strict` is given because its
default there is true, which forbids optional arguments), OpenAI Chat Completions (`function` inside), Gemini API
(`functionDeclarations`, whose `parameters` are a subset of OpenAPI 3.0), Model Context Protocol 2025-11-25
(`inputSchema` and `annotations`).
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import CallerError
from blobs.operations.problems import listed, shown

_GEMINI_KEYWORDS = frozenset(
    ("type", "description", "enum", "items", "minItems", "maxItems", "properties", "required", "minimum", "maximum")
)
"""What Gemini's Schema object knows and older versions of it do too; `format` has a closed list there without blob."""

_TITLES = {"blob_read": "Read part of a blob", "blob_search": "Search a blob", "blob_code": "Compute over blobs"}


def in_dialect(definitions: Sequence[Mapping[str, Any]], dialect: str = "plain") -> list[dict[str, Any]]:
    """Definitions of `tool_definitions` in one of `DIALECTS`; raises `CallerError` for another name.

    `plain` is `{"name", "description", "schema"}` itself. What is passed in is not changed.
    """
    if dialect not in _WRITERS:
        raise CallerError(
            f"There is no dialect {shown(dialect)}.", code="unknown_dialect", hint=f"Use {listed(DIALECTS)}."
        )
    return _WRITERS[dialect]([copy.deepcopy(dict(each)) for each in definitions])


def _plain(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return definitions


def _anthropic(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"name": each["name"], "description": each["description"], "input_schema": each["schema"]}
        for each in definitions
    ]


def _openai(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", **_openai_function(each)} for each in definitions]


def _openai_chat(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": _openai_function(each)} for each in definitions]


def _openai_function(definition: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": definition["name"],
        "description": definition["description"],
        "parameters": definition["schema"],
        "strict": False,
    }


def _gemini(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "functionDeclarations": [
                {
                    "name": each["name"],
                    "description": each["description"],
                    "parameters": _gemini_schema(each["schema"]),
                }
                for each in definitions
            ]
        }
    ]


def _gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in the keywords that Gemini accepts; a default, which is none of them, is said in the description."""
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            kept[keyword] = {name: _gemini_schema(each) for name, each in value.items()}
        elif keyword == "items":
            kept[keyword] = _gemini_schema(value)
        elif keyword in _GEMINI_KEYWORDS:
            kept[keyword] = value
    if "default" in schema:
        kept["description"] = f"{schema['description']} Default: {exact_json.text(schema['default'])}."
    return kept


def _mcp(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "name": each["name"],
            "title": _TITLES[each["name"]],
            "description": each["description"],
            "inputSchema": each["schema"],
            "annotations": {
                "title": _TITLES[each["name"]],
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for each in definitions
    ]


_WRITERS: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "plain": _plain,
    "anthropic": _anthropic,
    "openai": _openai,
    "openai-chat": _openai_chat,
    "gemini": _gemini,
    "mcp": _mcp,
}

DIALECTS = tuple(_WRITERS)
"""The names that `in_dialect` takes."""
