"""What preview, read, search, SQL and Python see of an item is the same value, also of files that are not clean."""

from typing import Any

import pytest

from blobs import Conversation


class Four:
    """A blob asked in four ways."""

    def __init__(self, chat: Conversation, content: bytes, media_type: str | None) -> None:
        self._chat = chat
        self.handle = chat.attach(content, type=media_type)
        self.blob = self.handle["blob"]
        self.notes = " ".join(self.handle["preview"].get("notes", []))

    def read(self) -> list[Any]:
        data = self._call("blob_read", {})
        assert data["complete"]
        assert self.handle["items"] == data["total"] == len(data["items"])
        return data["items"]

    def found(self, pattern: str) -> list[int]:
        return [match["item"] for match in self._call("blob_search", {"pattern": pattern, "limit": 100})["matches"]]

    def sql(self, query: str = "select * from $") -> list[list[Any]]:
        return self._call("blob_code", {"language": "sql", "code": query.replace("$", self.blob)})["rows"]

    def python(self, code: str = "$.rows()") -> Any:
        return self._call("blob_code", {"language": "python", "code": code.replace("$", self.blob)})["result"]

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._chat.call(tool, {"blob": self.blob, **arguments})
        assert answer["ok"], answer
        return answer["data"]


CSV = "text/csv"
TABLES = {
    "ragged": (
        b"a,b,c\n1,2\n1,2,3\n1,2,3,4\n",
        [["1", "2", None, None], ["1", "2", "3", None], ["1", "2", "3", "4"]],
    ),
    "quoted empty and empty": (b'a,b\n"",x\n,y\n', [["", "x"], [None, "y"]]),
    "words of nothing": (b"a,b\nNA,1\nnull,2\nNaN,3\n", [["NA", "1"], ["null", "2"], ["NaN", "3"]]),
    "zeros in front": (b"zip,n\n00123,1\n01234,2\n", [["00123", "1"], ["01234", "2"]]),
    "long integers": (
        b"id,n\n9007199254740993,1\n123456789012345678901234567890,2\n",
        [["9007199254740993", "1"], ["123456789012345678901234567890", "2"]],
    ),
    "decimals": (b"d,n\n0.10,1\n1e3,2\n-0.0,3\n", [["0.10", "1"], ["1e3", "2"], ["-0.0", "3"]]),
    "dates that are none": (b"d,n\n2024-02-30,1\n2024-1-2,2\n", [["2024-02-30", "1"], ["2024-1-2", "2"]]),
    "line ends in cells": (b'a,b\r\n"x\r\ny",1\r\n"u\nv",2\r\n', [["x\r\ny", "1"], ["u\nv", "2"]]),
    "CR alone": (b"a,b\rx,1\ry,2\r", [["x", "1"], ["y", "2"]]),
    "other breaks": ("a,b\nx\u2028y,1\nu\x85v,2\n".encode(), [["x\u2028y", "1"], ["u\x85v", "2"]]),
    "UTF-16": ("a;b\nå;1\n日本;2\n".encode("utf-16"), [["å", "1"], ["日本", "2"]]),
    "UTF-16 without a mark": (
        "a;b\nå;1\nnaïve;2\nmore;3\n".encode("utf-16-le"),
        [["å", "1"], ["naïve", "2"], ["more", "3"]],
    ),
    "UTF-32": ("a;b\nå;1\n😀;2\n".encode("utf-32"), [["å", "1"], ["😀", "2"]]),
    "legacy": (
        "name;n\nGröße der Straße;1\nÜbermäßig süß;2\n".encode("cp1252"),
        [["Größe der Straße", "1"], ["Übermäßig süß", "2"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_tables(chat: Conversation, kind):
    """Cells are the same text in every tool; SQL may have types, which give the text back unless it says text."""
    content, rows = TABLES[kind]
    four = Four(chat, content, CSV)
    assert four.read() == rows
    assert four.handle["preview"]["first"] == rows
    assert [list(each.values()) for each in four.python()] == rows
    in_sql = four.sql("select * from $")
    assert [[None if cell is None else str(cell) for cell in row] for row in in_sql] == rows
    for index, row in enumerate(rows):
        for cell in row:
            if cell and "\n" not in cell and "\r" not in cell:
                assert index in four.found(cell)


JSON, LINES = "application/json", "application/x-ndjson"
DOCUMENTS = {
    "repeated keys": (b'[{"a":1,"b":2,"a":3}]', JSON, [{"a": 3, "b": 2}], "1 key is repeated"),
    "repeated keys in lines": (b'{"a":1,"a":2}\n{"a":3}\n', LINES, [{"a": 2}, {"a": 3}], "1 key is repeated"),
    "NaN": (
        b'[{"a":NaN},{"a":-Infinity},{"a":1.5}]',
        JSON,
        [{"a": "NaN"}, {"a": "-Infinity"}, {"a": 1.5}],
        "not strict",
    ),
    "trailing commas": (b'[{"a":1,},{"a":2},]', JSON, [{"a": 1}, {"a": 2}], "trailing commas"),
    "half characters": (rb'[{"a":"x\ud800y"}]', JSON, [{"a": "x\ufffdy"}], "half characters"),
    "half characters in lines": (b'{"a":"\\udc00"}\n{"a":"z"}\n', LINES, [{"a": "\ufffd"}, {"a": "z"}], "not strict"),
    "mark and array": (b'\xef\xbb\xbf[{"a":"b"}]', JSON, [{"a": "b"}], "byte order mark"),
    "mark and lines": (b'\xef\xbb\xbf{"a":1}\n{"a":2}\n', LINES, [{"a": 1}, {"a": 2}], ""),
    "UTF-16 lines": ('{"a":"é"}\n{"a":"ü"}\n'.encode("utf-16"), LINES, [{"a": "é"}, {"a": "ü"}], "utf-16"),
    "UTF-32": ('[{"a":"é"}]'.encode("utf-32-be"), JSON, [{"a": "é"}], "utf-32"),
    "bad lines": (b'{"a":1}\nnope\n{"a":2}', LINES, [{"a": 1}, {"a": 2}], "1 of 3 lines is not valid JSON: 2"),
    "long integers": (b'[{"a":18446744073709551616}]', JSON, [{"a": 18446744073709551616}], ""),
    "escapes": (rb'[{"a":"\u00e9\n\ud83d\ude00"}]', JSON, [{"a": "é\n😀"}], ""),
    "breaks in lines": ('{"a":"x\u2028y"}\n{"a":"u\x85v"}\n'.encode(), LINES, [{"a": "x\u2028y"}, {"a": "u\x85v"}], ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents(chat: Conversation, kind):
    """Values are the same in every tool, by one rule for what is not strict; a note says what that was."""
    content, media_type, items, note = DOCUMENTS[kind]
    four = Four(chat, content, media_type)
    assert four.handle["type"] == media_type
    assert four.read() == items
    assert four.handle["preview"]["first"] == items
    assert four.python() == items
    if "NaN" not in kind:  # which Python has as a float
        assert four.python("$.json()") == items
    keys = list(items[0])
    assert four.sql() == [[item[key] for key in keys] for item in items]
    assert note in four.notes
    for index, item in enumerate(items):
        if isinstance(item["a"], str) and item["a"].isprintable():
            assert index in four.found(item["a"])


def test_a_document_with_comments(chat: Conversation):
    """An object that is not strict is one in Python too."""
    four = Four(chat, b'{"a": 1, /* why */ "b": [1, 2,],}', JSON)
    assert four.read() == [{"a": 1}, {"b": [1, 2]}]
    assert four.python("$.json()") == {"a": 1, "b": [1, 2]}
    assert four.sql("select a, b from $") == [[1, [1, 2]]]


TEXTS = {
    "LF, CRLF and CR": (b"one\ntwo\r\nthree\rfour", ["one", "two", "three", "four"]),
    "nothing else": ("a\x0bb\x0cc\u2028d\x85e\x1cf\n".encode(), ["a\x0bb\x0cc\u2028d\x85e\x1cf"]),
    "UTF-16 big": ("één\r\ntwee\n".encode("utf-16-be"), ["één", "twee"]),
    "UTF-32 without a mark": ("één\ntwee\n".encode("utf-32-le"), ["één", "twee"]),
    "Cyrillic": ("Добрый день, как дела?\nХорошо, спасибо большое.\n".encode("cp1251"),
                 ["Добрый день, как дела?", "Хорошо, спасибо большое."]),
    "Japanese": ("倉庫には本日三百二十箱の荷物が届き、\nそのうち七箱は外装が破損している。\n".encode("cp932"),
                 ["倉庫には本日三百二十箱の荷物が届き、", "そのうち七箱は外装が破損している。"]),
    "a bad byte": ("naïve café über\n".encode() * 3 + b"bad \xff byte\n", ["naïve café über"] * 3 + ["bad \\xff byte"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_texts(chat: Conversation, kind):
    """Lines are the same in every tool, whatever the encoding and the ends of lines."""
    content, lines = TEXTS[kind]
    four = Four(chat, content, "text/plain")
    assert four.read() == lines
    assert four.handle["preview"]["first"] == lines
    assert four.python("$.lines()") == lines
    assert four.sql() == [[line] for line in lines]
    assert all(index in four.found(line) for index, line in enumerate(lines) if line.isprintable())


@pytest.mark.parametrize(
    ("content", "declared", "expected"),
    [
        (b"a,b\n1,2\n", "text/plain", "text/plain"),
        (b"a,b\n1,2\n3,4\n", "text/csv", "text/csv"),
        (b'[{"a":1}]', "text/csv", "application/json"),
        (b'{"a":1}', LINES, LINES),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "text/plain", "image/png"),
        (b"%PDF-1.7\nnot much of one", "text/plain", "application/pdf"),
        (bytes(range(256)) * 4, "text/plain", "application/octet-stream"),
    ],
)  # fmt: skip
def test_a_declared_type_decides_among_what_bytes_allow(chat: Conversation, content, declared, expected):
    """The bytes rule out kinds; of those left the declared one is taken. A sample cut in a character stays text."""
    given = content.encode() if isinstance(content, str) else content
    assert chat.attach(given, type=declared)["type"] == expected


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-32", "utf-16-le", "cp932", "gb18030"])
def test_a_cut_sample_is_text_all_the_same(chat: Conversation, codec, shift):
    """Wherever the sample cuts a character, text stays text, and its lines are all there."""
    line = "倉庫には本日三百二十箱 ascii words too"
    content = ("x" * shift + "\n" + (line + "\n") * 4_000).encode(codec)
    handle = chat.attach(content)
    assert (handle["type"], handle["items"]) == ("text/plain", 4_001)
    assert handle["preview"]["last"][-1].startswith("倉庫には本日三百二十箱")
