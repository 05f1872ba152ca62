"""Email: the lines of its text, its headers, and its attachments as parts."""

import email
import email.policy
import re
from email.message import EmailMessage, Message
from functools import partial
from typing import Any

from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.limits import MIB
from blobs.domain.ranges import ItemRange
from blobs.reading.decoding import UTF8
from blobs.reading.inside import InsideReader
from blobs.reading.reader import Confidence, Part, Sample, View
from blobs.reading.source import BytesSource, Source
from previewers.html import HtmlView
from previewers.json_sniff import utf8_head
from previewers.parsing import parsing
from previewers.structured_text import PARTS_MAX
from previewers.text import TextView

EMAIL = "message/rfc822"
BYTES_MAX = 16 * MIB
"""Larger messages are read as lines: parsing takes a second for so much."""
_HEADER = re.compile(r"([!-9;-~]+):[ \t]?(.*)")
_KNOWN = frozenset(
    (
        "from", "to", "cc", "bcc", "subject", "date", "message-id", "received", "return-path", "reply-to", "sender",
        "delivered-to", "mime-version", "content-type", "content-transfer-encoding", "in-reply-to", "references",
        "dkim-signature", "list-id", "x-mailer", "user-agent",
    )
)  # fmt: skip
_TOLD = ("From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To")
_TOLD_CHARS_MAX = 200
_KNOWN_MIN = 3
_HEADERS_MAX = 500
_NEXT_MESSAGE = re.compile(rb"\r?\n\r?\nFrom [^\s]+ .*\r?\n[!-9;-~]+:")
"""Where a mailbox file (RFC 4155) goes on with its next message."""


class EmailView(TextView):
    """The lines of a message's text, decoded; where it has none but HTML, the lines of that.

    `shape` tells the main headers. Parts are `headers` (all of them, decoded, a line each), `html` where there is text
    and HTML, and the attachments by their file names, each as what it is.
    """

    def __init__(self, source: Source, reader: InsideReader) -> None:
        self._message = _parsed(source)
        body = self._message.get_body(("plain", "html"))
        text = _text_of(body) if isinstance(body, EmailMessage) else ""
        super().__init__(BytesSource(text.encode("utf-8", "replace")), encoding=UTF8)
        self.text_source = self.source
        self._raw, self._reader = source, reader
        self._openers: dict[str, Any] = {}
        if isinstance(body, EmailMessage) and body.get_content_type() == "text/html":
            self.notes.append("its text is HTML only")
        self._add_parts(body)

    def shape(self) -> Any:
        """The main headers, decoded."""
        headers = {name: _header(self._message, name) for name in _TOLD}
        return {name.lower(): value[:_TOLD_CHARS_MAX] for name, value in headers.items() if value}

    def part(self, name: str) -> View:
        """The headers, the HTML, or an attachment as what its content is."""
        if name not in self._openers:
            raise ToolInputError(f"part: there is no part {name!r}.", hint=self._parts_hint())
        view: View = self._openers[name]()
        return view

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """These lines as text; all of them are the message itself."""
        if span.start == 0 and span.stop >= (self.count or 0):
            return self._raw.read(0, self._raw.size), EMAIL
        return super().slice(span)

    def _add_parts(self, body: Any) -> None:
        headers = _headers(self._message)
        lines = _lines_view("\n".join(headers))
        self._add("headers", "lines", lines.count, "", lambda: lines)
        other = self._message.get_body(("html",))
        if isinstance(other, EmailMessage) and other is not body:
            page = HtmlView(BytesSource(_text_of(other).encode("utf-8", "replace")))
            self._add("html", "lines", page.count, "", lambda: page)
        number = 0
        for part in _leaves(self._message):
            if part is body or part is other:
                continue
            number += 1
            name = part.get_filename() or f"attachment{number}"
            self._add(name, "bytes", None, part.get_content_type(), partial(self._open_attachment, part, name))

    def _add(self, name: str, unit: str, count: int | None, note: str, opener: Any) -> None:
        free, number = name, 1
        while free in self._openers:
            number += 1
            free = f"{name} ({number})"
        if len(self.parts) < PARTS_MAX:
            self._openers[free] = opener
            self.parts.append(Part(free, unit, count, note))

    def _open_attachment(self, part: EmailMessage, name: str) -> View:
        content = _content_of(part)
        return self._reader.open_inside(BytesSource(content), name=name).view


