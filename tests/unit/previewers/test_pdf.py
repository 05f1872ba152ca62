"""PDF: pages as text, encryption told, scans told."""

import io

import pytest
from pypdf import PdfReader as Pypdf
from pypdf.errors import PyPdfError

from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import PDF
from blobs.domain.ranges import ItemRange
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.pdf import PdfReader, PdfView
from tests.material import fixture


def opened(content: bytes) -> PdfView:
    return PdfReader().open(BytesSource(content))


def pages(view: PdfView) -> list[str]:
    return list(view.items(ItemRange(0, view.count or 0)))


class TestPdfReader(ReaderContract):
    reader = PdfReader()
    examples = {
        "text": Example(fixture("report.pdf"), PDF, 3),
        "encrypted with the empty password": Example(fixture("encrypted-empty-password.pdf"), PDF, 3),
        "scan": Example(fixture("scan.pdf"), PDF, 2),
        "junk in front": Example(b"HTTP/1.1 200 OK\r\n\r\n" + fixture("report.pdf"), PDF, 3),
    }


def test_pages_are_their_text():
    """An item is the text of one page, in order."""
    view = opened(fixture("report.pdf"))
    assert pages(view) == ["Quarterly report\nAll figures in euro", "Invoice 17-B\nTotal 1,204.50", "The end"]
    assert view.facts() == {"pages": 3, "title": "Quarterly report"}
    assert view.notes == []


def test_empty_password_is_tried():
    """A PDF that only limits permissions is read, and the note says how."""
    view = opened(fixture("encrypted-empty-password.pdf"))
    assert pages(view)[1] == "Invoice 17-B\nTotal 1,204.50"
    assert view.notes == ["encrypted, opened with the empty password"]


def test_password_is_asked_for():
    """A PDF that needs a password has no items; the number of its pages is told all the same, and why."""
    view = opened(fixture("encrypted-password.pdf"))
    assert (view.unit, view.count) == (None, None)
    assert view.facts() == {"pages": 3, "encrypted": True}
    assert view.notes == ["encrypted: it needs a password, so that the text of its pages cannot be read"]


def test_scan_is_told():
    """Pages without text are empty items, and a note says that there is none."""
    view = opened(fixture("scan.pdf"))
    assert pages(view) == ["", ""]
    assert view.notes == ["no page has text: probably scanned"]


def test_one_damaged_page_leaves_the_others():
    """A page whose content cannot be read says so in its place."""
    content = fixture("report.pdf").replace(b"/Type /Font", b"/Type 99 0 R", 1)
    damaged = content.replace(b"/Contents 8 0 R", b"/Contents (abc)", 1)
    read = pages(opened(damaged))
    assert len(read) == 3
    assert read[2] == "The end"


def test_no_pages_is_unreadable():
    """A document without pages is no document."""
    with pytest.raises(UnreadableError):
        opened(b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\nstartxref\n9\n%%EOF\n")


def test_table_of_objects_is_made_anew():
    """Where the table of objects points anywhere and pypdf gives up, the objects are found by their own marks."""
    content = fixture("report.pdf")
    table = content.rindex(b"xref\n", 0, content.rindex(b"startxref"))
    damaged = content[:table] + content[table:].replace(b" 00000 n", b" 00000 n what is this")
    with pytest.raises(PyPdfError):
        len(Pypdf(io.BytesIO(damaged), strict=False).pages)
    view = opened(damaged)
    assert pages(view) == pages(opened(content))
    assert view.notes == ["damaged: its table of objects was made anew"]
