"""HTML: lines as written, the charset that its meta says, tables for SQL."""

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.html import HTML, HtmlReader

PAGE = b"""<!DOCTYPE html>
<html><head><title>Prices &amp; more</title><style>td { color: red }</style></head>
<body><h1>List <b>A</b></h1>
<table><caption>Stock</caption>
<thead><tr><th>item</th><th colspan="2">price</th></tr><tr><th></th><th>net</th><th>gross</th></tr></thead>
<tr><td rowspan=2>bolt<br>M8</td><td>0012</td><td>1,50 &euro;</td></tr>
<tr><td></td><td>2</td></tr>
<tr><td>nut<script>x()</script></td><td>7
</table>
<table><tr><td><table><tr><td>a</td></tr><tr><td>b</td></tr></table></td></tr></table>
<a href="/x">x</a><img src="y">
</body></html>
"""
CYRILLIC = '<html><head><meta charset="windows-1251"></head>\n<body>Добрый день</body></html>\n'


def open_html(content: bytes):
    return HtmlReader().open(BytesSource(content))


def lines(content: bytes) -> list[str]:
    view = open_html(content)
    return list(view.items(ItemRange(0, view.count)))


class TestHtmlReader(ReaderContract):
    reader = HtmlReader()
    examples = {
        "page": Example(PAGE, HTML, PAGE.count(b"\n")),
        "fragment": Example(b"<table>\n<tr><td>1</td></tr>\n<tr><td>2</td></tr>\n</table>", HTML, 4),
        "charset in meta": Example(CYRILLIC.encode("cp1251"), HTML, 2),
    }


def test_shape_and_parts():
    """The title, the headings and the counts of elements; tables of data are parts, tables of layout are none."""
    view = open_html(PAGE)
    assert view.shape()["title"] == "Prices & more"
    assert view.shape()["headings"] == ["h1 List A"]
    assert view.shape()["elements"] == {"table": 3, "a": 1, "img": 1, "script": 1}
    assert [(part.name, part.count, part.note) for part in view.parts] == [("table1", 3, "Stock"), ("table2", 2, "")]


def test_tables_are_offered_to_sql(chat: Conversation):
    """Spans are filled out, headers name the columns, texts stay as written, empty cells are null."""
    rows = [["bolt M8", "0012", "1,50 €"], ["bolt M8", None, "2"], ["nut", "7", None]]
    view = open_html(PAGE).part("table1")
    assert [column.name for column in view.columns] == ["item", "price net", "price gross"]
    assert list(view.items(ItemRange(0, 3))) == rows
    blob = chat.attach(PAGE)["blob"]
    query = f'select item, "price net", "price gross" from {blob}.table1'
    assert chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"] == rows
    assert chat.call("blob_read", {"blob": blob, "part": "table1"})["data"]["items"] == rows


@pytest.mark.parametrize(
    ("meta", "codec", "text"),
    [
        ('<meta charset="windows-1251">', "cp1251", "Добрый день"),
        ("<meta charset=koi8-r>", "koi8-r", "Добрый день"),
        ('<META http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">', "cp1252", "“quoted” – café €"),
        ('<meta charset="Shift_JIS">', "cp932", "日本語の文字"),
        ('<meta charset="gbk">', "gb18030", "简体中文"),
        ('<meta charset="euc-kr">', "cp949", "한국어"),
        ('<meta charset="utf-8">', "utf-8", "naïve ☃"),
        ('<meta charset="no-such-charset">', "utf-8", "naïve ☃"),
        ('<meta charset="windows-1251">', "utf-8", "valid UTF-8 decides: naïve ☃"),
        ('<meta charset="windows-1251">', "utf-16", "a mark decides: naïve ☃"),
    ],
)
def test_charset_from_meta(meta, codec, text):
    """A label decides where the bytes do not: a mark and valid UTF-8 win against it, an unknown one is passed over."""
    page = f"<html><head>{meta}</head><body>\n<p>{text}</p>\n</body></html>\n"
    assert lines(page.encode(codec))[1] == f"<p>{text}</p>"


def test_damaged_pages_are_read():
    """Tags that never close, wrong nesting, zeros and endless nesting: lines, and as much structure as there is."""
    assert open_html(b"<html><table><tr><td>1<tr><td>2").parts[0].count == 2
    assert open_html(b"<html><b><i></b></i><h2>x").shape()["headings"] == ["h2 x"]
    deep = open_html(b"<html>" + b"<div>" * 100_000 + b"<h1>x</h1>")
    assert deep.count == 1
    deep.shape()
    assert open_html(b"").count == 0
    wide = b"<html><table><tr><td colspan=999>a</td></tr><tr><td colspan=99999999999>b</td></tr></table>"
    assert len(open_html(wide).part("table1").columns) == 999


@pytest.mark.parametrize(
    ("content", "is_html"),
    [
        (PAGE, True), (b"<p>one</p>\n<p>two</p><br>", True), (b"\xef\xbb\xbf<!doctype HTML>\n<p>x", True),
        (b"<!-- c --><html lang=en>", True), (b"<catalog><book/></catalog>", False), (b"a < b and b > c", False),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"></html>', False), (b"plain", False),
    ],
)  # fmt: skip
def test_recognised(content, is_html):
    """A page by its DOCTYPE or root, a piece by its tags; XHTML is XML."""
    assert (HtmlReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_html
