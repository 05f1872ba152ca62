"""Text as numbered lines: ends of lines, encodings, terminal escapes, characters."""

import pytest

from blobs.domain.ranges import ItemRange
from blobs.reading.decoding import BLOCK_BYTES, detect, recognise
from blobs.reading.opening import take_sample
from blobs.reading.reader import Sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.terminal import without_escapes
from previewers.text import TextReader

POLISH = "Zażółć gęślą jaźń, bo źdźbło żyta rośnie w ćmie. Gdzieś pędzą łódź i wóz, a śnieg pada.\n"
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Всё хорошо, что хорошо кончается.\n"
JAPANESE = "これは日本語の文章です。東京は日本の首都であり、多くの人々が住んでいます。\n"


def open_text(content: bytes):
    return TextReader().open(BytesSource(content))


def lines(view) -> list[str]:
    return list(view.items(ItemRange(0, view.count)))


class TestTextReader(ReaderContract):
    reader = TextReader()
    accepts_anything = True  # three random bytes may well be text
    examples = {
        "plain": Example(b"one\ntwo\n\nfour", "text/plain", 4),
        "ends": Example(b"a\r\nb\rc\nd\r\n", "text/plain", 4),
        "umlauts": Example("Grüße\naus Köln\n".encode() * 40, "text/plain", 80),
        "UTF-16": Example("one\r\ntwo\n".encode("utf-16") * 1, "text/plain", 2),
        "escapes": Example(b"\x1b[31mred\x1b[0m\nplain\n", "text/plain", 2),
        "several blocks": Example(b"".join(b"line %d \xc3\xa9\n" % i for i in range(12_000)), "text/plain", 12_000),
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        (b"\r\r\n\n", ["", "", ""]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode(), ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("ä\r\nö\n".encode("utf-16"), ["ä", "ö"]),
        ("ä\rö\n".encode("utf-16-be"), ["ä", "ö"]),
        ("text\nof 😀\n".encode("utf-16-le"), ["text", "of 😀"]),
        ("text\nof 😀".encode("utf-32"), ["text", "of 😀"]),
        ("text\r\nof 😀".encode("utf-32-be"), ["text", "of 😀"]),
        ("José Álvarez\nMüller\n".encode("cp1252"), ["José Álvarez", "Müller"]),
        (b"\x93quoted\x94 \x96 it costs 3 \x80", ["“quoted” – it costs 3 €"]),
        ((POLISH * 5).encode("cp1250"), [POLISH.strip()] * 5),
        ((RUSSIAN * 5).encode("cp1251"), [RUSSIAN.strip()] * 5),
        ((RUSSIAN * 5).encode("koi8-r"), [RUSSIAN.strip()] * 5),
        ((JAPANESE * 5).encode("shift_jis"), [JAPANESE.strip()] * 5),
        ((JAPANESE * 5).encode("euc_jp"), [JAPANESE.strip()] * 5),
        ("größer – grüner – schöner\n".encode() + b"\xff\n", ["größer – grüner – schöner", "\\xff"]),
    ],
)
def test_lines(content, expected):
    """LF, CRLF and a lone CR end lines and nothing else does, in every encoding."""
    view = open_text(content)
    assert view.count == len(expected)
    assert lines(view) == expected
    assert view.slice(ItemRange(0, view.count)) == (content, "text/plain")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-be", "utf-32", "cp1252"])
def test_lines_across_blocks(codec, end):
    """Blocks cut neither a character nor CRLF, wherever their borders fall."""
    written = [f"{number} größer {'x' * (number % 97)}" for number in range(4000)]
    content = end.join(written).encode(codec)
    assert len(content) > 3 * BLOCK_BYTES
    view = open_text(content)
    assert view.count == 4000
    assert lines(view) == written
    assert list(view.items(ItemRange(1999, 2003))) == written[1999:2003]
    text = end.join(written)
    assert view.text_length() == len(text)
    assert view.text_offset(2000) == len(end.join(written[:2000]) + end)
    assert view.text(100_000, 100_050) == text[100_000:100_050]


@pytest.mark.parametrize("shift", range(4))
def test_characters_at_block_borders(shift):
    """A character of four bytes that lies across the border of a block is whole."""
    text = "x" * (BLOCK_BYTES - shift) + "😀é\r\n" + "y" * 10
    view = open_text(text.encode())
    assert lines(view) == [text[:-12], "y" * 10]
    assert view.text_length() == len(text)
    assert view.text_offset(1) == len(text) - 10


def test_one_long_line():
    """A line that spans many blocks is one item, and any of its characters can be read."""
    content = b"start" + b"ab" * 500_000 + b"end"
    view = open_text(content)
    assert view.count == 1
    assert lines(view) == [content.decode()]
    assert view.text(1_000_005, 2_000_000) == "end"
    assert view.text_offset(1) == view.text_length() == 1_000_008


