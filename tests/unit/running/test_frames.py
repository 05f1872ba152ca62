"""Frames of a worker's answer, as the host takes them apart."""

import struct

import pytest

from blobs.running import frames


def frame(kind: bytes, body: bytes = b"", *, length: int | None = None) -> bytes:
    return struct.pack("<cI", kind, len(body) if length is None else length) + body


def read(data: bytes, *, most: int = 1000, step: int = 0) -> tuple[frames.AnswerReader, bytes]:
    taken = bytearray()
    reader = frames.AnswerReader(payload_bytes_max=most, payload=taken.extend)
    for start in range(0, len(data), step or len(data) or 1):
        reader.feed(data[start : start + (step or len(data))])
    return reader, bytes(taken)


BEGUN = frame(b"R") + frame(b"S")


@pytest.mark.parametrize("step", [0, 1, 3, 7])
def test_an_answer_is_read_in_any_pieces(step):
    """Where the pipe cuts the bytes makes no difference."""
    data = BEGUN + frame(b"P", b"abc") + frame(b"P", b"de") + frame(b"V", b'{"value":1}')
    reader, taken = read(data, step=step)
    assert reader.is_done
    assert taken == b"abcde"
    assert frames.decode_value(reader.body) == {"value": 1}


@pytest.mark.parametrize(
    "data",
    [
        frame(b"V", b"{}"),
        frame(b"S"),
        frame(b"R") + frame(b"P", b"x"),
        BEGUN + frame(b"S"),
        BEGUN + frame(b"R"),
        BEGUN + frame(b"F", b"no"),
        BEGUN + frame(b"?"),
        frame(b"R", b"x"),
        BEGUN + frame(b"V", length=frames.VALUE_BYTES_MAX + 1),
        BEGUN + frame(b"P", length=frames.PAYLOAD_BYTES_MAX + 1),
        BEGUN + frame(b"P", length=0xFFFFFFFF),
        frame(b"F", length=frames.FAILURE_BYTES_MAX + 1),
    ],
)
def test_wrong_kinds_orders_and_lengths_are_refused(data):
    """A breach is found in the head of the frame, before a byte of its body is kept."""
    with pytest.raises(frames.ProtocolError):
        read(data, most=1 << 40)


def test_payload_in_all_is_bounded():
    """It may be as long as the result may, in any number of frames, and not a byte longer."""
    pieces = frame(b"P", b"x" * 600) + frame(b"P", b"x" * 400)
    assert read(BEGUN + pieces + frame(b"V", b'{"value":1}'), most=1000)[0].is_done
    with pytest.raises(frames.ProtocolError, match="more payload than it may have"):
        read(BEGUN + pieces + frame(b"P", b"x"), most=1000)


def test_bytes_after_the_last_frame_are_not_read():
    """An answer ends once."""
    reader, _ = read(BEGUN + frame(b"V", b'{"value":1}') + frame(b"V", b'{"value":2}'))
    assert frames.decode_value(reader.body) == {"value": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"value":1,"more":2}',
        b'{"status":"ok","fault":{},"traceback":""}',
        b'{"status":"error","fault":{"code":"a","message":"b"},"traceback":""}',
        b'{"status":"error","fault":{"code":"a","message":1,"hint":""},"traceback":""}',
        b'{"status":"error","fault":[],"traceback":""}',
        b'{"status":["error"],"fault":{"code":"a","message":"b","hint":""},"traceback":""}',
        b"\x80\x04\x95pickle",
        b'{"value":' + b"[" * 900_000,
        b'{"value":' + b"[" * 900_000 + b"]" * 900_000 + b"}",
        b'{"value":"\xff"}',
    ],
)
def test_a_body_of_another_form_is_refused(body):
    """Depth, types, missing and surplus fields: none of it gets past the door."""
    with pytest.raises(frames.ProtocolError):
        frames.decode_value(body)


def test_a_number_of_any_length_is_read():
    """Digits are kept as text beyond what the interpreter converts."""
    assert len(repr(frames.decode_value(b'{"value":' + b"9" * 1_000_000 + b"}")["value"])) == 1_000_000
