"""CSV and its kin: records, dialects, headers, columns, slices, recognising."""

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.csv_tsv import CsvReader

TSV = "text/tab-separated-values"


def open_csv(content: bytes | str):
    return CsvReader().open(BytesSource(content.encode() if isinstance(content, str) else content))


def rows(view) -> list[list[str | None]]:
    return list(view.items(ItemRange(0, view.count)))


def names(view) -> list[str]:
    return [column.name for column in view.columns]


def sniff(content: str, declared: str | None = None):
    head = content.encode()
    return CsvReader().sniff(Sample(head, head[-4096:], len(head), declared))


class TestCsvReader(ReaderContract):
    reader = CsvReader()
    examples = {
        "backslashes": Example(b'a,b\n"x \\"q\\" y",1\n"z",2\n', "text/csv", 2),
        "typed": Example(b"id,name\n1,Ann\n2,Bob\n3,Cyd\n", "text/csv", 3),
        "quoted": Example(b'id,text\r\n1,"two\r\nlines"\r\n2,"say ""hi"""\r\n3,\r\n4,""\r\n', "text/csv", 4),
        "tabs": Example(b"id\tname\n1\tAnn\n2\tBob\n", TSV, 2),
        "semicolons": Example("id;größe\n1;3,5\n2;4,5\n3;5,5\n".encode("cp1252"), "text/csv", 3),
        "UTF-16": Example("id,name\n1,Ännchen\n2,Bob\n3,Cyd\n".encode("utf-16"), "text/csv", 3),
        "no header": Example(b"1,2,3\n4,5,6\n7,8,9\n", "text/csv", 3),
        "ragged": Example(b"id,name\n1,Ann\n" * 1 + b"2,Bob\n" * 60 + b"3\n4,Cyd,x,y\n", "text/csv", 63),
        "many": Example(b"id,text\n" + b"".join(b'%d,"a, b"\n' % i for i in range(3000)), "text/csv", 3000),
    }


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("a,b\n1,2\n", ["a", "b"], [["1", "2"]]),
        ("a,b\n1,2", ["a", "b"], [["1", "2"]]),
        ("a,b\r\n1,2\r\n", ["a", "b"], [["1", "2"]]),
        ("a,b\r1,2\r", ["a", "b"], [["1", "2"]]),
        ("\ufeffa,b\n1,2\n", ["a", "b"], [["1", "2"]]),
        ('\ufeff"a","b"\n1,2\n', ["a", "b"], [["1", "2"]]),
        ("a,b\n1,\n,2\n", ["a", "b"], [["1", None], [None, "2"]]),
        ('a,b\n1,""\n"",2\n', ["a", "b"], [["1", ""], ["", "2"]]),
        ('a,b\n1,"x,y"\n2,"x""y"\n3,"x\ny"\n', ["a", "b"], [["1", "x,y"], ["2", 'x"y'], ["3", "x\ny"]]),
        ('a,b\n1,5" pipe\n2,x "y" z\n', ["a", "b"], [["1", '5" pipe'], ["2", 'x "y" z']]),
        ('a,b\n1,"x" y\n2,z\n', ["a", "b"], [["1", "x y"], ["2", "z"]]),
        ("a,b\n\n1,2\n\r\n\n3,4\n\n", ["a", "b"], [["1", "2"], ["3", "4"]]),
        ("a,b\n007,1e5\n1.50,0x1\n", ["a", "b"], [["007", "1e5"], ["1.50", "0x1"]]),
        ("a,b,c\n1,2\n3,4,5,6\n7,8,9\n", ["a", "b", "c", "column4"],
         [["1", "2", None, None], ["3", "4", "5", "6"], ["7", "8", "9", None]]),
        ("a,a,,A\n1,2,3,4\n", ["a", "a_1", "column3", "A_2"], [["1", "2", "3", "4"]]),
        ("a,a,a_1\n1,2,3\n", ["a", "a_2", "a_1"], [["1", "2", "3"]]),
        (",,\n1,2,x\n", ["column1", "column2", "column3"], [["1", "2", "x"]]),
        ("1,2\n3,4\n", ["column1", "column2"], [["1", "2"], ["3", "4"]]),
        ("a;b\n1,5;2\n3,5;4\n", ["a", "b"], [["1,5", "2"], ["3,5", "4"]]),
        ("a|b\n1|2\n", ["a", "b"], [["1", "2"]]),
        ("a\tb\n1, 2\t3\n", ["a", "b"], [["1, 2", "3"]]),
        ("name\nx\ny\n", ["name"], [["x"], ["y"]]),
        ('name\n"two\nlines"\n', ["name"], [["two\nlines"]]),
        ("", [], []),
        ("\n\n", [], []),
        ("country,2019,2020\nFR,1,2\nDE,3,4\n", ["country", "2019", "2020"], [["FR", "1", "2"], ["DE", "3", "4"]]),
        ("Name,City\nAnn,Oslo\nBob,Rome\n", ["Name", "City"], [["Ann", "Oslo"], ["Bob", "Rome"]]),
        ("Größe,Straße\n1,ä\n", ["Größe", "Straße"], [["1", "ä"]]),
    ],
)  # fmt: skip
def test_rows(content, columns, expected):
    """Cells are as written: empty without quotes is None, quoted empty is the empty string."""
    view = open_csv(content)
    assert names(view) == columns
    assert view.count == len(expected)
    assert rows(view) == expected
    assert view.slice(ItemRange(0, view.count))[0] == content.encode()