def test_slices_are_the_files_own_bytes():
    """A slice of UTF-8 text keeps line ends and escapes; a part of UTF-16 keeps the mark that makes it readable."""
    view = open_text(b"\x1b[1ma\x1b[m\r\nb\rc\n")
    assert view.slice(ItemRange(0, 2))[0] == b"\x1b[1ma\x1b[m\r\nb\r"
    assert view.slice(ItemRange(2, 3))[0] == b"c\n"
    wide = open_text("ä\nö\nü\n".encode("utf-16"))
    assert lines(open_text(wide.slice(ItemRange(1, 3))[0])) == ["ö", "ü"]
    assert open_text((RUSSIAN * 9).encode("cp1251")).slice(ItemRange(3, 4))[0] == RUSSIAN.encode()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;196mE\x1b[0;31mRR\x1b[mOR", "ERROR"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\dcs \x1b_apc\x1b\\done", "dcs done"),
        ("a\x1b[2K\x1b[1Gb\x1b7c\x1b(Bd", "abcd"),
        ("N\x08NA\x08AM\x08ME\x08E", "NAME"),
        ("bell\x07 and shift\x0e\x0f", "bell and shift"),
        ("\x1b]0;never ends", "0;never ends"),
        ("cut \x1b[3", "cut "),
        ("|\x08/\x08-\x08\\ done", "\\ done"),
        ("kept\x08\x08", "kept"),
        ("u\x08_n\x08_", "un"),
        ("\x08\x08a", "a"),
        ("tab\tstays\x0b\x0c\x01\x1f\u2028", "tab\tstays\x0b\x0c\x01\x1f\u2028"),
        ("50%[m is text", "50%[m is text"),
    ],
)
def test_terminal_escapes(written, shown):
    """What steers a terminal is not shown; whatever else stands there is."""
    assert without_escapes(written) == shown


def test_cleaned_items_and_raw_characters():
    """Items and searches see no escapes, a note says so, and the characters of the file are all there."""
    content = b"\x1b[32mok\x1b[0m 1\nplain\n"
    view = open_text(content)
    assert lines(view) == ["ok 1", "plain"]
    assert view.notes == ["terminal escapes and control characters removed"]
    assert view.text(0, 100) == content.decode()
    assert open_text(b"plain\n").notes == []


def test_notes_on_encodings():
    """A legacy encoding and bytes that are no text are said."""
    assert open_text("José Álvarez".encode("cp1252")).notes == ["decoded from cp1252"]
    assert open_text("größer, schöner, weiter\n".encode() + b"\xfe\xff").notes == [
        "2 bytes are not valid utf-8, shown as \\xNN"
    ]


@pytest.mark.parametrize(
    ("head", "is_text"),
    [
        (b"plain", True),
        ("é".encode()[:1], True),
        (("x" * 99 + "日本").encode()[:-1], True),
        (b"\x00\x01\x02\x03" * 9, False),
        (b"text with a \x00 in it", False),
        (b"\x7fELF\x02\x01\x01\x00" + bytes(9), False),
        ("wide".encode("utf-16-le"), True),
        ("wide".encode("utf-32-be"), True),
        (b"\x1b[31mred\x1b[m", True),
        (b"8=FIX.4.2\x019=65\x0135=A\x01", True),
    ],
)
def test_recognising_text(head, is_text):
    """A cut character leaves text text; zero bytes and controls make it binary."""
    assert (recognise(head, is_whole=False) is not None) == is_text


@pytest.mark.parametrize("cut", range(1, 9))
def test_cut_samples_are_text(cut):
    """A sample that ends anywhere inside multi-byte text is no binary."""
    head = ("日本語のテキスト。" * 5000).encode()[: 65536 - cut]
    assert TextReader().sniff(Sample(head, b"", 10**6)).level == 10


def test_late_misfit():
    """One byte at the end that is not UTF-8 makes a legacy text, not a binary one."""
    encoding = detect(BytesSource(b"plain\n" * 30_000 + b"caf\xe9\n"))
    assert encoding.codec == "cp1252"


def test_escapes_inside_words():
    """A word with colours inside it is found as it shows."""
    for written in ("\x1b[31mER\x1b[1mROR\x1b[0m", "E\x1b[0mRROR", "\x1b[38;2;1;2;3mERR\x1b[39mOR"):
        (found,) = [text for _, text in open_text(b"").search_texts(lines(open_text(written.encode()))[0], None)]
        assert found == "ERROR"


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦", "e\u0301", "🇩🇪", "한국어 中文 日本語", "<|endoftext|>"])
def test_characters_stay(text):
    """Joined, combining and wide characters, and what a tokenizer calls special, are text like any other."""
    view = open_text(f"{text}\n{text}".encode())
    assert lines(view) == [text, text]
    assert view.text_offset(1) == len(text) + 1


def test_text_behind_zero_bytes_is_text():
    """A run of zeros in front, as a crash or a truncated log leaves it, makes text no binary, and is not shown."""
    content = bytes(4096) + b"10:00:01 started\n10:00:02 ended\n"
    assert TextReader().sniff(take_sample(BytesSource(content), None)).level > 0
    view = TextReader().open(BytesSource(content))
    assert list(view.items(ItemRange(0, 2))) == ["10:00:01 started", "10:00:02 ended"]
    assert view.notes == ["terminal escapes and control characters removed"]
    assert TextReader().sniff(take_sample(BytesSource(bytes(4096) + bytes(range(1, 32)) * 9), None)).level == 0
