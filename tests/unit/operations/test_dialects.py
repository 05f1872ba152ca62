"""The tools in the dialects of services and protocols."""

import copy

import jsonschema_rs
import pytest

from blobs.domain.errors import CallerError
from blobs.operations.dialects import DIALECTS, in_dialect
from blobs.operations.tools import tool_definitions

_JSON_SCHEMA = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
_TEXT = {"type": "string", "minLength": 1}
_FUNCTION = {"name": _TEXT, "description": _TEXT, "parameters": _JSON_SCHEMA, "strict": {"const": False}}


def _closed(properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_GEMINI_SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"enum": ["string", "number", "integer", "boolean", "array", "object"]},
        "description": _TEXT,
        "enum": {"type": "array", "items": {"type": "string"}},
        "items": {"$ref": "#/$defs/schema"},
        "properties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/schema"}},
        "required": {"type": "array", "items": {"type": "string"}},
        "minimum": {"type": "number"},
        "maximum": {"type": "number"},
        "minItems": {"type": "integer"},
        "maxItems": {"type": "integer"},
    },
    "required": ["type"],
    "additionalProperties": False,
}

_SHAPES = {
    "plain": _closed({"name": _TEXT, "description": _TEXT, "schema": _JSON_SCHEMA}),
    "anthropic": _closed({"name": _TEXT, "description": _TEXT, "input_schema": _JSON_SCHEMA}),
    "openai": _closed({"type": {"const": "function"}, **_FUNCTION}),
    "openai-chat": _closed({"type": {"const": "function"}, "function": _closed(_FUNCTION)}),
    "gemini": _closed(
        {
            "functionDeclarations": {
                "type": "array",
                "minItems": 3,
                "items": _closed({"name": _TEXT, "description": _TEXT, "parameters": {"$ref": "#/$defs/schema"}}),
            }
        }
    ),
    "mcp": _closed(
        {
            "name": _TEXT,
            "title": _TEXT,
            "description": _TEXT,
            "inputSchema": _JSON_SCHEMA,
            "annotations": _closed(
                {
                    "title": _TEXT,
                    "readOnlyHint": {"const": True},
                    "destructiveHint": {"const": False},
                    "idempotentHint": {"const": True},
                    "openWorldHint": {"const": False},
                }
            ),
        }
    ),
}


def test_every_dialect_has_a_shape_here():
    """A dialect that is added is checked too."""
    assert set(DIALECTS) == set(_SHAPES)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("python", [None, "pandas 3.1"])
def test_each_dialect_has_the_documented_shape(dialect, python):
    """Field names, constants and nesting are those of the service's reference."""
    tools = in_dialect(tool_definitions(python=python), dialect)
    shape = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"schema": _GEMINI_SCHEMA}}
    jsonschema_rs.validate({**shape, "type": "array", "minItems": 1, "items": _SHAPES[dialect]}, tools)


def test_no_dialect_combines_schemas_at_the_top():
    """Services refuse anyOf, oneOf and allOf at the top of a tool's parameters."""
    for definition in tool_definitions(python="pandas"):
        assert not {"anyOf", "oneOf", "allOf"} & set(definition["schema"])


def test_gemini_is_told_defaults_in_words():
    """A default, which Gemini's schemas do not carry, is said in the description."""
    (tool,) = in_dialect(tool_definitions(python=None), "gemini")
    limit = tool["functionDeclarations"][1]["parameters"]["properties"]["limit"]
    assert limit == {"type": "integer", "minimum": 1, "description": "The most matches to give. Default: 20."}


def test_definitions_are_not_changed():
    """Saying them in a dialect leaves them as they are, also when the result is changed."""
    definitions = tool_definitions(python=None)
    before = copy.deepcopy(definitions)
    for dialect in DIALECTS:
        in_dialect(definitions, dialect)[0].clear()
    in_dialect(definitions, "anthropic")[0]["input_schema"]["properties"].clear()
    assert definitions == before


def test_an_unknown_dialect_is_refused_with_those_there_are():
    """The message lists the dialects."""
    with pytest.raises(CallerError) as caught:
        in_dialect(tool_definitions(python=None), "cohere")
    assert str(caught.value) == (
        'There is no dialect "cohere". Use plain, anthropic, openai, openai-chat, gemini or mcp.'
    )