def test_first_quote_in_the_last_row():
    """What quotes do does not depend on where the first one stands."""
    for late, vendor in (('S,"a, b",7', "a, b"), ('S,"a\nb",7', "a\nb"), ('S,"a ""b""",7', 'a "b"')):
        content = "sku,vendor,qty\n" + "".join(f"S{i},Acme,6\n" for i in range(30_000)) + late + "\n"
        view = open_csv(content)
        assert view.count == 30_001
        (last,) = view.items(ItemRange(30_000, 30_001))
        assert last == ["S", vendor, "7"]
        assert view.notes == []


@pytest.mark.parametrize("word", ["NA", "null", "None", "N/A", "NaN", "nan", "-", "NULL"])
def test_words_are_no_nulls(word):
    """No word means that a value is missing."""
    assert rows(open_csv(f"id,code\n1,{word}\n2,x\n3,\n")) == [["1", word], ["2", "x"], ["3", None]]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "cp1252"])
def test_encodings(codec):
    """The first column's name is clean and the cells are text, whatever the encoding."""
    content = '"id","city"\r\n1,Orléans\r\n2,"Málaga, ES"\r\n'.encode(codec)
    view = open_csv(content)
    assert names(view) == ["id", "city"]
    assert rows(view) == [["1", "Orléans"], ["2", "Málaga, ES"]]
    assert view.slice(ItemRange(0, 2))[0] == content
    assert rows(open_csv(view.slice(ItemRange(1, 2))[0])) == [["2", "Málaga, ES"]]


def test_unclosed_quote_at_the_end():
    """A file that was cut inside a quoted cell keeps its other rows; a stray quote does not eat the file."""
    cut = open_csv('id,text\n1,"a"\n2,"never clo')
    assert rows(cut) == [["1", "a"], ["2", "never clo"]]
    assert "the last quote is never closed" in cut.notes
    stray = open_csv('id,text\n1,"5 inches\n' + "2,b\n" * 500)
    assert stray.count == 501
    assert rows(stray)[0] == ["1", '"5 inches']


def test_oddities_are_noted():
    """Ragged rows, a missing header and an unusual delimiter are said."""
    assert open_csv("a,b\n1,2,3\n4\n5,6\n").notes == ["2 rows have more or fewer cells than the header (2)"]
    assert open_csv("1;2\n3;4\n").notes == ["no header row: the columns are numbered", "cells are separated by ';'"]


def test_seeking_and_slices():
    """Any range is found by the index, also where records span lines; slices are header and source bytes."""
    records = [f'{i},"line one\nline {i}, two"\r\n' if i % 3 else f"{i},plain\r\n" for i in range(5000)]
    view = open_csv("id,text\r\n" + "".join(records))
    assert view.count == 5000
    assert [row[0] for row in view.items(ItemRange(2047, 2051))] == ["2047", "2048", "2049", "2050"]
    assert view.slice(ItemRange(1023, 1025)) == (("id,text\r\n" + "".join(records[1023:1025])).encode(), "text/csv")
    assert view.text_offset(4000) == len("id,text\r\n" + "".join(records[:4000]))
    assert view.text(0, 7) == "id,text"
    assert open_csv("1,2\n3,4\n5,6\n").slice(ItemRange(1, 2))[0] == b"column1,column2\n3,4\n"


def test_table_is_untyped_text():
    """Cells go to SQL as the file's text, typed there or not at all."""
    table = open_csv("id,zip\n1,00123\n2,\n").table()
    assert table.is_text
    assert table.columns == ["id", "zip"]
    assert list(table.rows()) == [["1", "00123"], ["2", None]]


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\n1,2,3\n",
        "id\tname\n1\tAnn\n2\tBob\n",
        "id;v\n1;1,5\n2;2,5\n",
        "name,city\nAnn,Oslo\nBob,Rome\nCyd,Bonn\n",
        'id,text\n1,"say ""hi"", then go"\n2,"x"\n',
        "2024-01-01,5,x\n2024-01-02,6,y\n2024-01-03,7,z\n",
        "1,2\n3,4\n5,6\n",
    ],
)
def test_tables_are_recognised(content):
    """Rows of the same width are a table without anybody having said so, also where the sample is cut."""
    assert sniff(content).level == 50
    head = (content + content.splitlines(keepends=True)[-1] * 5000).encode()[:65_000]
    assert CsvReader().sniff(Sample(head, b"", 10**7)).level == 50


