"""Binary: every blob opens, with its head and a guess of its kind."""

import pytest

from blobs.domain.media_type import BINARY
from blobs.domain.ranges import ItemRange
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.binary import BinaryReader, kind_of
from tests.material import fixture, truth


class TestBinaryReader(ReaderContract):
    reader = BinaryReader()
    accepts_anything = True
    examples = {
        "random": Example(fixture("random.bin"), BINARY, None),
        "nothing": Example(b"", BINARY, None),
        "a program": Example(fixture("program.elf"), "application/x-elf", None),
    }


def test_head_in_hexadecimal():
    """The first 64 bytes are shown in groups of four, no more."""
    facts = BinaryReader().open(BytesSource(fixture("random.bin"))).facts()
    assert facts["head"].startswith(truth("random.bin")["head"])
    assert bytes.fromhex(facts["head"]) == fixture("random.bin")[:64]
    assert "kind" not in facts


def test_kind_is_guessed_by_signature():
    """A known signature names the kind."""
    facts = BinaryReader().open(BytesSource(fixture("program.elf"))).facts()
    assert facts["kind"] == "ELF program or library"


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\x1f\x8b\x08\x00", "application/gzip"),
        (b"PK\x03\x04", "application/zip"),
        (bytes(257) + b"ustar\x0000", "application/x-tar"),
        (b"\x00\x00\x00\x18ftypheic", "image/heic"),
        (b"hello", BINARY),
        (b"", BINARY),
    ],
)
def test_signatures(head, media_type):
    """The type is that of the signature, at its place, and else unknown."""
    assert kind_of(head)[1] == media_type


def test_nothing_is_told():
    """An empty blob has no items and says that it is empty."""
    view = BinaryReader().open(BytesSource(b""))
    assert (view.unit, view.count, list(view.items(ItemRange(0, 5)))) == (None, None, [])
    assert view.notes == ["empty: 0 bytes"]
