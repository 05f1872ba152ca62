"""Email: its text as lines, its headers decoded, its attachments as parts."""

import base64

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import recognise, take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.email_message import EMAIL, EmailReader
from tests.material import fixture

PLAIN = (
    b"From: A <a@example.org>\r\nTo: b@example.org\r\nSubject: Hello\r\n"
    b"Date: Thu, 29 Feb 2024 10:00:00 +0100\r\n\r\none\r\ntwo\r\n"
)


def part(content: bytes, kind: str, *headers: str) -> bytes:
    lines = [
        f"Content-Type: {kind}",
        "Content-Transfer-Encoding: base64",
        *headers,
        "",
        base64.encodebytes(content).decode(),
    ]
    return "\r\n".join(lines).encode()


def mixed(*parts: bytes, kind: str = "mixed") -> bytes:
    head = (
        PLAIN.partition(b"\r\n\r\n")[0]
        + f'\r\nMIME-Version: 1.0\r\nContent-Type: multipart/{kind}; boundary="{kind}"'.encode()
    )
    return (
        head
        + b"\r\n\r\npreamble\r\n"
        + b"".join(b"--%s\r\n%s\r\n" % (kind.encode(), each) for each in parts)
        + b"--%s--\r\n" % kind.encode()
    )


RICH = mixed(
    mixed(
        part("первая\nвторая".encode("koi8-r"), "text/plain; charset=koi8-r"),
        part(b"<p>one<p>two", "text/html"),
        kind="alternative",
    ).partition(b"\r\nMIME-Version: 1.0\r\n")[2],
    part(fixture("orders.csv"), "application/octet-stream", 'Content-Disposition: attachment; filename="orders.csv"'),
    part(b'[{"a":1}]', "application/json", 'Content-Disposition: attachment; filename="=?utf-8?b?0YTQsNC50Ls=?=.json"'),
    part(fixture("halves.png"), "image/png", "Content-Disposition: inline"),
    b"Content-Type: message/rfc822\r\n\r\n" + PLAIN,
)


def open_email(content: bytes):
    return EmailReader().open(BytesSource(content))


def lines(view) -> list[str]:
    return list(view.items(ItemRange(0, view.count)))


class TestEmailReader(ReaderContract):
    reader = EmailReader()
    examples = {
        "plain": Example(PLAIN, EMAIL, 2),
        "with attachments": Example(RICH, EMAIL, 2),
        "HTML only": Example(PLAIN.replace(b"Date:", b"Content-Type: text/html\r\nDate:"), EMAIL, 2),
    }


def test_text_in_its_charset():
    """The text is decoded as its part says, the headers as theirs."""
    view = open_email(RICH)
    assert lines(view) == ["первая", "вторая"]
    named = PLAIN.replace(b"Subject: Hello", b"Subject: =?windows-1251?Q?=CF=F0=E8=E2=E5=F2?= all")
    assert open_email(named).shape()["subject"] == "Привет all"
    raw = PLAIN.replace(b"\r\n\r\none", b"\r\nContent-Type: text/plain; charset=nonsense\r\n\r\ncaf\xc3\xa9")
    assert lines(open_email(raw))[0] == "café"


def test_parts_are_what_they_are(chat: Conversation):
    """Attachments go by their file names and are opened as their content; SQL has their tables."""
    view = open_email(RICH)
    names = ["headers", "html", "orders.csv", "файл.json", "attachment3", "attachment4"]
    assert [each.name for each in view.parts] == names
    assert lines(view.part("headers"))[0] == "From: A <a@example.org>"
    assert lines(view.part("html")) == ["<p>one<p>two"]
    assert (view.part("orders.csv").unit, view.part("orders.csv").count) == ("rows", 40)
    assert lines(view.part("файл.json")) == [{"a": 1}]
    assert view.part("attachment3").facts()["width"] == 60
    assert lines(view.part("attachment4")) == ["one", "two"]
    blob = chat.attach(RICH)["blob"]
    query = f'select count(*) from {blob}."orders.csv"'
    assert chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"] == [[40]]
    assert chat.call("blob_read", {"blob": blob, "part": "orders.csv", "start": 9, "count": 1})["ok"]
    found = chat.call("blob_search", {"blob": blob, "part": "orders.csv", "pattern": "said"})["data"]["found"]
    assert found == 4


def test_equal_names_are_told_apart():
    """Two attachments of one name are two parts."""
    twice = mixed(
        part(b"x", "text/plain"), *[part(b"y", "text/plain", "Content-Disposition: attachment; filename=a.txt")] * 2
    )
    assert [each.name for each in open_email(twice).parts] == ["headers", "a.txt", "a.txt (2)"]


def test_mailboxes_are_lines():
    """A file of several messages is none: the first alone would pass for the whole."""
    box = b"From a@b Thu Feb 29 10:00:00 2024\n" + PLAIN.replace(b"\r\n", b"\n") + b"\n"
    assert open_email(box).count == 3
    opened = recognise(Registry(), BytesSource(box * 2), None)
    assert opened.type == "text/plain"
    assert opened.view.count == box.count(b"\n") * 2


@pytest.mark.parametrize(
    "content",
    [
        mixed(part(b"%%%", "text/plain").replace(b"JSUl", b"!not base64!")),
        PLAIN.replace(b"Subject: Hello", b"Subject: =?utf-8?b?/////w==?= =?x?y?z?="),
        PLAIN.replace(b"Date: Thu", b"Date: never \xff\xfe"),
        PLAIN.replace(b"To: b@example.org", b'To: "unclosed <a@[[b>, ,;'),
        mixed().replace(b"--mixed--", b""),
    ],
)
def test_odd_messages_are_read(content):
    """Damage to one place leaves the rest."""
    view = open_email(content)
    assert view.shape()["from"] == "A <a@example.org>"
    lines(view)
    lines(view.part("headers"))


@pytest.mark.parametrize(
    ("content", "is_message"),
    [(PLAIN, True), (RICH, True), (b"From: x\nI write this letter.\n", False), (b"a: 1\nb: 2\nc: 3\n\nx", False),
     (b"Subject: only this\n\nx", False)],
)  # fmt: skip
def test_recognised(content, is_message):
    """Who sent it and two other headers that messages have."""
    assert (EmailReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_message
