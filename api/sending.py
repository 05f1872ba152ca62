"""Bytes out: whole or a range, or the news that the caller has them already (RFC 9110)."""

import re
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from starlette.responses import Response, StreamingResponse

from api.problems import problem
from api.receiving import repr_digest
from blobs.domain.limits import MIB
from blobs.domain.ranges import ItemRange
from blobs.storage.stored_blob import StoredBlob

PIECE_BYTES = 1 * MIB
"""What a thread reads at once; an answer up to this size is read in the same hop that looked the blob up."""

_ALWAYS = (
    # A blob is anybody's bytes: a browser must neither guess what it is nor run it.
    (b"x-content-type-options", b"nosniff"),
    (b"content-disposition", b"attachment"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"accept-ranges", b"bytes"),
)

_RANGE = re.compile(r"bytes\s*=\s*(?:([0-9]{1,100})\s*-\s*([0-9]{0,100})|-\s*([0-9]{1,100}))\s*\Z", re.IGNORECASE)


class UnsatisfiableRangeError(Exception):
    """No byte of the blob is in the range; never leaves this module's callers."""


class Written(Response):
    """An answer with its headers as they are written: to build them anew costs more than to read a small blob."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], content: bytes = b"") -> None:
        self.status_code = status
        self.raw_headers = headers
        self.body = content
        self.background = None


def answer_with(
    blob: StoredBlob, read: Callable[[int, int], bytes], request: Request, *, media_type: str, cache: str
) -> Response:
    """The answer to GET or HEAD of a blob's bytes; `read` gives up to `PIECE_BYTES` of them, once."""
    etag = etag_of(blob)
    given = request.headers
    if "if-match" in given and not _names(given["if-match"], etag, is_weak_enough=False):
        return problem(HTTPStatus.PRECONDITION_FAILED, "precondition_failed", "The blob does not have this ETag.")
    headers = [*_ALWAYS, (b"etag", etag.encode()), (b"cache-control", cache.encode())]
    if "if-none-match" in given and _names(given["if-none-match"], etag, is_weak_enough=True):
        return Written(HTTPStatus.NOT_MODIFIED, headers)
    try:
        wanted = _wanted(request, etag, blob.size)
    except UnsatisfiableRangeError:
        return problem(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "range_not_satisfiable",
            f"The blob has {blob.size} bytes.",
            headers={"Content-Range": f"bytes */{blob.size}", "Accept-Ranges": "bytes"},
        )
    part = wanted or ItemRange(0, blob.size)
    headers += (
        (b"repr-digest", repr_digest(blob.digest).encode()),
        (b"content-length", b"%d" % len(part)),
        (b"content-type", media_type.encode("latin-1")),
    )
    status = HTTPStatus.OK
    if wanted is not None:
        status = HTTPStatus.PARTIAL_CONTENT
        headers.append((b"content-range", b"bytes %d-%d/%d" % (part.start, part.stop - 1, blob.size)))
    if request.method == "HEAD":
        return Written(status, headers)
    if len(part) <= PIECE_BYTES:
        return Written(status, headers, read(part.start, part.stop))
    streamed = StreamingResponse(_pieces(blob, part, request.app.state.byte_threads), status)
    streamed.raw_headers = headers
    return streamed


def etag_of(blob: StoredBlob) -> str:
    """The strong ETag of a blob: its digest."""
    return f'"{blob.digest}"'


def parse_range(text: str, size: int) -> ItemRange | None:
    """The bytes that a `Range` header asks for, or None where it is to be passed over: malformed, or several ranges.

    Raises `UnsatisfiableRangeError` where none of the `size` bytes are in it.
    """
    match = _RANGE.match(text.strip())
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, stop = max(0, size - int(suffix)), size
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= stop:
        raise UnsatisfiableRangeError
    return ItemRange(start, stop)


def _wanted(request: Request, etag: str, size: int) -> ItemRange | None:
    text = request.headers.get("range")
    condition = request.headers.get("if-range")
    if text is None or request.method != "GET" or (condition is not None and condition.strip() != etag):
        return None
    return parse_range(text, size)


def _names(condition: str, etag: str, *, is_weak_enough: bool) -> bool:
    """Whether a list of ETags, or `*`, names this one. Ours has no comma in it, so a list is easily taken apart."""
    names = [each.strip() for each in condition.split(",")]
    return "*" in names or etag in names or (is_weak_enough and f"W/{etag}" in names)


async def _pieces(blob: StoredBlob, part: ItemRange, threads: CapacityLimiter) -> AsyncIterator[bytes]:
    for start in range(part.start, part.stop, PIECE_BYTES):
        yield await to_thread.run_sync(blob.read, start, min(start + PIECE_BYTES, part.stop), limiter=threads)
