"""XML: lines as written, counts of elements, records as tables; hostile documents are harmless."""

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.reader import Part
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.structured_text import STRUCTURE_CHARS_MAX
from previewers.xml import XmlReader

BOOKS = b"""<?xml version="1.0"?>
<catalog>
  <book id="007"><title>Salt &amp; Stone</title><price currency="EUR">1.50</price></book>
  <!-- not a book -->
  <book id="008"><title>Norway</title><price currency="NOK">20</price><tag>a</tag><tag>b</tag></book>
  <book id="009"><title/><author><name>Ann</name></author></book>
</catalog>
"""
FEED = b"""<rss version="2.0"><channel><title>News</title>
<item><title>one</title><link>u1</link></item>
<item><title>two</title><link>u2</link></item>
</channel></rss>"""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">\n<rect width="5"/>\n<rect width="6"/>\n</svg>\n'
CYRILLIC = '<?xml version="1.0" encoding="ISO-8859-5"?>\n<p>\n<w>Добрый день</w></p>'.encode("iso-8859-5")


def open_xml(content: bytes):
    return XmlReader().open(BytesSource(content))


def chosen(content: bytes, declared: str | None = None) -> tuple[str, str]:
    choice = Registry().choose(take_sample(BytesSource(content), declared))[0]
    return choice.plug_in.name, choice.type


class TestXmlReader(ReaderContract):
    reader = XmlReader()
    examples = {
        "records": Example(BOOKS, "application/xml", 7),
        "feed": Example(FEED, "application/xml", 4),
        "picture": Example(SVG, "image/svg+xml", 4),
        "Cyrillic": Example(CYRILLIC, "application/xml", 3),
        "UTF-16": Example('<?xml version="1.0"?>\n<a>\n<b>é</b></a>\n'.encode("utf-16"), "application/xml", 3),
    }


def test_elements_are_counted():
    """The shape counts elements and attributes by path, and the children of the root; comments are none."""
    shape = open_xml(BOOKS).shape()
    assert (shape["root"], shape["children"]) == ("catalog", 3)
    assert shape["elements"] == {
        "book": 3,
        "book/@id": 3,
        "book/title": 3,
        "book/price": 2,
        "book/price/@currency": 2,
        "book/tag": 2,
        "book/author": 1,
        "book/author/name": 1,
    }


def test_records_are_a_table():
    """Attributes and children are columns; text stays as written, what repeats is a list, what nests is an object."""
    view = open_xml(BOOKS)
    assert view.parts == [Part("book", "rows", 3)]
    table = view.table()
    assert table.columns == ["id", "title", "price", "price@currency", "tag", "author"]
    assert list(table.rows()) == [
        ["007", "Salt & Stone", "1.50", "EUR", None, None],
        ["008", "Norway", "20", "NOK", ["a", "b"], None],
        ["009", "", None, None, None, {"name": "Ann"}],
    ]
    assert "in SQL the blob is a table of its <book> elements" in view.notes


def test_records_deeper_inside():
    """Elements that repeat below the root's only child of a name are a part; the blob itself stays lines in SQL."""
    view = open_xml(FEED)
    assert view.parts == [Part("channel.item", "rows", 2)]
    assert list(view.part("channel.item").items(ItemRange(0, 9))) == [["one", "u1"], ["two", "u2"]]
    assert view.table().columns == ["line"]


def test_a_name_for_attribute_and_child():
    """An attribute that is called like a child keeps its sign."""
    table = open_xml(b'<r><e id="1"><id>x</id></e><e id="2"><id>y</id></e></r>').table()
    assert table.columns == ["@id", "id"]
    assert list(table.rows()) == [["1", "x"], ["2", "y"]]


def test_lines_are_the_source():
    """Items, and so searches, see the text as written: tags and entities too."""
    lines = list(open_xml(BOOKS).items(ItemRange(2, 4)))
    assert lines[0] == '  <book id="007"><title>Salt &amp; Stone</title><price currency="EUR">1.50</price></book>'
    assert lines[1] == "  <!-- not a book -->"


