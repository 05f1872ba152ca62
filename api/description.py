"""The OpenAPI description: errors that every path can answer, and the raw routes that the framework does not see."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from api.bodies import REFERENCE_SCHEMA, Problem
from api.problems import MEDIA_TYPE

_PROBLEMS = {
    400: "The call can never succeed as it is.",
    401: "No valid key.",
    403: "The key is of a role that may not do this.",
    404: "What is named does not exist, or is another tenant's: the two cannot be told apart.",
    409: "It contradicts what is recorded.",
    413: "Over a limit.",
    415: "The body is of a type that is not taken here.",
    421: "Without keys the server answers requests to localhost only.",
    422: "The request does not have the right shape, or its bytes not the declared digest.",
    429: "All places are taken; Retry-After says when to come again.",
    500: "A fault of the service.",
    503: "Not ready, or the sandbox cannot be had.",
    507: "The store failed.",
}

_PROBLEM_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_ANY_BODY = {"required": False, "content": {"*/*": _BYTES}}


def answers(status: int, model: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route: its own answer, and the problems."""
    own: dict[str, Any] = {"description": "Done."}
    if model is not None:
        own["model"] = model
    return {status: own, **_problems()}


def describe(app: FastAPI) -> None:
    """Let `/openapi.json` tell of the raw routes and the keys too."""
    of_framework = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = of_framework()
            schemas = document["components"]["schemas"]
            schemas["Problem"] = Problem.model_json_schema()
            schemas["Reference"] = REFERENCE_SCHEMA
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            for path, operations in {**_raw_paths(), **_upload_paths()}.items():
                document["paths"].setdefault(path, {}).update(operations)
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}]
        schema: dict[str, Any] = app.openapi_schema or {}
        return schema

    app.openapi = openapi  # type: ignore[method-assign]  # the documented way to extend the description


def _problems() -> dict[int | str, dict[str, Any]]:
    return {status: {"description": said, "content": _PROBLEM_CONTENT} for status, said in _PROBLEMS.items()}


def _raw_paths() -> dict[str, dict[str, Any]]:
    conversation = _in_path("c", "The conversation.")
    name = _in_path("name", "A name of the conversation, such as blob1.")
    digest = _in_path("digest", "sha256: and 64 lower-case hexadecimal digits.")
    handle = {"schema": {"$ref": "#/components/schemas/Handle"}}
    reference = {"schema": {"$ref": "#/components/schemas/Reference"}}
    return {
        "/v1/blobs": {
            "post": _operation(
                "post_blob",
                "blobs",
                "Store the body as a blob, of any size; answers its reference. Durable when answered.",
                {201: _json("Stored.", reference, _stored_headers())},
                parameters=_upload_parameters(),
                body=_ANY_BODY,
            )
        },
        "/v1/blobs/{digest}": _readable("blob", "blobs", "the blob", [digest]),
        "/v1/conversations/{c}/blobs": {
            "post": _operation(
                "post_conversation_blob",
                "conversations",
                "Take in an attachment or input, outside any turn; answers its handle. The body is the content, or, as "
                "application/json and without the query `name`, a reference to a blob.",
                {201: _json("Taken in.", handle, {"Location": _header("Where it is described.")})},
                parameters=[conversation, *_upload_parameters()],
                body={"required": False, "content": {"application/json": reference, "*/*": _BYTES}},
            )
        },
        "/v1/conversations/{c}/blobs/{name}/content": _readable(
            "content", "conversations", "the named blob", [conversation, name]
        ),
    }


