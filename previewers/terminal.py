"""Terminal escapes: what a terminal obeys and a reader never sees."""

import re

# ECMA-48: control sequences, the strings OSC DCS SOS PM APC (ended by ST or, for OSC, by BEL), and two-byte escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
_STEERING = re.compile("[\x00\x07\x08\x0e\x0f\x7f]")
_ANY = re.compile("[\x00\x07\x08\x0e\x0f\x1b\x7f\x90\x98\x9b\x9d-\x9f]")
_ANY_ASCII = (b"\x00", b"\x1b", b"\x07", b"\x08", b"\x0e", b"\x0f", b"\x7f")
_ANY_BEYOND = re.compile(b"\xc2[\x90\x98\x9b\x9d-\x9f]")


def steers(raw: bytes) -> bool:
    """UTF-8 text holds something that `without_escapes` takes out."""
    return any(each in raw for each in _ANY_ASCII) or (b"\xc2" in raw and _ANY_BEYOND.search(raw) is not None)


def without_escapes(text: str) -> str:
    """The text as a terminal shows it: no colours, titles, cursor moves, bells or zeros, and what was struck over gone.

    Characters that do not steer a terminal stay, also separators (SOH, FS to US) and white space.
    """
    if not _ANY.search(text):
        return text
    text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _struck_over(text)
    return _STEERING.sub("", text)


def _struck_over(text: str) -> str:
    """The text with each backspace obeyed: what follows is written over, an underscore only underlines."""
    shown: list[str] = []
    at = 0
    for character in text:
        if character == "\x08":
            at = max(0, at - 1)
            continue
        if at < len(shown):
            shown[at] = shown[at] if character == "_" else character
        else:
            shown.append(character)
        at += 1
    return "".join(shown)
