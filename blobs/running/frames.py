"""Frames: how a worker answers. One byte of kind, four of length (little-endian), then that many bytes.

In order: READY once it waits for a job; FAILED if a layer could not be applied; STARTED when all hold and the task
begins; PAYLOAD any number of times; VALUE, a JSON object, at the end. From STARTED on the bytes are a stranger's: the
reader trusts neither lengths nor order nor form, and nothing here can run code.
"""

import os
import struct
from collections.abc import Callable, Mapping
from typing import Any

from blobs.domain import exact_json
from blobs.domain.limits import KIB, MIB

READY, FAILED, STARTED, PAYLOAD, VALUE = b"R", b"F", b"S", b"P", b"V"

VALUE_BYTES_MAX = 4 * MIB
"""A JSON answer: decoding costs the host up to thirty times its size. What is larger is streamed as payload."""
PAYLOAD_BYTES_MAX = 1 * MIB
FAILURE_BYTES_MAX = 8 * KIB
_FAULT_CHARS_MAX = {"code": 64, "message": 16 * KIB, "hint": 4 * KIB}
OUT_OF_MEMORY = "The call needs more memory than it may have."

_HEAD = struct.Struct("<cI")
_LENGTHS = {READY: 0, STARTED: 0, FAILED: FAILURE_BYTES_MAX, PAYLOAD: PAYLOAD_BYTES_MAX, VALUE: VALUE_BYTES_MAX}
_NEXT = {
    b"": {READY, FAILED},
    READY: {STARTED, FAILED},
    STARTED: {PAYLOAD, VALUE},
    PAYLOAD: {PAYLOAD, VALUE},
    VALUE: set(),
    FAILED: set(),
}


class ProtocolError(Exception):
    """The worker's answer breaks the rules; it is not looked at any further. Never leaves this package."""


def write_frame(descriptor: int, kind: bytes, body: bytes | memoryview = b"") -> None:
    """Write one frame whole."""
    for piece in (_HEAD.pack(kind, len(body)), body):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


class AnswerReader:
    """Takes an answer apart as it comes, in any pieces, holding at most one frame.

    `payload` is called with each piece of payload. Raises `ProtocolError` for a wrong kind, order or length, and for
    more payload than `payload_bytes_max`.
    """

    def __init__(self, *, payload_bytes_max: int, payload: Callable[[memoryview], object]) -> None:
        self.last: bytes = b""
        """The kind of the last whole frame."""
        self.body = b""
        """The body of a VALUE or FAILED frame, once it is there."""
        self.has_started = False
        self._left = payload_bytes_max
        self._payload = payload
        self._buffer = bytearray()

    @property
    def is_done(self) -> bool:
        """Whether a last frame is there."""
        return self.last in {VALUE, FAILED}

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._buffer += data
        while not self.is_done and len(self._buffer) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._buffer)
            self._check(kind, length)
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            self._take(kind, end)
            del self._buffer[:end]

    def _check(self, kind: bytes, length: int) -> None:
        if kind not in _NEXT[self.last]:
            raise ProtocolError(f"a frame of kind {kind!r} after {self.last!r}")
        if length > _LENGTHS[kind]:
            raise ProtocolError(f"a frame of kind {kind!r} of {length} bytes")
        if kind == PAYLOAD and length > self._left:
            raise ProtocolError("more payload than it may have")

    def _take(self, kind: bytes, end: int) -> None:
        self.last = kind
        self.has_started = self.has_started or kind == STARTED
        if kind == PAYLOAD:
            self._left -= end - _HEAD.size
            with memoryview(self._buffer) as whole:
                self._payload(whole[_HEAD.size : end])
        elif kind in {VALUE, FAILED}:
            self.body = bytes(self._buffer[_HEAD.size : end])


def encode_value(value: Any) -> bytes:
    """The body of VALUE for a task that answered. Raises `CallerError` where the value is not JSON."""
    return exact_json.dumps({"value": value})


def encode_fault(status: str, *, code: str, message: str, hint: str = "", traceback: str = "") -> bytes:
    """The body of VALUE for a task that raised."""
    fault = {"code": code, "message": message, "hint": hint}
    cut = {name: fault[name][:most] for name, most in _FAULT_CHARS_MAX.items()}
    return exact_json.dumps({"status": status, "fault": cut, "traceback": traceback[-32 * KIB :]})


def decode_value(body: bytes) -> Mapping[str, Any]:
    """Read the body of VALUE: either `value`, or `status`, `fault` and `traceback`, all of the right types.

    Raises `ProtocolError` for anything else, however deep, long or odd.
    """
    try:
        answer = exact_json.loads(body)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise ProtocolError(f"not JSON: {type(error).__name__}") from None
    if not isinstance(answer, dict):
        raise ProtocolError("the answer is no object")
    if answer.keys() == {"value"}:
        return answer
    if answer.keys() == {"status", "fault", "traceback"} and answer["status"] in ("error", "memory"):
        fault = answer["fault"]
        texts = [*fault.values(), *fault.keys(), answer["traceback"]] if isinstance(fault, dict) else [None]
        if all(isinstance(each, str) for each in texts) and fault.keys() == _FAULT_CHARS_MAX.keys():
            if all(len(fault[name]) <= most for name, most in _FAULT_CHARS_MAX.items()):
                return answer
            raise ProtocolError("the answer's fault is too long")
    raise ProtocolError("the answer has the wrong fields")
