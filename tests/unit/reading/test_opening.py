"""Opening: the best reader that can, and what is said where that is another than was declared."""

import pytest

from blobs.reading.opening import recognise
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource

CUT = b'[{"id": 1, "name": "first"}, {"id": 2, "na'


def opened(content: bytes, declared: str | None) -> tuple[str, tuple[str, ...]]:
    found = recognise(Registry(), BytesSource(content), declared)
    return found.type, found.notes


@pytest.mark.parametrize(
    ("content", "declared", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "text/csv", "text/csv"),
        (b"only words", "application/json", "application/json"),
        (b"a,b\n1,2\n3,4\n", "application/x-ndjson", "application/x-ndjson"),
        (b"\x00\x01\x02 no text \x00", "text/plain", "text/plain"),
    ],
)
def test_a_declaration_that_is_wrong_is_told(content, declared, expected):
    """What the bytes cannot be is not read as that, and the model is told."""
    found, notes = opened(content, declared)
    assert found != declared
    assert notes[0] == f"declared as {expected}, which it is not"


@pytest.mark.parametrize(
    ("content", "declared"),
    [
        (b"a,b\n1,2\n3,4\n", "text/plain"),
        (b"[1,2]", "application/octet-stream"),
        (b"[1,2]", "text/json"),
        (b"words", "application/x-nobody-reads"),
        (b"", "application/json"),
        (b"words", None),
    ],
)
def test_other_declarations_need_no_word(content, declared):
    """A declaration that is kept, a broader one, an alias and none at all leave no note."""
    assert opened(content, declared)[1] == ()


@pytest.mark.parametrize("declared", [None, "application/json", "text/plain"])
def test_a_document_that_is_cut_short_says_so(declared):
    """Cut JSON is read as lines, with the cause; where lines were asked for, they are lines."""
    found, notes = opened(CUT, declared)
    assert found == "text/plain"
    assert notes == (() if declared == "text/plain" else (
        "not readable as application/json: It is not valid JSON: it is cut short.",
    ))  # fmt: skip
