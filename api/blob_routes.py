"""Bytes in and out: raw routes, because the framework's own cost more than the work."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response
from starlette.routing import Route

from api.exact_requests import ExactJson
from api.receiving import declared_digest, declared_type, receive_blob, repr_digest
from api.sending import Written, answer_with
from api.small_puts import SmallPuts
from blobs.client import Blobs
from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError
from blobs.domain.limits import KIB
from blobs.domain.media_type import BINARY, JSON
from blobs.domain.reference import Reference
from blobs.storage.room import Room

_OF_A_DIGEST = "private, immutable, max-age=31536000"
"""The bytes of a digest never change."""

_OF_A_NAME = "private, no-cache"
"""A name that was rolled back may come to mean another blob."""

_REFERENCE_BYTES_MAX = 1 * KIB


async def post_blob(request: Request) -> Response:
    """Store the body as a blob; answers its reference."""
    blobs: Blobs = request.state.blobs
    name = _name(request)
    expected = declared_digest(request)
    media_type = declared_type(request)
    put = partial(_put, blobs, media_type=media_type, name=name, expected=expected)
    puts: SmallPuts | None = request.app.state.small_puts
    together = None
    if puts is not None:
        together = partial(_put_together, puts, blobs, media_type=media_type, name=name, expected=expected)
    reference = await receive_blob(request, put, expected=expected, together=together)
    return _created(reference)


async def get_blob(request: Request) -> Response:
    """The bytes of a blob by its digest, whole or a range. Their type is the reference's to know, not the digest's."""
    return await _answered(_by_digest, request)


async def post_conversation_blob(request: Request) -> Response:
    """Take in the body, or the blob that it refers to, under a name of the conversation; answers its handle.

    A JSON body that is nothing but a reference is one, unless the query gives the `name` of a file.
    """
    blobs: Blobs = request.state.blobs
    chat = await to_thread.run_sync(blobs.find_conversation, request.path_params["c"])
    name = _name(request)
    media_type = declared_type(request)
    expected = declared_digest(request)
    may_refer = media_type == JSON and name is None
    put = partial(_put, blobs, media_type=media_type, name=name, expected=expected, may_refer=may_refer)
    reference = await receive_blob(request, put, expected=expected)
    handle = await to_thread.run_sync(chat.attach, reference)
    return ExactJson(handle, 201, {"Location": f"/v1/conversations/{quote(chat.id, safe='')}/blobs/{handle['blob']}"})


async def get_conversation_blob(request: Request) -> Response:
    """The bytes of a named blob, whole or a range."""
    return await _answered(_by_name, request)


def _put(
    blobs: Blobs,
    content: bytes | Iterator[bytes],
    *,
    media_type: str | None,
    name: str | None,
    expected: str | None,
    may_refer: bool = False,
    room: Room | None = None,
) -> dict[str, Any]:
    if may_refer and isinstance(content, bytes):
        reference = _as_reference(content)
        if reference is not None:
            return reference
    return blobs.put(content, type=media_type, name=name, expected=expected, room=room)


def _name(request: Request) -> str | None:
    """The name that the query gives; most have none to take apart."""
    return request.query_params.get("name") if request.scope["query_string"] else None


async def _put_together(
    puts: SmallPuts, blobs: Blobs, content: bytes, *, media_type: str | None, name: str | None, expected: str | None
) -> dict[str, Any]:
    stored = await puts.put(blobs.new_content(content, type=media_type, name=name, expected=expected))
    return stored.reference.to_json()


def _as_reference(content: bytes) -> dict[str, Any] | None:
    """The reference that a body is, or None where it is content of its own."""
    if len(content) > _REFERENCE_BYTES_MAX:
        return None
    try:
        value = exact_json.loads(content)
        Reference.parse(value)
    except (ValueError, CallerError):
        return None
    found: dict[str, Any] = value
    return found


async def _answered(answer: Callable[..., Response], request: Request) -> Response:
    """An answer at once, as most small blobs can be had; else by a thread, which may wait for the disk."""
    try:
        return answer(request, may_wait=False)
    except BlockingIOError:
        work = partial(answer, request, may_wait=True)
        return await to_thread.run_sync(work, limiter=request.app.state.byte_threads)


def _by_digest(request: Request, *, may_wait: bool) -> Response:
    return _answer(request, request.path_params["digest"], BINARY, _OF_A_DIGEST, may_wait=may_wait)


def _by_name(request: Request, *, may_wait: bool) -> Response:
    blobs: Blobs = request.state.blobs
    named = blobs.named(request.path_params["c"], request.path_params["name"])
    return _answer(request, named["$blob"], named["type"], _OF_A_NAME, may_wait=may_wait)


def _answer(request: Request, digest: str, media_type: str, cache: str, *, may_wait: bool) -> Response:
    blobs: Blobs = request.state.blobs
    blob = blobs.blob(digest) if may_wait else blobs.blob_at_once(digest)
    read = blob.read if may_wait else blob.read_at_once
    return answer_with(blob, read, request, media_type=media_type, cache=cache)


def _created(reference: dict[str, Any]) -> Response:
    digest = Digest.parse(reference["$blob"])
    body = exact_json.dumps(reference)
    headers = [
        (b"location", f"/v1/blobs/{digest}".encode()),
        (b"etag", f'"{digest}"'.encode()),
        (b"repr-digest", repr_digest(digest).encode()),
        (b"content-length", b"%d" % len(body)),
        (b"content-type", ExactJson.media_type.encode()),
    ]
    return Written(201, headers, body)


ROUTES = [
    Route("/v1/blobs", post_blob, methods=["POST"]),
    Route("/v1/blobs/{digest}", get_blob, methods=["GET"]),
    Route("/v1/conversations/{c}/blobs", post_conversation_blob, methods=["POST"]),
    Route("/v1/conversations/{c}/blobs/{name}/content", get_conversation_blob, methods=["GET"]),
]
"""GET routes answer HEAD too."""

AT_ONCE: dict[Any, Callable[..., Response]] = {get_blob: _by_digest, get_conversation_blob: _by_name}
"""What answers a request to a route with `may_wait=False`; `BlockingIOError` where it has to go the whole way."""
