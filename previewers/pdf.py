"""PDF: pages, each the text that can be extracted from it."""

import io
import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import PDF
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source, SourceFile
from previewers.parsing import parsing

if TYPE_CHECKING:
    from pypdf import PdfReader as PypdfReader

_MAGIC = b"%PDF-"
_JUNK_BYTES_MAX = 1024
"""Readers of PDF look for its signature in the first KiB: mail and web servers put junk before it."""

_TEXTLESS_PAGES_MAX = 6
_TITLE_CHARS_MAX = 200
_KEPT_CHARS_MAX = 16 * 1024 * 1024
_MENDED_BYTES_MAX = 64 * 1024 * 1024
"""Up to this size a copy is made of a PDF that is damaged, or of an encrypted one to count its pages."""

_OBJECT = re.compile(rb"(?<![0-9])([0-9]{1,7})[ \t\r\n]+([0-9]{1,5})[ \t\r\n]+obj\b")
_ROOT = re.compile(rb"/Root[ \t\r\n]+([0-9]{1,7}[ \t\r\n]+[0-9]{1,5})[ \t\r\n]+R\b")

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WHAT = "PDF"


class PdfReader:
    """PDF documents."""

    name = "pdf"
    media_types = (PDF,)
    aliases = ("application/x-pdf",)

    def sniff(self, sample: Sample) -> Confidence:
        """The signature in front is one; behind some junk it must be borne out by the end of the file."""
        if sample.head.startswith(_MAGIC):
            return Confidence(100, PDF)
        if _MAGIC in sample.head[:_JUNK_BYTES_MAX] and b"startxref" in sample.tail:
            return Confidence(90, PDF)
        return Confidence.NO

    def open(self, source: Source) -> "PdfView | LockedPdfView":
        """The pages, or only how many there are where it needs a password.

        Raises `UnreadableError` where there is no readable page tree.
        """
        try:
            return PdfView(source)
        except _NeedsPasswordError:
            return LockedPdfView(source)


class _NeedsPasswordError(UnreadableError):
    """Its text cannot be had; its page tree as a rule can, for encryption leaves the structure of a PDF in the open."""


class PdfView(BaseView):
    """The pages of a PDF, as text."""

    unit = "pages"

    def __init__(self, source: Source) -> None:
        from pypdf import PasswordType  # heavy: only once a file is opened

        super().__init__()
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every repair; damage is told in notes
        self._texts: dict[int, str] = {}
        self._kept_chars = 0
        with parsing(_WHAT):
            self._file: PypdfReader = self._opened(source)
            if self._file.is_encrypted:
                if self._file.decrypt("") == PasswordType.NOT_DECRYPTED:
                    raise _NeedsPasswordError("The PDF is encrypted and needs a password.")
                self.notes.append("encrypted, opened with the empty password")
            self.count: int | None = len(self._file.pages)
        if not self.count:
            raise UnreadableError("The PDF is damaged or not supported: it has no pages.")
        self._note_missing_text(self.count)

    def _opened(self, source: Source) -> "PypdfReader":
        """The document; one whose table of objects is damaged beyond what pypdf repairs gets a new one."""
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError

        try:
            file = PdfReader(io.BufferedReader(SourceFile(source)), strict=False)
            if not file.is_encrypted:
                _ = len(file.pages)
        except PyPdfError:
            mended = with_new_table(source)
            if mended is None:
                raise
            file = PdfReader(io.BytesIO(mended), strict=False)
            self.notes.append("damaged: its table of objects was made anew")
        return file

    def items(self, span: ItemRange) -> Iterator[str]:
        """The text of each page; where a page cannot be read, its item says so in brackets."""
        for page in range(span.start, min(span.stop, self.count or 0)):
            yield self._text(page)

    def facts(self) -> dict[str, Any]:
        """The number of pages, the title if the document names one, and whether it is encrypted."""
        facts: dict[str, Any] = {"pages": self.count}
        if self._file.is_encrypted:
            facts["encrypted"] = True
        if title := self._title():
            facts["title"] = title
        return facts

    def _title(self) -> str:
        try:
            title = self._file.metadata.title if self._file.metadata else None
            return " ".join(_CONTROLS.sub(" ", str(title or "")).split())[:_TITLE_CHARS_MAX]
        except Exception:  # noqa: BLE001  # a damaged title raises anything, and is no reason to refuse the document
            return ""

    def _note_missing_text(self, count: int) -> None:
        """Say that there is no text: a few pages spread over the document are looked at until one has some."""
        looked_at = sorted(
            {page * (count - 1) // max(1, _TEXTLESS_PAGES_MAX - 1) for page in range(_TEXTLESS_PAGES_MAX)}
        )
        looked_at = [page for page in looked_at if page < count]
        if any(self._text(page).strip() for page in looked_at):
            return
        if len(looked_at) == count:
            self.notes.append("no page has text: probably scanned")
        else:
            numbers = ", ".join(str(page + 1) for page in looked_at)
            self.notes.append(f"no text on pages {numbers}: probably scanned")

    def _text(self, page: int) -> str:
        text = self._texts.get(page)
        if text is None:
            text = self._extract(page)
            if self._kept_chars + len(text) <= _KEPT_CHARS_MAX:
                self._kept_chars += len(text)
                self._texts[page] = text
        return text

    def _extract(self, page: int) -> str:
        try:
            return self._file.pages[page].extract_text()
        except Exception as error:  # noqa: BLE001  # pypdf raises anything over one damaged page; the others can be read
            return f"[the text of page {page + 1} cannot be read: {type(error).__name__}]"


def with_new_table(source: Source) -> bytes | None:
    """The file with a table of the objects that are found in it, or None where they cannot be found.

    Objects packed into streams are not found, nor those of an encrypted file. Of equal numbers the last one counts.
    """
    if source.size > _MENDED_BYTES_MAX:
        return None
    content = source.read(0, source.size)
    places = {int(found[1]): (found.start(1), int(found[2])) for found in _OBJECT.finditer(content)}
    roots = _ROOT.findall(content)
    if not places or not roots or b"/Encrypt" in content:
        return None
    table = b"".join(
        b"%d 1\n%010d %05d n \n" % (number, at, generation) for number, (at, generation) in sorted(places.items())
    )
    trailer = b"trailer\n<< /Size %d /Root %s R >>\nstartxref\n%d\n%%%%EOF\n"
    return content + b"\nxref\n" + table + trailer % (max(places) + 1, roots[-1], len(content) + 1)


class LockedPdfView(BaseView):
    """A PDF that needs a password: no items, but the number of its pages."""

    def __init__(self, source: Source) -> None:
        from pypdf import PdfReader

        super().__init__()
        if source.size > _MENDED_BYTES_MAX:
            raise UnreadableError("The PDF is encrypted and needs a password.")
        unmarked = source.read(0, source.size).replace(b"/Encrypt", b"/Ignored")
        try:
            self._pages = len(PdfReader(io.BytesIO(unmarked), strict=False).pages)
        except Exception as error:  # its page tree is encrypted too; pypdf raises anything over that
            raise UnreadableError("The PDF is encrypted and needs a password.") from error
        self.notes.append("encrypted: it needs a password, so that the text of its pages cannot be read")

    def facts(self) -> dict[str, Any]:
        """The number of pages, and that it is encrypted."""
        return {"pages": self._pages, "encrypted": True}
