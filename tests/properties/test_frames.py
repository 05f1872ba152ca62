"""What the host takes from a cell: whatever bytes come, it answers with a checked value or refuses them."""

import json
import struct
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from blobs.domain.exact_json import Number
from blobs.running import frames

CAP = 100
HEAD = struct.calcsize("<cI")

kinds = st.sampled_from([b"R", b"S", b"P", b"V", b"F", b"Z", b"\0"])
lengths = st.one_of(st.none(), st.integers(0, 40), st.sampled_from([2**20 + 1, 2**31 - 1, 2**31, 2**32 - 1]))
bodies = st.one_of(st.binary(max_size=60), st.just(b'{"value":1}'))
trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def fed(data: bytes, cuts: list[int]) -> tuple[frames.AnswerReader, bytearray, bool]:
    """A reader after it was given these bytes in these pieces, what it passed on, and whether it refused."""
    passed = bytearray()
    reader = frames.AnswerReader(payload_bytes_max=CAP, payload=passed.extend)
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    try:
        for start, stop in pairwise(places):
            reader.feed(data[start:stop])
    except frames.ProtocolError:
        return reader, passed, True
    return reader, passed, False


@given(st.lists(st.tuples(kinds, lengths, bodies), max_size=8), st.lists(st.integers(0, 500), max_size=6))
def test_any_frames_in_any_pieces_are_bounded(told: list[tuple[bytes, int | None, bytes]], cuts: list[int]) -> None:
    """Lies about kind, order and length: never more payload than allowed, never an exception but the refusal.

    Where the bytes are cut makes no difference.
    """
    begun = struct.pack("<cIcI", b"R", 0, b"S", 0)
    data = begun + b"".join(
        struct.pack("<cI", kind, len(body) if length is None else length) + body for kind, length, body in told
    )
    reader, passed, is_refused = fed(data, cuts)
    assert len(passed) <= CAP
    whole_reader, whole_passed, was_refused = fed(data, [])
    assert (passed, is_refused, reader.last, reader.body) == (
        whole_passed,
        was_refused,
        whole_reader.last,
        whole_reader.body,
    )


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_noise_is_refused_or_waited_for(data: bytes, cuts: list[int]) -> None:
    """Bytes without any order begin no task and pass nothing on."""
    reader, passed, _ = fed(data, cuts)
    assert not passed or data.startswith(struct.pack("<cIcI", b"R", 0, b"S", 0))
    assert reader.has_started is data.startswith(struct.pack("<cIcI", b"R", 0, b"S", 0))


def is_plain(value: Any) -> bool:
    match value:
        case None | bool() | int() | float() | str() | Number():
            return True
        case list():
            return all(map(is_plain, value))
        case dict():
            return all(isinstance(name, str) and is_plain(each) for name, each in value.items())
    return False


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode), trees.map(json.dumps).map(str.encode)))
@example(b'{"value":' + b"[" * 100_000)
@example(b'{"value":' + b"[" * 2_000 + b"]" * 2_000 + b"}")
@example(b'{"value":' + b"9" * 100_000 + b"}")
@example(b'{"value":1e400}')
@example(b'{"value":"\\ud800"}')
@example(b'{"value":"\xff"}')
@example(b'{"value":1}\0')
@example(b'\xef\xbb\xbf{"value":1}')
def test_a_body_is_a_plain_value_or_refused(body: bytes) -> None:
    """Nothing but JSON's own types comes out, whatever goes in."""
    try:
        answer = frames.decode_value(body)
    except frames.ProtocolError:
        return
    assert is_plain(dict(answer))
    assert answer.keys() in ({"value"}, {"status", "fault", "traceback"})


@given(trees)
def test_every_value_passes(value: Any) -> None:
    """What a task answers is what the host reads, for any JSON value without words for numbers."""
    text = json.dumps({"value": value})
    if not any(word in text for word in ("NaN", "Infinity")):
        assert is_plain(frames.decode_value(text.encode())["value"])