@pytest.mark.parametrize(
    "content",
    [
        "Hello, world.\nGoodbye, moon.\nAnd so on, and on.\n",
        "Dear all,\nthanks for coming,\nsee you,\n",
        "name\nAnn\nBob\n",
        "just one line, with commas, in it\n",
        "2024-01-01 10:00:00,123 INFO start\n2024-01-01 10:00:01,456 INFO stop\n2024-01-01 10:00:02,789 INFO go\n",
        "int a;\nint b;\nint c;\n",
        "f(a, b);\ng(c, d);\nh(e, f);\n",
        "INSERT INTO t VALUES(1,'a',2);\nINSERT INTO t VALUES(2,'b',3);\n",
        '{"a":1,"b":2}\n{"a":3,"b":4}\n',
        "[1,2]\n[3,4]\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        " id | name \n----+------\n  1 | Ann\n  2 | Bob\n",
        '<a href="x,y">\n<b id="x,y">\n<c id="x,y">\n',
        "100644 blob 3af5c1\tREADME.md\n100644 blob 77c0de\tsetup.py\n040000 tree 99aa00\tsrc\n",
        "key: a, b\nother: c, d\nthird: e, f\n",
        "",
        "\x00\x01,\x02\n\x03,\x04\n",
    ],
)
def test_other_text_is_not_recognised(content):
    """Prose, code, logs, JSON and drawn tables are no CSV although they hold delimiters."""
    assert sniff(content).level == 0


@pytest.mark.parametrize("content", ["name\nAnn\n", "a,b\n", "x,y,z\n1,2\n", "Hello, world.\n"])
def test_declared_is_believed(content):
    """A single column, a header alone and ragged rows are CSV if somebody says so."""
    assert sniff(content, "text/csv").level > 0


@pytest.mark.parametrize("content", ['[{"a":1}]', '{"a":1}\n{"a":2}\n', "<!doctype html><p>a,b", "\x00\x01\x02"])
def test_declared_is_not_believed_against_the_bytes(content):
    """JSON, markup and binary stay what they are."""
    assert sniff(content, "text/csv").level == 0


@pytest.mark.parametrize(
    ("content", "columns", "found", "lead"),
    [
        ("sep=;\r\na;b\r\n1,5;2\r\n", ["a", "b"], [["1,5", "2"]], ["sep=;"]),
        ('"sep=\t"\na\tb\n1\t2\n', ["a", "b"], [["1", "2"]], ['"sep=\t"']),
        ("# made by x\n# on y\na,b\n1,2\n", ["a", "b"], [["1", "2"]], ["# made by x", "# on y"]),
        ("##fileformat=x\n#pos\tref\n1\tA\n2\tC\n", ["#pos", "ref"], [["1", "A"], ["2", "C"]], ["##fileformat=x"]),
        ("#id,name\n1,a\n", ["#id", "name"], [["1", "a"]], []),
        ("#only\nAnn\n", ["#only"], [["Ann"]], []),
        ("a,b\n# no comment\n1,2\n", ["a", "b"], [["# no comment", None], ["1", "2"]], []),
    ],
)
def test_lines_before_the_table(content, columns, found, lead):
    """What Excel or a tool writes above a table is no row: it is said, and found by search; a header with # is one."""
    view = open_csv(content.encode())
    assert (names(view), rows(view)) == (columns, found)
    assert [line for _, line in view.strays()] == lead
    assert any("before the table" in note for note in view.notes) == bool(lead)
    assert view.text(0, 999) == content


@pytest.mark.parametrize(
    ("content", "expected", "note"),
    [
        ("id,text\n1,'a, b'\n2,'c'\n", [["1", "a, b"], ["2", "c"]], "cells are quoted by '"),
        ('id,text\n1,"a \\"b\\", c"\n2,"d"\n', [["1", 'a "b", c'], ["2", "d"]], "backslashes"),
        ('id, text, n\n1, "a, b", 3\n2, c, 4\n', [["1", "a, b", "3"], ["2", "c", "4"]], "blanks behind"),
        ("# by hand\nid,text\n1,'a, b'\n2,''\n", [["1", "a, b"], ["2", None]], "cells are quoted by '"),
    ],
)
def test_odd_dialects(chat: Conversation, content, expected, note):
    """A table that only another dialect makes even is read in that, and a note says which; the text stays."""
    view = open_csv(content.encode())
    assert rows(view) == expected
    assert any(note in each for each in view.notes)
    assert not any("more or fewer" in each for each in view.notes)
    assert view.text(0, 999) == content
    assert content[view.text_offset(1) :].startswith("2,")
    assert rows(open_csv(view.slice(ItemRange(0, 1))[0])) == expected[:1]
    blob = chat.attach(content.encode(), type="text/csv")["blob"]
    answer = chat.call("blob_code", {"blob": blob, "language": "sql", "code": f"select text from {blob}"})
    assert answer["data"]["rows"] == [[row[1]] for row in expected]


@pytest.mark.parametrize(
    "content",
    ["a,b\nit's,1\nO'Brien, x,2\n", "a,b\n'tis,1,2\n'twas,3\n", 'a,b\n5" nail,1\n6" nail,2,3\n', "a,b\n1, 2\n3\n"],
)
def test_apostrophes_and_inches_are_text(content):
    """Marks that no dialect makes even leave the file as it is."""
    view = open_csv(content.encode())
    assert not any("quoted by" in each or "backslash" in each or "blanks" in each for each in view.notes)
    assert view.count == 2
