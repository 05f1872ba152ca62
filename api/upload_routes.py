"""Resumable uploads, in the protocol tus 1.0 (extensions creation, expiration, termination).

The last answer of an upload, and HEAD from then on, name its blob in `Content-Location` and `Repr-Digest`.
"""

import base64
import binascii
from collections.abc import Iterator
from email.utils import formatdate
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response
from starlette.routing import Route

from api.partial_uploads import PartialUploads, Upload, check_offset
from api.problems import UnsupportedTypeError, problem
from api.receiving import declared_digest, receive_body, repr_digest
from blobs.client import Blobs
from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError
from blobs.domain.media_type import parse_media_type

VERSION = "1.0.0"

_PATCH_TYPE = "application/offset+octet-stream"


async def options(request: Request) -> Response:
    """What of tus there is."""
    blobs: Blobs = request.state.blobs
    headers = {
        "Tus-Version": VERSION,
        "Tus-Extension": "creation,expiration,termination",
        "Tus-Max-Size": str(blobs.service.limits.blob_bytes_max),
    }
    return Response(status_code=204, headers={"Tus-Resumable": VERSION, **headers})


async def post_upload(request: Request) -> Response:
    """Begin an upload of `Upload-Length` bytes."""
    if refusal := _refuse_version(request):
        return refusal
    metadata = _metadata(request.headers.get("upload-metadata", ""))
    begin = partial(
        PartialUploads(request.state.blobs).begin,
        length=_number(request, "upload-length"),
        media_type=parse_media_type(metadata["filetype"]) if metadata.get("filetype") else None,
        name=metadata.get("filename"),
        expected=declared_digest(request),
    )
    upload = await to_thread.run_sync(begin, limiter=request.app.state.byte_threads)
    return _told(upload, 201, {"Location": f"/v1/uploads/{upload.id}"})


async def head_upload(request: Request) -> Response:
    """How far an upload is."""
    if refusal := _refuse_version(request):
        return refusal
    find = PartialUploads(request.state.blobs).find
    upload = await to_thread.run_sync(find, request.path_params["id"], limiter=request.app.state.byte_threads)
    return _told(upload, 200, {"Upload-Length": str(upload.length), "Cache-Control": "no-store"})


async def patch_upload(request: Request) -> Response:
    """Add the body at `Upload-Offset`; what came of a body that is cut off is kept."""
    if refusal := _refuse_version(request):
        return refusal
    if request.headers.get("content-type") != _PATCH_TYPE:
        raise UnsupportedTypeError("Not a part of an upload.", hint=f"Send it with Content-Type: {_PATCH_TYPE}.")
    blobs: Blobs = request.state.blobs
    uploads, identity, offset = PartialUploads(blobs), request.path_params["id"], _number(request, "upload-offset")
    found = await to_thread.run_sync(uploads.find, identity, limiter=request.app.state.byte_threads)
    check_offset(found, offset)
    done: list[Upload] = []

    def put(content: bytes | Iterator[bytes]) -> dict[str, Any]:
        chunks = (content,) if isinstance(content, bytes) else content
        done.append(uploads.append(identity, offset, chunks))
        return {}

    await receive_body(request, put, bytes_max=found.length - offset)
    return _told(done[0], 204, {})


async def delete_upload(request: Request) -> Response:
    """Forget an upload; its blob, if it is complete, stays."""
    if refusal := _refuse_version(request):
        return refusal
    end = PartialUploads(request.state.blobs).end
    await to_thread.run_sync(end, request.path_params["id"], limiter=request.app.state.byte_threads)
    return Response(status_code=204, headers={"Tus-Resumable": VERSION})


ROUTES = [
    Route("/v1/uploads", post_upload, methods=["POST"]),
    Route("/v1/uploads", options, methods=["OPTIONS"]),
    Route("/v1/uploads/{id}", head_upload, methods=["HEAD"]),
    Route("/v1/uploads/{id}", patch_upload, methods=["PATCH"]),
    Route("/v1/uploads/{id}", delete_upload, methods=["DELETE"]),
    Route("/v1/uploads/{id}", options, methods=["OPTIONS"]),
]


def _told(upload: Upload, status: int, headers: dict[str, str]) -> Response:
    told = {
        "Tus-Resumable": VERSION,
        "Upload-Offset": str(upload.offset),
        "Upload-Expires": formatdate(upload.expires_s, usegmt=True),
        **headers,
    }
    if upload.reference is not None:
        digest = Digest.parse(upload.reference["$blob"])
        told |= {"Content-Location": f"/v1/blobs/{digest}", "Repr-Digest": repr_digest(digest)}
    return Response(status_code=status, headers=told)


def _refuse_version(request: Request) -> Response | None:
    """412 for another version of tus; who does not say one is taken to mean ours."""
    if request.headers.get("tus-resumable", VERSION) == VERSION:
        return None
    detail = "This server speaks another version of tus."
    headers = {"Tus-Version": VERSION}
    return problem(412, "unsupported_version", detail, hint=f"Send Tus-Resumable: {VERSION}.", headers=headers)


def _number(request: Request, name: str) -> int:
    text = request.headers.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise CallerError(f"{name.title()}: not a number of bytes.", code="invalid_upload")
    return int(text)


def _metadata(text: str) -> dict[str, str]:
    """`Upload-Metadata`: names and values in base64, such as `filename d29ybGQ=,filetype dGV4dC9jc3Y=`."""
    found = {}
    for pair in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = pair.partition(" ")
        try:
            found[name] = base64.b64decode(value.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise CallerError(f"Upload-Metadata: {name[:40]} is not text in base64.", code="invalid_upload") from None
    return found
