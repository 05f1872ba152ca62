"""What requests and answers look like: checked where it comes in, published in /openapi.json.

What a tool answered is `Any` here and is passed on untouched: no model of the edge may change a digit of it.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from blobs.conversations.turn import KINDS

REFERENCE_SCHEMA = {
    "type": "object",
    "description": "A blob inside JSON, between programs.",
    "properties": {
        "$blob": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "size": {"type": "integer", "minimum": 0},
        "type": {"type": "string"},
    },
    "required": ["$blob", "size", "type"],
    "additionalProperties": False,
}

_ANYTHING: dict[str, Any] = {
    "result": {"description": "Any JSON value: what the tool answered."},
    "tool_result": {
        "type": "object",
        "description": "A tool result: ok, message, data.",
        "properties": {"ok": {"type": "boolean"}, "message": {"type": "string"}, "data": {}},
        "required": ["ok"],
        "additionalProperties": False,
    },
    "mcp_result": {"type": "object", "description": "A CallToolResult of the Model Context Protocol."},
    "error": {"type": "string", "description": "The tool failed; this is its message."},
    "denied": {"type": "string", "description": "The call was not allowed; this is why."},
    "reference": REFERENCE_SCHEMA,
    "arguments": {"description": "The arguments of blob_read, blob_search or blob_code, which the service runs."},
}

CALL_SCHEMA = {
    "type": "object",
    "description": "One tool call: its id and tool, and exactly one of what it can bring.",
    "properties": {
        "id": {"type": "string"},
        "tool": {"type": ["string", "null"]},
        "inline_bytes_max": {"type": ["integer", "null"], "minimum": 0},
        **_ANYTHING,
    },
    "oneOf": [{"required": [kind]} for kind in KINDS],
    "additionalProperties": False,
}

DUMP_SCHEMA = {
    "type": "object",
    "description": "A conversation as references, to be carried on from.",
    "properties": {
        "blobs": {
            "type": "object",
            "propertyNames": {"pattern": "^blob[1-9][0-9]{0,8}$"},
            "additionalProperties": REFERENCE_SCHEMA,
        },
        "turns": {"type": "array", "items": REFERENCE_SCHEMA},
    },
    "required": ["blobs", "turns"],
    "additionalProperties": False,
}


def _name_of(tool: Any) -> Any:
    """A tool's name, also where the whole tool was given."""
    return tool["name"] if isinstance(tool, dict) and isinstance(tool.get("name"), str) else tool


ConversationId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$",
        description="Letters, digits and ._:@+~-, at most 200; it is part of a path.",
    ),
]
ToolName = Annotated[
    str,
    BeforeValidator(_name_of),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            ]
        }
    ),
]
Call = Annotated[Any, WithJsonSchema(CALL_SCHEMA)]
Dump = Annotated[dict[str, Any], WithJsonSchema(DUMP_SCHEMA)]
Reference = Annotated[dict[str, Any], WithJsonSchema(REFERENCE_SCHEMA)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ConversationBody(_Body):
    """A conversation to begin, or to carry on from the dump of another."""

    id: ConversationId | None = None
    conversation: Dump | None = None
    service: str | None = Field(None, description="The model service, for what is sent whole.")
    tools: list[ToolName] | None = Field(None, description="Names of the tools that the model has.")


class ForkBody(_Body):
    """The id that a copy is to have."""

    id: ConversationId | None = None


class TurnBody(_Body):
    """All tool calls of one turn, in call order."""

    calls: list[Call]
    service: str | None = Field(None, description="The model service, where it is not the conversation's.")
    tools: list[ToolName] | None = Field(None, description="Names of the tools that the model has this turn.")
    record: Any = Field(None, description="The caller's own account of the turn, kept as a blob.")


class ResolveBody(_Body):
    """A schema that marks blobs, and arguments that name some."""

    schema_: Any = Field(alias="schema", description="JSON Schema of type object, or the short shape.")
    arguments: Any


class CheckBody(_Body):
    """Tools as a runtime is going to offer them."""

    tools: list[Any] = Field(
        description="Each {name, schema?, listed?}.", json_schema_extra={"items": {"type": "object"}}
    )
    reserved: list[str] = Field(default=[], description="More names to keep free.")


# Answers, for the description only: they are written as they are, never through these models.


class Handle(BaseModel):
    """What a model sees of a blob."""

    model_config = ConfigDict(extra="allow")

    blob: str
    type: str
    size: int
    items: int | None = None
    cost: int
    preview: dict[str, Any] | None = None


class Result(BaseModel):
    """What the model reads of one call: `text` is exactly that, `content` the same as JSON."""

    id: str
    content: Any
    text: str
    is_error: bool
    whole: list[Any] | None = Field(None, description="Content blocks of the service, to be sent beside the text.")


class TurnAnswer(BaseModel):
    """A committed turn."""

    turn: int
    results: list[Result]
    handles: list[Handle]


class ConversationAnswer(BaseModel):
    """A conversation that was begun: its id, and its dump."""

    id: str
    conversation: Dump


class DumpAnswer(BaseModel):
    """A conversation as references."""

    blobs: dict[str, Reference]
    turns: list[Reference]


class HandlesAnswer(BaseModel):
    """The handles of a conversation, without previews."""

    handles: list[Handle]


class BlobAnswer(Handle):
    """One handle with its preview, its reference and its profile."""

    reference: Reference
    profile: dict[str, Any]


class ToolAnswer(BaseModel):
    """A tool's answer; a message beside `ok: false` is an instruction to the model."""

    ok: bool
    message: str | None = None
    data: Any = None


class ResolveAnswer(BaseModel):
    """Arguments with references in place of names, or all problems in one message."""

    ok: bool
    message: str | None = None
    arguments: Any = None


class CheckAnswer(BaseModel):
    """What is wrong with a list of tools."""

    ok: bool
    problems: list[str]


class ToolsAnswer(BaseModel):
    """The three tools, as they go into the `tools` field of a request in the dialect asked for."""

    tools: list[dict[str, Any]]


class ReadersAnswer(BaseModel):
    """Every reader, and those set aside with their problem."""

    readers: list[dict[str, Any]]


class CollectAnswer(BaseModel):
    """Blobs that were removed, or would be, and their size; how many keys had their bytes freed."""

    blobs: int
    bytes: int
    freed: int
    dry_run: bool


class Health(BaseModel):
    """The process answers."""

    status: str


class Readiness(BaseModel):
    """The service can work; `sandbox` is the tier of its cells, `reasons` why it is not a stronger one.

    `python` is what runs a model's Python: `cell`, `portable` (a smaller one without libraries) or `refused`.
    """

    status: str
    sandbox: str
    reasons: list[str]
    python: str


class Problem(BaseModel):
    """An RFC 9457 problem document: `code` is for programs, `hint` is the next step."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
