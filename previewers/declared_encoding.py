"""The encoding that a document declares inside itself, where its bytes do not decide."""

import codecs

from blobs.reading.decoding import Encoding, blocks, detect
from blobs.reading.source import Source

# Browsers read these labels as the larger Windows code pages (WHATWG Encoding Standard, section 4.2).
_AS_BROWSERS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}
_ALLOWED = ("cp125", "iso8859-", "koi8-", "mac-", "cp874", "cp866", "cp932", "cp949", "euc_jp", "gb18030", "big5")
"""Encodings that extend ASCII and whose characters end where their bytes do."""


def encoding_as_declared(source: Source, label: str, *, as_browsers: bool) -> Encoding:
    """The encoding of a document that calls itself `label` ("" for nothing).

    A byte order mark and text that is valid UTF-8 decide against the label; a label that is unknown is passed over.
    `as_browsers` reads ISO 8859-1 and its like as the Windows code pages that extend them, as browsers do.
    """
    found = detect(source)
    is_settled = found.mark or found.unit_bytes > 1 or (found.is_utf8 and not found.misfits)
    codec = "" if is_settled or not label else _codec(label, as_browsers=as_browsers)
    if not codec:
        return found
    misfits = sum(raw.decode(codec, "replace").count("\ufffd") for _, raw, _ in blocks(source, Encoding(codec)))
    return found if misfits and found.is_utf8 and found.misfits <= misfits else Encoding(codec, b"", misfits)


def _codec(label: str, *, as_browsers: bool) -> str:
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    if as_browsers:
        name = _AS_BROWSERS.get(name, name)
    return name if name.startswith(_ALLOWED) else ""
