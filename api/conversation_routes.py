"""Conversations, turns, names and tool calls over HTTP."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, Path
from starlette.responses import Response

from api.bodies import (
    BlobAnswer,
    ConversationAnswer,
    ConversationBody,
    DumpAnswer,
    ForkBody,
    HandlesAnswer,
    ResolveAnswer,
    ResolveBody,
    ToolAnswer,
    TurnAnswer,
    TurnBody,
)
from api.description import answers
from api.exact_requests import ExactJson, ExactRoute
from api.front import tenant_blobs
from blobs.client import Blobs, Conversation
from blobs.domain.errors import LimitError, NotFoundError

router = APIRouter(prefix="/v1/conversations", route_class=ExactRoute, tags=["conversations"])

Tenant = Annotated[Blobs, Depends(tenant_blobs)]
Id = Annotated[str, Path(description="The conversation.")]
TurnNumber = Annotated[int, Path(ge=0, le=2**53 - 1)]


@router.post("", status_code=201, responses=answers(201, ConversationAnswer))
def create_conversation(blobs: Tenant, body: ConversationBody | None = None) -> Response:
    """Begin a conversation, or carry one on from its dump. 409 where the id is taken."""
    if body is None:
        return _begun(blobs.create_conversation())
    made = blobs.create_conversation(body.id, carry_on=body.conversation, service=body.service, tools=body.tools)
    return _begun(made)


@router.get("/{c}", responses=answers(200, DumpAnswer))
def dump_conversation(c: Id, blobs: Tenant) -> Response:
    """The conversation as references, to be carried on from here or elsewhere."""
    return ExactJson(blobs.find_conversation(c).dump())


@router.delete("/{c}", status_code=204, responses=answers(204))
def delete_conversation(c: Id, blobs: Tenant) -> Response:
    """Forget the conversation; its blobs stay until they are collected. 404 where it was not there."""
    if not blobs.find_conversation(c).delete():
        raise NotFoundError("There is no such conversation.")
    return Response(status_code=204)


@router.post("/{c}/fork", status_code=201, responses=answers(201, ConversationAnswer))
def fork_conversation(c: Id, blobs: Tenant, body: ForkBody | None = None) -> Response:
    """A copy with its own id: the same names and turns, from then on each its own."""
    return _begun(blobs.find_conversation(c).fork(body.id if body is not None else None))


@router.put("/{c}/turns/{n}", responses=answers(200, TurnAnswer))
def put_turn(c: Id, n: TurnNumber, blobs: Tenant, body: TurnBody) -> Response:
    """Hand in all tool calls of turn `n`; answers what the model reads.

    The same body again gives the same bytes; another body replaces the turn if it is the last, and is 409 otherwise.
    """
    calls_max = blobs.service.limits.calls_max
    if len(body.calls) > calls_max:
        raise LimitError(f"calls: {len(body.calls)} are more than {calls_max}.", hint="Hand in fewer per turn.")
    turn = blobs.find_conversation(c).put_turn(
        n, body.calls, service=body.service, tools=body.tools, record=body.record
    )
    return ExactJson(turn)


@router.delete("/{c}/turns/{n}", status_code=204, responses=answers(204))
def delete_turn(c: Id, n: TurnNumber, blobs: Tenant) -> Response:
    """Roll back turn `n` and all after it. 404 where there is none."""
    if not blobs.find_conversation(c).delete_turn(n):
        raise NotFoundError(f"There is no turn {n} or later.")
    return Response(status_code=204)


@router.get("/{c}/blobs", responses=answers(200, HandlesAnswer))
def list_handles(c: Id, blobs: Tenant) -> Response:
    """The handles of all names, without previews."""
    return ExactJson({"handles": blobs.find_conversation(c).handles()})


@router.get("/{c}/blobs/{name}", responses=answers(200, BlobAnswer))
def describe_blob(c: Id, name: str, blobs: Tenant) -> Response:
    """One handle with its preview, its reference and its profile."""
    return ExactJson(blobs.find_conversation(c).describe(name))


@router.post("/{c}/tools/{tool}", responses=answers(200, ToolAnswer))
def call_tool(c: Id, tool: str, blobs: Tenant, arguments: Annotated[Any, Body()]) -> Response:
    """Run one tool call outside a turn. What the model did wrong is an answer with `ok: false`, for the model."""
    return ExactJson(blobs.find_conversation(c).call(tool, arguments))


@router.post("/{c}/resolve", responses=answers(200, ResolveAnswer))
def resolve(c: Id, blobs: Tenant, body: ResolveBody) -> Response:
    """Arguments with references in place of names wherever the schema marks a blob."""
    return ExactJson(blobs.find_conversation(c).resolve(body.schema_, body.arguments))


def _begun(conversation: Conversation) -> Response:
    answer = {"id": conversation.id, "conversation": conversation.dump()}
    return ExactJson(answer, 201, {"Location": f"/v1/conversations/{quote(conversation.id, safe='')}"})