def test_the_declared_encoding():
    """An encoding declaration decides where the bytes are not UTF-8."""
    view = open_xml(CYRILLIC)
    assert list(view.items(ItemRange(2, 3))) == ["<w>Добрый день</w></p>"]
    assert view.notes == ["decoded from iso8859-5"]
    assert view.shape()["elements"] == {"w": 1}


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"<a>" * 100_000, "Excessive depth"),
        (b"<r><e>1</e><e>2</e><f></r>", "not well-formed XML at line 1"),
        (b"<r>\n<e>1</e>\n<e>2</f>\n</r>", "not well-formed XML at line 3"),
    ],
)
def test_damage_is_a_note(content, note):
    """What is not well-formed is told with its line, and what stands before it is counted."""
    view = open_xml(content)
    assert any(note in each for each in view.notes)
    assert view.shape() is not None
    assert view.count == content.count(b"\n") + 1


def test_entities_do_not_expand():
    """A bomb of entities stays the few characters that it is, and a file is never fetched."""
    bomb = b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "' + b"&a;" * 1000 + b'"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    view = open_xml(bomb + b"<r><e>&b;&b;</e><e>&f;</e></r>")
    assert list(view.table().rows()) == [["&b;&b;"], ["&f;"]]


def test_large_documents():
    """The shape of a large document is that of its beginning, and says so; its table is all of it."""
    row = b'<e i="%d"><v>some text to fill the line up a little, and then some more of it</v></e>\n'
    content = b"<r>\n" + b"".join(row % number for number in range(100_000)) + b"</r>\n"
    assert len(content) > STRUCTURE_CHARS_MAX
    view = open_xml(content)
    assert view.count == 100_002
    assert any(note.startswith("structure of the first 8,000,000 of") for note in view.notes)
    assert view.parts == [Part("e", "rows", None)]
    assert view.part("e").count == 100_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (BOOKS, ("xml", "application/xml")),
        (FEED, ("xml", "application/xml")),
        (SVG, ("xml", "image/svg+xml")),
        (b"<note><to>Ann</to><from>Bob</from></note>", ("xml", "application/xml")),
        (b"<34>1 2003-10-11T22:14:15Z host su - 'su root' failed\n" * 3, ("text", "text/plain")),
        (b"<ann> hello there\n<bob> hi\n<ann> how are you\n", ("text", "text/plain")),
        (b"<stdio.h> is a header\n", ("text", "text/plain")),
        (b"if (a < b && c > d) {\n  return;\n}\n", ("text", "text/plain")),
        (b"<T>(x: T) => x\n", ("text", "text/plain")),
    ],
)
def test_recognised(content, expected):
    """Markup by its declaration or balanced tags; angle brackets alone are text."""
    assert chosen(content) == expected


def test_a_cut_sample():
    """A document whose head alone is shown is XML all the same."""
    content = b"<r>\n" + b"<e><v>text</v></e>\n" * 10_000 + b"</r>\n"
    assert chosen(content) == ("xml", "application/xml")


def test_declared_kin():
    """`+xml` types are read as XML and keep their name; text/xml is application/xml."""
    assert chosen(FEED, "application/rss+xml") == ("xml", "application/rss+xml")
    assert chosen(FEED, "text/xml") == ("xml", "application/xml")


def test_from_blob_to_answers(chat: Conversation):
    """Attached, read, searched and queried: lines as written, records typed only where that is exact."""
    handle = chat.attach(BOOKS, type="application/xml")
    assert (handle["type"], handle["items"], handle["preview"]["unit"]) == ("application/xml", 7, "lines")
    assert handle["preview"]["shape"]["children"] == 3
    assert chat.call("blob_read", {"blob": "blob1", "start": 3, "count": 1})["data"]["items"] == [
        "  <!-- not a book -->"
    ]
    (match,) = chat.call("blob_search", {"blob": "blob1", "pattern": "NOK"})["data"]["matches"]
    assert match["item"] == 4
    answer = chat.call(
        "blob_code", {"blob": "blob1", "language": "sql", "code": "select id, title, price from blob1 order by id"}
    )
    assert answer["data"]["rows"] == [["007", "Salt & Stone", "1.50"], ["008", "Norway", "20"], ["009", "", None]]
    part = {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1.book"}
    assert chat.call("blob_code", part)["data"]["rows"] == [[3]]
