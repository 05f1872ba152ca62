"""Bytes in: from an asynchronous body to a thread that hashes and writes them, in constant memory.

A hop to a thread for every chunk costs a third of the throughput, so chunks travel in batches, and while the thread
works on one the next is collected.
"""

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial

import anyio
from anyio import from_thread, to_thread
from fastapi import Request

from api.exact_requests import body_chunks, check_length, cut_off, too_large
from api.problems import UnsupportedTypeError
from blobs.client import Blobs
from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, BusyError, CallerError
from blobs.domain.limits import MIB
from blobs.domain.media_type import BINARY
from blobs.storage.content import PACKED_BYTES_MAX

BATCH_BYTES = 1 * MIB
"""What goes to the thread at once; a body up to this size goes there whole."""

UPLOADS_MAX = 256
"""Large bodies taken in at once: each holds a thread and two batches."""

BYTE_THREADS = 32
"""Threads that bytes have for themselves, so that they need not wait for turns and tool calls."""

Put = Callable[..., dict[str, object]]
"""Takes bytes or an iterator of bytes."""

_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):\s*(?:;[^,]*)?(?=,|\Z)")


Together = Callable[[bytes], Awaitable[dict[str, object]]]
"""Takes a small body as `put` would, without a thread of its own."""


async def receive_body(
    request: Request, put: Put, *, bytes_max: int, together: Together | None = None
) -> dict[str, object]:
    """Give the body to `put`, in a thread, and answer what it answers; a small one to `together`, where that is given.

    Raises `LimitError` before reading where the declared length is over `bytes_max`, `CallerError` where the body is
    cut off, `BusyError` where too many large bodies come in at once; `put` has raised then too and stored nothing.
    """
    body = _Body(request, check_length(request, bytes_max=bytes_max), bytes_max)
    first = await body.batch()
    if body.is_complete:
        content = first[0] if len(first) == 1 else b"".join(first)
        if together is not None and len(content) <= PACKED_BYTES_MAX:
            return await together(content)
        return await to_thread.run_sync(put, content, limiter=request.app.state.byte_threads)
    places: anyio.CapacityLimiter = request.app.state.upload_places
    try:
        places.acquire_on_behalf_of_nowait(body)
    except anyio.WouldBlock:
        raise BusyError("Too many large uploads at once.", hint="Try again in a second.") from None
    try:
        return await _Pipe(first, body).run(put)
    finally:
        places.release_on_behalf_of(body)


async def receive_blob(
    request: Request, put: Put, *, expected: str | None, together: Together | None = None
) -> dict[str, object]:
    """As `receive_body`, for a body that becomes a blob of the tenant's: `put` takes the `room` that is held for it.

    Raises `LimitError` before reading where the declared length is more than the tenant has room for.
    """
    blobs: Blobs = request.state.blobs
    limits = blobs.service.limits
    length = check_length(request, bytes_max=limits.blob_bytes_max)
    if limits.tenant_bytes_max is None:
        return await receive_body(request, put, bytes_max=limits.blob_bytes_max, together=together)
    threads = request.app.state.byte_threads
    room = await to_thread.run_sync(partial(blobs.room, length, expected=expected), limiter=threads)
    try:
        return await receive_body(request, partial(put, room=room), bytes_max=limits.blob_bytes_max)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(room.release, limiter=threads)


class _Body:
    """A request body in batches."""

    def __init__(self, request: Request, length: int | None, bytes_max: int) -> None:
        self.is_complete = False
        self._stream = body_chunks(request)
        self._length = length
        self._bytes_max = bytes_max
        self._size = 0
        self._is_cut_off = False

    async def batch(self) -> list[bytes]:
        """The next chunks, `BATCH_BYTES` or a little more of them; fewer at the end, or before the body is cut off."""
        if self._is_cut_off:
            raise cut_off()
        chunks: list[bytes] = []
        size = 0
        while size < BATCH_BYTES:
            chunk = await self._chunk(is_first=not chunks)
            if not chunk:
                self.is_complete = not self._is_cut_off
                break
            chunks.append(chunk)
            size += len(chunk)
        self._size += size
        if self._size > self._bytes_max:
            raise too_large(self._bytes_max)
        if self.is_complete and self._length is not None and self._size != self._length:
            raise cut_off()
        return chunks

    async def _chunk(self, *, is_first: bool) -> bytes:
        """The next chunk, empty at the end; a body that is cut off first gives up what came before that."""
        try:
            return await anext(self._stream, b"")
        except CallerError:
            if is_first:
                raise
            self._is_cut_off = True
            return b""


class _Pipe:
    """Large bodies: the event loop collects a batch while a thread works on the one before."""

    def __init__(self, first: list[bytes], body: _Body) -> None:
        self._first = first
        self._body = body
        self._sender, self._receiver = anyio.create_memory_object_stream[list[bytes]](0)
        self._fault: BlobsError | None = None

    async def run(self, put: Put) -> dict[str, object]:
        """Run `put` over the chunks, in a thread of its own."""
        done: dict[str, object] = {}
        async with anyio.create_task_group() as group:
            group.start_soon(self._feed)
            try:
                done = await to_thread.run_sync(put, self._chunks(), limiter=anyio.CapacityLimiter(1))
            except BlobsError as fault:
                self._fault = fault
            finally:
                self._receiver.close()
                group.cancel_scope.cancel()
        if self._fault is not None:
            raise self._fault
        return done

    async def _feed(self) -> None:
        async with self._sender:
            try:
                while not self._body.is_complete:
                    await self._sender.send(await self._body.batch())
            except BlobsError as fault:
                self._fault = fault
            except anyio.BrokenResourceError:
                return  # `put` gave up, and what it raised is the answer

    def _chunks(self) -> Iterator[bytes]:
        """The chunks as `put` takes them; raises the fault of the body, so that nothing of it is stored."""
        yield from self._first
        self._first.clear()
        with suppress(anyio.EndOfStream):
            while True:
                yield from from_thread.run(self._receiver.receive)
        if self._fault is not None:
            raise self._fault


def declared_type(request: Request) -> str | None:
    """The media type that the body is declared to have, None where it says nothing.

    What every client sends by default, and a form's encoding, which `curl --data-binary` claims, say nothing.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise UnsupportedTypeError(
            "The body has a Content-Encoding.", hint="Send the bytes as they are to be kept, without an encoding."
        )
    bare = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if bare == "multipart/form-data":
        raise UnsupportedTypeError("A form is not taken.", hint="Send the bytes themselves as the body.")
    return None if bare in ("", BINARY, "application/x-www-form-urlencoded") else bare


def declared_digest(request: Request) -> str | None:
    """The digest that `Repr-Digest` declares (RFC 9530); other algorithms are passed over, as it says."""
    text = request.headers.get("repr-digest")
    if text is None or "sha-256=" not in text:
        return None
    match = _SHA256.search(text)
    try:
        raw = base64.b64decode(match.group(1), validate=True) if match else b""
    except binascii.Error:
        raw = b""
    if len(raw) != 32:
        raise CallerError(
            "Repr-Digest: not a SHA-256.", code="invalid_digest", hint="Write sha-256=: the 32 bytes in base64 and :."
        )
    return str(Digest.from_bytes(raw))


def repr_digest(digest: Digest) -> str:
    """The value of `Repr-Digest` for a blob."""
    return f"sha-256=:{base64.b64encode(digest.to_bytes()).decode()}:"
