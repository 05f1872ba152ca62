"""Names of archive members, which older programs wrote in the code page of their country without saying which."""

import re
from collections.abc import Iterable
from itertools import islice

FALLBACK_CODEC = "cp437"
"""What the zip specification says (appendix D), and what every byte is a character of."""

LABELS = {
    "cp437": "code page 437",
    "cp866": "code page 866",
    "cp932": "Shift-JIS",
    "gb18030": "GBK",
    "cp949": "EUC-KR",
}
_NAMES_MAX = 2000
_KOREAN_BYTES_MIN = 12
"""Hangul lies where half of the common Chinese characters do: six of them in a row are no chance."""

_EXPECTED = {
    "cp437": re.compile(rb"(?<![\x80-\xff])[\x80-\xa5\xe1]{1,2}(?![\x80-\xff])"),
    "cp866": re.compile(rb"(?<![A-Za-z\x80-\xff])[\x80-\xaf\xe0-\xf1]{2,}(?![A-Za-z\x80-\xff])"),
    "cp932": re.compile(
        rb"(?:\x81[\x58\x5b]|\x82[\x9f-\xf1]|\x83[\x40-\x96]|[\x88-\x9f\xe0-\xea][\x40-\x7e\x80-\xfc])+"
    ),
    "gb18030": re.compile(rb"(?:[\xb0-\xd7][\xa1-\xfe])+"),
    "cp949": re.compile(rb"(?:[\xb0-\xc8][\xa1-\xfe])+"),
}
"""What a name in that code page is mostly made of: accented letters alone among ASCII; words in Cyrillic; kana and
kanji; the 3,755 common hanzi; the 2,350 common syllables."""


def codec_of(names: Iterable[bytes]) -> str:
    """The code page in which names that are not UTF-8 were most likely written."""
    taken = list(islice(names, _NAMES_MAX))
    high_bytes = sum(len(re.findall(rb"[\x80-\xff]", name)) for name in taken)
    scores = {codec: _score(taken, codec) for codec in LABELS if _all_decode(taken, codec)}
    best = max(scores, key=lambda codec: scores[codec])
    if best == "gb18030" and scores.get("cp949") == scores[best] >= _KOREAN_BYTES_MIN:
        best = "cp949"
    return best if scores[best] * 2 > high_bytes else FALLBACK_CODEC


def decoded(raw: bytes, codec: str) -> str:
    """A name as text: UTF-8 where it is, else by this codec, else by the code page that knows every byte."""
    for each in ("utf-8", codec):
        try:
            return raw.decode(each)
        except UnicodeDecodeError:
            continue
    return raw.decode(FALLBACK_CODEC)


def is_utf8(raw: bytes) -> bool:
    """The bytes are UTF-8, or ASCII."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _score(names: list[bytes], codec: str) -> int:
    """How many bytes lie in what is expected."""
    expected = _EXPECTED[codec]
    return sum(len(found.group()) for name in names for found in expected.finditer(name))


def _all_decode(names: list[bytes], codec: str) -> bool:
    try:
        for name in names:
            name.decode(codec)
    except UnicodeDecodeError:
        return False
    return True