def _upload_paths() -> dict[str, dict[str, Any]]:
    identity = _in_path("id", "The upload.")
    version = _in_header("Tus-Resumable", "1.0.0; 412 for another version.")
    told = {
        "Tus-Resumable": _header("1.0.0"),
        "Upload-Offset": _header("The bytes that are there."),
        "Upload-Expires": _header("When it is forgotten unless it is carried on."),
    }
    done = {
        "Content-Location": {**_header("The blob, once the upload is complete."), "required": False},
        "Repr-Digest": {**_header("SHA-256 of the blob (RFC 9530), once the upload is complete."), "required": False},
    }
    length = {**_in_header("Upload-Length", "The bytes of the whole."), "required": True}
    offset = {**_in_header("Upload-Offset", "Where the body goes on; 409 for another place."), "required": True}
    metadata = _in_header("Upload-Metadata", "filename and filetype, each with its value in base64.")
    refused = {412: {"description": "Another version of tus.", "content": _PROBLEM_CONTENT}}
    part = {"required": False, "content": {"application/offset+octet-stream": _BYTES}}
    begun = {"description": "Begun.", "headers": {**told, "Location": _header("The upload.")}}
    added = {"description": "Added; with the last byte the blob is stored.", "headers": {**told, **done}}
    found = {"description": "Its offset.", "headers": {**told, **done, "Upload-Length": _header("The whole.")}}
    gone = {"description": "Forgotten; its blob, if it is complete, stays."}
    return {
        "/v1/uploads": {
            "post": _operation(
                "post_upload",
                "blobs",
                "Begin a resumable upload (tus 1.0).",
                {201: begun, **refused},
                parameters=[version, length, metadata, _in_header("Repr-Digest", "Checked at the end (RFC 9530).")],
            )
        },
        "/v1/uploads/{id}": {
            "head": _operation(
                "head_upload", "blobs", "How far it is.", {200: found, **refused}, parameters=[identity, version]
            ),
            "patch": _operation(
                "patch_upload",
                "blobs",
                "Add the body. What came of one that is cut off is kept.",
                {204: added, **refused},
                parameters=[identity, version, offset],
                body=part,
            ),
            "delete": _operation(
                "delete_upload", "blobs", "Forget it.", {204: gone, **refused}, parameters=[identity, version]
            ),
        },
    }


def _readable(noun: str, tag: str, what: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    conditions = [
        _in_header("Range", "One range of bytes, such as bytes=0-999 or bytes=-500."),
        _in_header("If-Range", "An ETag; the range counts only where it is still that of the blob."),
        _in_header("If-None-Match", "ETags; 304 where one is that of the blob."),
        _in_header("If-Match", "ETags; 412 where none is that of the blob."),
    ]
    headers = {
        "ETag": _header("The digest, quoted."),
        "Accept-Ranges": _header("bytes"),
        "Repr-Digest": _header("SHA-256 of the whole blob (RFC 9530)."),
    }
    whole = {"description": "The bytes.", "headers": headers, "content": {"*/*": _BYTES}}
    part = {
        "description": "The range.",
        "headers": {**headers, "Content-Range": _header("Which bytes these are, of how many.")},
        "content": {"*/*": _BYTES},
    }
    problems: dict[int, dict[str, Any]] = {
        412: {"description": "The blob does not have this ETag.", "content": _PROBLEM_CONTENT},
        416: {"description": "No byte of the blob is in the range.", "content": _PROBLEM_CONTENT},
    }
    unchanged: dict[str, Any] = {"description": "The caller has it."}
    own: dict[int, dict[str, Any]] = {200: whole, 206: part, 304: unchanged, **problems}
    head: dict[int, dict[str, Any]] = {
        200: {"description": "It is there.", "headers": headers},
        304: unchanged,
        **{status: {"description": each["description"]} for status, each in problems.items()},
    }
    return {
        "get": _operation(f"get_{noun}", tag, f"The bytes of {what}.", own, parameters=[*parameters, *conditions]),
        "head": _operation(
            f"head_{noun}", tag, f"Size and ETag of {what}.", head, parameters=[*parameters, *conditions[2:]]
        ),
    }


def _operation(
    name: str,
    tag: str,
    summary: str,
    own: dict[int, dict[str, Any]],
    *,
    parameters: list[dict[str, Any]],
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    answered = {str(status): each for status, each in [*_problems().items(), *own.items()]}
    described = {
        "tags": [tag],
        "summary": name.replace("_", " ").capitalize(),
        "description": summary,
        "operationId": name,
        "parameters": parameters,
        "responses": answered,
    }
    return described if body is None else {**described, "requestBody": body}


def _upload_parameters() -> list[dict[str, Any]]:
    return [
        {
            "name": "name",
            "in": "query",
            "required": False,
            "schema": {"type": "string"},
            "description": "A file name, whose ending declares the type where Content-Type does not.",
        },
        _in_header("Repr-Digest", "sha-256=:base64:, checked before anything is stored (RFC 9530)."),
    ]


def _stored_headers() -> dict[str, Any]:
    return {
        "Location": _header("Where the bytes are."),
        "ETag": _header("The digest, quoted."),
        "Repr-Digest": _header("SHA-256 of the blob (RFC 9530)."),
    }


def _json(description: str, content: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "headers": headers, "content": {"application/json": content}}


def _in_path(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "description": description}


def _in_header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": description}


def _header(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}
