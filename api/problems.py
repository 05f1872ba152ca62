"""Errors as RFC 9457 problem documents. Status, code and hint are the error's own; nothing is decided here twice."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, BusyError, CallerError

MEDIA_TYPE = "application/problem+json"

RETRY_AFTER_S = 1
"""What a caller is told to wait where the same call may succeed later; cells are taken for seconds at most."""

_log = logging.getLogger("blobs.api")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_FAULTS_SHOWN_MAX = 5
_FRAMEWORK_CODES = {
    404: ("not_found", "See /docs for the paths that there are."),
    405: ("method_not_allowed", "The Allow header says which methods this path takes."),
}


class UnsupportedTypeError(CallerError):
    """The body is of a type that this path does not take."""

    status = 415
    code = "unsupported_type"


def problem(
    status: int, code: str, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """A problem document; its `type` is `about:blank`, because `code` is what programs compare."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
    return Response(exact_json.dumps(document), status, dict(headers or {}), MEDIA_TYPE)


def problem_of(error: BlobsError) -> Response:
    """The problem document of one of our own errors."""
    seconds = error.retry_s if isinstance(error, BusyError) else RETRY_AFTER_S
    headers = {"Retry-After": str(seconds)} if error.is_retryable else {}
    return problem(error.status, error.code, error.message, hint=error.hint, headers=headers)


def answer_errors(app: FastAPI) -> None:
    """Let the application answer every error, the framework's too, with a problem document."""
    app.add_exception_handler(BlobsError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_framework)


def told(request: Request, error: BlobsError) -> Response:
    """The problem document of an error that ended a request; logged where it is the service's fault."""
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("%s %s: %s", request.method, request.url.path, error, exc_info=error)
    return problem_of(error)


async def _ours(request: Request, error: Exception) -> Response:
    if not isinstance(error, BlobsError):
        raise error
    return told(request, error)


async def _invalid(request: Request, error: Exception) -> Response:
    del request
    faults = error.errors() if isinstance(error, RequestValidationError) else []
    said = [f"{_place(each['loc'])}: {each['msg']}." for each in faults[:_FAULTS_SHOWN_MAX]]
    if len(faults) > _FAULTS_SHOWN_MAX:
        said.append(f"{len(faults) - _FAULTS_SHOWN_MAX} more.")
    hint = "See /docs for the shape of this request."
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", " ".join(said)[:2000], hint=hint)


def _place(location: Any) -> str:
    """`body.calls.0.id` from a location as pydantic gives it."""
    return ".".join(str(each)[:80] for each in location)


async def _of_framework(request: Request, error: Exception) -> Response:
    if isinstance(error.__cause__, BlobsError):
        return await _ours(request, error.__cause__)  # raised while a body was read; the framework wraps those
    if not isinstance(error, HTTPException):
        raise error
    code, hint = _FRAMEWORK_CODES.get(error.status_code, ("invalid_call", ""))
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed(request))
    details = {404: "There is nothing at this path.", 405: f"{request.method[:20]} is not possible here."}
    detail = details.get(error.status_code, str(error.detail))
    return problem(error.status_code, code, detail, hint=hint, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Every method that some route takes at this path; the framework names those of the first route only."""
    routes = request.app.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
