"""TOML: lines as written, tables and keys as a value."""

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.toml_document import TOML, TomlReader

PROJECT = b"""# a comment
[project]
name = "demo"
version = "0.10"
released = 2024-02-29
limits = { ratio = 0.10, big = 123456789012345678901234567890 }

[[server]]
host = "a"
port = 8_080

[[server]]
host = "b"
"""


def open_toml(content: bytes | str):
    return TomlReader().open(BytesSource(content if isinstance(content, bytes) else content.encode()))


def at(content: bytes | str, path: str):
    view = open_toml(content).at(path)
    return list(view.items(ItemRange(0, view.count)))


class TestTomlReader(ReaderContract):
    reader = TomlReader()
    examples = {
        "project": Example(PROJECT, TOML, 13),
        "CRLF": Example(b"[a]\r\nb = 1\r\n\r\n[c]\r\nd = [1,\r\n 2]\r\n", TOML, 6),
        "strings": Example('[a]\nb = """\nlong\ntext"""\n"ключ" = \'C:\\raw\'\n'.encode(), TOML, 5),
    }


def test_values_are_told(chat: Conversation):
    """Numbers keep their digits, dates are text, arrays of tables are parts with rows for SQL."""
    assert str(at(PROJECT, "/project/limits/ratio")[0]) == "0.10"
    assert at(PROJECT, "/project/limits/big") == [123456789012345678901234567890]
    assert at(PROJECT, "/project/released") == ["2024-02-29"]
    assert at(PROJECT, "/server/0/port") == [8080]
    blob = chat.attach(PROJECT)["blob"]
    query = f"select host, port from {blob}.server order by host"
    rows = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"]
    assert rows == [["a", 8080], ["b", None]]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("inf", "inf"), ("-nan", "-nan"), ("0xff", 255), ("0o17", 15), ("true", True), ("07:32:00", "07:32:00"),
     ("1979-05-27T07:32:00Z", "1979-05-27T07:32:00Z"), ("''", "")],
)  # fmt: skip
def test_kinds_of_values(written, expected):
    """Whatever JSON has no form for is text."""
    assert at(f"[t]\nk = {written}\n", "/t/k") == [expected]


def test_faults_are_notes():
    """A text that is not TOML is its lines; a note names the line, also for repeated keys and endless nesting."""
    assert "line 3" in open_toml("[a]\nb = 1\nc = \n").notes[0]
    assert open_toml("[a]\nb = 1\nb = 2\n").notes[0].startswith("not valid TOML")
    deep = open_toml("a = " + "[" * 3000 + "]" * 3000)
    assert (deep.count, deep.shape()) == (1, None)
    assert deep.notes


@pytest.mark.parametrize(
    ("content", "is_toml"),
    [(PROJECT, True), (b"[section]\nkey = no quotes here\n", False), (b"[1, 2, 3]\n", False), (b"a = 1\n", False),
     (b"[INFO] x = 1\n", False)],
)  # fmt: skip
def test_recognised(content, is_toml):
    """Tables whose values are all TOML: other configuration files lack quotes."""
    assert (TomlReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_toml
    assert TomlReader().sniff(take_sample(BytesSource(content), TOML)).level > 0
