r"""Text from bytes: which encoding they have, and decoding that loses nothing.

A byte order mark decides; then UTF-8, which is all but impossible to fit by chance; then UTF-16 and UTF-32 without a
mark; then a legacy encoding. A byte that fits nowhere is shown as `\xNN`, so that no text is lost and none is made up.
Only LF, CRLF and a lone CR end lines.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from blobs.reading.source import BytesSource, Source

BLOCK_BYTES = 64 * 1024
"""What is decoded at a time: small enough for the caches, and the step in which text is indexed."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF8_BEGINNING = re.compile(rb"[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2}")
_SURROGATE_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")  # not UTF-8, but what wrote it meant UTF-8
_NEVER_INSIDE = tuple(bytes([each]) for each in range(0x30))
"""Bytes that are in no encoding inside of a character."""

_ESCAPED_BYTES = re.compile("[\udc80-\udcff]")
# Controls that text does not hold: all but separators (SOH, FS to US), white space and what steers a terminal.
_CONTROLS = bytes([0, *range(2, 7), *range(16, 27)])
_CONTROL_CHARACTERS = re.compile("[\x00\x02-\x06\x10-\x1a\ufffe\uffff]")
_PRINTABLE_BESIDE_LETTERS = re.compile(r"[\s\x20-\x7e]")
_CONTROLS_PER_BYTES = 1000
_ZEROS = bytes(512)
_FEW_HIGH_BYTES = 12
_LEGACY = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes are text: a codec, the byte order mark that leads them, and how many bytes do not fit the codec."""

    codec: str
    mark: bytes = b""
    misfits: int = 0

    @classmethod
    def of_facts(cls, facts: list[Any]) -> Self:
        """The encoding that `facts` told."""
        codec, mark, misfits = facts
        return cls(codec, bytes.fromhex(mark), misfits)

    def facts(self) -> list[Any]:
        """The encoding as JSON, for an index."""
        return [self.codec, self.mark.hex(), self.misfits]

    @property
    def unit_bytes(self) -> int:
        """The size of a code unit: what a line end is made of."""
        return {"utf-16": 2, "utf-32": 4}.get(self.codec[:6], 1)

    @property
    def is_utf8(self) -> bool:
        """The bytes are UTF-8 or ASCII, save for misfits."""
        return self.codec in ("utf-8", "ascii")

    @property
    def label(self) -> str:
        """The encoding as people name it."""
        return self.codec.replace("_", "-") + (" with byte order mark" if self.mark else "")

    @property
    def notes(self) -> list[str]:
        """What somebody who reads the text should know."""
        notes = [] if self.is_utf8 else [f"decoded from {self.label}"]
        if self.misfits:
            noun = "byte is" if self.misfits == 1 else "bytes are"
            notes.append(f"{self.misfits} {noun} not valid {self.label}, shown as \\xNN")
        return notes

    def decode(self, raw: bytes) -> str:
        r"""The text of whole characters; a byte that does not fit becomes `\xNN`."""
        return raw.decode(self.codec, "backslashreplace")

    def encode(self, text: str) -> bytes:
        """The bytes of a text, without the mark."""
        return text.encode(self.codec)


UTF8 = Encoding("utf-8")


def recognise(head: bytes, *, is_whole: bool, is_declared: bool = False) -> Encoding | None:
    """The encoding that the head of a blob seems to have, or None where it is no text.

    A head that is cut inside a character is text all the same, and so is text behind a long run of zero bytes: what a
    crash or a truncated log leaves in front. `is_declared` says that somebody called it text: then
    stray control characters are forgiven.
    """
    found = _by_mark(head)
    if found is not None:
        return found if _is_readable(head[len(found.mark) :], found) else None
    wide = _wide_without_mark(head)
    if wide is not None:
        return wide
    if head.startswith(_ZEROS):
        head = head.lstrip(b"\0") or head
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls * _CONTROLS_PER_BYTES > len(head) and not (is_declared and controls * 20 <= len(head)):
        return None
    bad, good = _misfits(head, is_end=is_whole)
    return UTF8 if not bad or good >= bad else Encoding("cp1252")


def utf8_mark(head: bytes) -> bytes | None:
    """The byte order mark of a text that seems to be UTF-8 by its head, b"" for none; None where it seems to be other.

    `detect` finds the same mark if the rest of the text is UTF-8 too.
    """
    found = _by_mark(head[:BLOCK_BYTES]) or _wide_without_mark(head[:BLOCK_BYTES])
    if found is None:
        return b""
    return found.mark if found.is_utf8 else None


def detect(source: Source) -> Encoding:
    """The encoding of a whole blob that is taken for text; reads all of it, in constant memory."""
    head = source.read(0, BLOCK_BYTES)
    found = _by_mark(head) or _wide_without_mark(head)
    if found is not None and not found.is_utf8:
        return found if _fits(source, found) else Encoding(found.codec, found.mark, _count_misfits(source, found))
    mark = found.mark if found is not None else b""
    bad, good, evidence = _examine_utf8(source, len(mark))
    if not bad:
        return Encoding("utf-8" if good or mark else "ascii", mark)
    if mark or good >= bad:
        return Encoding("utf-8", mark, bad)
    legacy = Encoding(_legacy_codec(evidence))
    if _fits(source, legacy):
        return legacy
    return Encoding("utf-8", mark, bad) if good else Encoding(legacy.codec, b"", _count_misfits(source, legacy))


def blocks(source: Source, encoding: Encoding, start: int | None = None) -> Iterator[tuple[int, bytes, str]]:
    """The text in blocks: where each begins, its bytes and its text.

    Blocks are about `BLOCK_BYTES` long, end at whole characters and never between CR and LF. `start` is where a block
    began before; without it the text begins after the byte order mark.
    """
    at = len(encoding.mark) if start is None else start
    size_bytes = BLOCK_BYTES
    while at < source.size:
        raw = source.read(at, at + size_bytes)
        if at + len(raw) < source.size:
            raw = whole_characters(raw, encoding)
            if not raw:  # a lone CR or half a character: it needs its neighbour
                size_bytes += BLOCK_BYTES
                continue
        yield at, raw, encoding.decode(raw)
        at += len(raw)
        size_bytes = BLOCK_BYTES


def to_utf8(source: Source, encoding: Encoding) -> Source:
    """The same text as UTF-8 without a mark: the source itself where it is that already, else a copy in memory."""
    if encoding.is_utf8 and not encoding.mark and not encoding.misfits:
        return source
    return BytesSource(b"".join(text.encode("utf-8", "backslashreplace") for _, _, text in blocks(source, encoding)))


def _by_mark(head: bytes) -> Encoding | None:
    for mark, codec in _MARKS:
        if not head.startswith(mark):
            continue
        # The mark of UTF-32 is also that of UTF-16 with a zero after it; as UTF-32 that would not decode.
        is_other = codec == "utf-32-le" and "\ufffd" in head[: len(head) // 4 * 4].decode(codec, "replace")
        if not is_other:
            return Encoding(codec, mark)
    return None


def _is_readable(raw: bytes, encoding: Encoding) -> bool:
    """Almost everything is a character that text holds."""
    raw = raw[: len(raw) - len(raw) % encoding.unit_bytes]
    text = raw.decode(encoding.codec, "replace")
    strange = text.count("\ufffd") + len(_CONTROL_CHARACTERS.findall(text))
    return strange <= 1 + len(text) // 50


def _wide_without_mark(head: bytes) -> Encoding | None:
    """UTF-16 or UTF-32 by where the zero bytes lie: the high halves of Latin letters, blanks and line ends."""
    if len(head) < 4 or b"\0" not in head:
        return None
    for codec, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        zeros = [head[place::width].count(0) for place in range(width)]
        high = zeros[-1] if codec.endswith("le") else zeros[0]
        low = zeros[0] if codec.endswith("le") else zeros[-1]
        if low * 4 > high or high * 8 < len(head) // width:
            continue
        planes = zeros[2] if codec == "utf-32-le" else zeros[1]
        if width == 4 and planes * 10 < 9 * (len(head) // width):
            continue  # text is hardly ever made of astral characters; binary numbers look like them
        whole = head[: len(head) - len(head) % width]
        text = codecs.getincrementaldecoder(codec)("replace").decode(whole)
        plausible = sum(1 for each in text if each.isalnum() or _PRINTABLE_BESIDE_LETTERS.match(each))
        if "\ufffd" not in text and not _CONTROL_CHARACTERS.search(text) and plausible * 10 >= len(text) * 9:
            return Encoding(codec)
    return None


def _misfits(raw: bytes, *, is_end: bool) -> tuple[int, int]:
    """How many bytes are not UTF-8, and how many characters beyond ASCII speak for it all the same."""
    if raw.isascii():
        return 0, 0
    if not is_end:
        raw = whole_characters(raw, UTF8)
    text = raw.decode("utf-8", "surrogateescape")
    beyond = sum(1 for each in text if each > "\x7f")
    bad = len(_ESCAPED_BYTES.findall(text))
    return bad, beyond - bad + 3 * len(_SURROGATE_BYTES.findall(raw))


def _examine_utf8(source: Source, start: int) -> tuple[int, int, bytes]:
    """Misfits, characters beyond ASCII, and the block with the first misfit."""
    bad = good = 0
    evidence = b""
    at = start
    while at < source.size:
        raw = source.read(at, at + BLOCK_BYTES)
        if at + len(raw) < source.size:
            raw = whole_characters(raw, UTF8) or raw
        at += len(raw)
        if raw.isascii():
            continue
        try:
            good += len(raw) - len(raw.decode())  # continuation bytes: at least one a character
        except UnicodeDecodeError:
            misfits, characters = _misfits(raw, is_end=True)
            bad, good = bad + misfits, good + characters
            evidence = evidence or _whole_words(raw, is_begin=at == start + len(raw), is_end=at >= source.size)
    return bad, good, evidence


def _whole_words(raw: bytes, *, is_begin: bool, is_end: bool) -> bytes:
    """A block of an unknown encoding without the words that its borders may cut: half a character speaks against it."""
    begin = 0 if is_begin else min((at for each in _NEVER_INSIDE if (at := raw.find(each)) >= 0), default=0)
    end = len(raw) if is_end else max(map(raw.rfind, _NEVER_INSIDE)) + 1
    return raw if raw[begin:end].isascii() else raw[begin:end]


def whole_characters(raw: bytes, encoding: Encoding) -> bytes:
    """The bytes without the character that is cut at their end, and without a CR whose LF may follow."""
    width = encoding.unit_bytes
    if encoding.is_utf8:
        for back in range(1, min(4, len(raw) + 1)):
            if raw[-back] >= 0xC0:
                if _UTF8_BEGINNING.fullmatch(raw[-back:]):
                    raw = raw[:-back]
                break
            if raw[-back] < 0x80:
                break
    else:
        decoder = codecs.getincrementaldecoder(encoding.codec)("backslashreplace")
        decoder.decode(raw)
        pending = decoder.getstate()[0]
        raw = raw[: len(raw) - len(pending)]
    return raw.removesuffix("\r".encode(encoding.codec if width > 1 else "ascii"))


def _fits(source: Source, encoding: Encoding) -> bool:
    try:
        for _, raw, _ in blocks(source, encoding):
            raw.decode(encoding.codec)
    except UnicodeDecodeError:
        return False
    return True


def _count_misfits(source: Source, encoding: Encoding) -> int:
    return sum(raw.decode(encoding.codec, "replace").count("\ufffd") for _, raw, _ in blocks(source, encoding))


def _legacy_codec(evidence: bytes) -> str:
    """The likeliest single- or double-byte encoding of text that is not UTF-8."""
    high = sum(1 for each in evidence if each > 0x7F)
    if high < _FEW_HIGH_BYTES and _reads_as_western(evidence):
        return "cp1252"
    from charset_normalizer import from_bytes  # its tables take a while to load, and are seldom needed

    best = from_bytes(_dense(evidence), cp_isolation=_LEGACY).best()
    if best is not None and best.encoding not in ("ascii", "utf_8"):
        return best.encoding
    return "cp1252"


def _reads_as_western(raw: bytes) -> bool:
    text = raw.decode("cp1252", "replace")
    return all(each.isalpha() or each in "€‚„…‘’“”•–—™©®°±²³´µ·«»¿¡£§ " for each in text if each > "\x7f")


def _dense(raw: bytes) -> bytes:
    """The lines that say something about the encoding."""
    lines = [line for line in raw.splitlines(keepends=True) if not line.isascii()]
    return b"".join(lines) or raw