class EmailReader(InsideReader):
    """Messages by their headers (RFC 5322)."""

    name = "email"
    media_types = (EMAIL,)
    has_signature = False
    aliases = ("text/rfc822-headers",)

    def sniff(self, sample: Sample) -> Confidence:
        """A block of headers at the beginning, among them who sent it and two others that messages have."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        names = _header_names(head)
        known = _KNOWN & set(names)
        is_message = (
            "from" in known and len(known) >= _KNOWN_MIN and bool(known & {"date", "subject", "received", "to"})
        )
        if is_message and sample.size <= BYTES_MAX:
            return Confidence(59, EMAIL)
        return Confidence(1, EMAIL) if is_declared and known else Confidence.NO

    def open(self, source: Source) -> View:
        """The message; raises `UnreadableError` where it has no headers, is one of several or over `BYTES_MAX`."""
        if source.size > BYTES_MAX:
            raise UnreadableError(f"Messages of more than {BYTES_MAX // MIB} MiB are read as lines.")
        return EmailView(source, self)


def _parsed(source: Source) -> EmailMessage:
    raw = source.read(0, source.size)
    if raw.startswith(b"From "):
        if _NEXT_MESSAGE.search(raw):
            raise UnreadableError("It is a mailbox of several messages, which is read as lines.")
        raw = raw.split(b"\n", 1)[-1]
    with parsing("message"):
        message = email.message_from_bytes(raw, policy=email.policy.default)
        list(message.walk())  # what is nested too deeply fails here
        message.get_body(("plain", "html"))
    if not len(message):
        raise UnreadableError("It has no headers of a message.")
    return message


def _header_names(head: str) -> list[str]:
    """The names of the headers that a text begins with; none where another line stands among them."""
    names: list[str] = []
    for place, line in enumerate(head.replace("\r\n", "\n").split("\n")[:_HEADERS_MAX]):
        if place == 0 and line.startswith("From "):
            continue
        if not line.strip():
            break
        if line[0] in " \t" and names:
            continue
        found = _HEADER.fullmatch(line)
        if found is None:
            return []
        names.append(found[1].lower())
    return names


def _leaves(message: EmailMessage) -> list[EmailMessage]:
    """The parts that hold content; a message inside is one, not what is in it."""
    found: list[EmailMessage] = []
    waiting: list[Any] = [message]
    while waiting:
        each = waiting.pop()
        if each.get_content_maintype() == "multipart":
            waiting.extend(reversed(each.get_payload() if isinstance(each.get_payload(), list) else []))
        else:
            found.append(each)
    return found


def _text_of(part: EmailMessage) -> str:
    """The text of a part in the charset that it says, as lenient as mail has to be."""
    raw = _content_of(part)
    try:
        charset = part.get_content_charset("utf-8")
        text = raw.decode(charset, "backslashreplace")
    except (LookupError, ValueError, UnicodeError):
        text = raw.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n")


def _content_of(part: EmailMessage) -> bytes:
    """The decoded bytes of a part; of a message inside, that message."""
    with parsing("part of the message"):
        payload = part.get_payload()
        if isinstance(payload, list):
            return b"".join(each.as_bytes() for each in payload if isinstance(each, Message))
        decoded = part.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else str(payload).encode("utf-8", "surrogateescape")


def _header(message: EmailMessage, name: str) -> str:
    """A header, decoded; as written where it cannot be."""
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:  # noqa: BLE001  # the parser of the standard library raises anything over odd headers
        return _raw_header(message, name)


def _raw_header(message: EmailMessage, name: str) -> str:
    found = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(str(found).encode("utf-8", "replace").decode().split())


def _headers(message: EmailMessage) -> list[str]:
    """All headers in their order, each decoded and on one line."""
    lines: list[str] = []
    for name, raw in list(message.raw_items())[:_HEADERS_MAX]:
        try:
            value = str(message.policy.header_fetch_parse(name, str(raw)))
        except Exception:  # noqa: BLE001  # as in _header
            value = str(raw)
        said = " ".join(value.encode("utf-8", "replace").decode().split())
        lines.append(f"{name}: {said}")
    return lines


def _lines_view(text: str) -> TextView:
    return TextView(BytesSource(text.encode("utf-8", "replace")), encoding=UTF8)
