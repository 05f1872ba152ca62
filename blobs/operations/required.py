"""What every match of an expression must hold: a literal by which most of a blob can be passed over."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"\\(?P<escaped>[^\w\s])"  # a mark that stands for itself
    r"|(?P<piece>\\[dDwWsSbBntrfva]|[.^$\n]|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\\[])*\])"  # something, or a place
    r"|(?P<repeated>[*?]|\{\d+(?:,\d*)?\})"  # what is before it may be missing
    r"|(?P<again>\+)"
    r"|(?P<opening>\((?:\?:|\?P?<\w+>|(?!\?)))"
    r"|(?P<closing>\))"
    r"|(?P<either>\|)"
    r"|(?P<plain>[^\\\[\](){}*+?|])"
)


def required_literal(pattern: str) -> str | None:
    """The longest text that stands in every match of an RE2 expression; None where none is plain to see.

    What lies in parentheses is not looked at, nor is any expression whose notation is out of the ordinary.
    """
    longest = max(_runs(pattern), key=len, default="")
    return longest or None


def _runs(pattern: str) -> Iterator[str]:
    """The texts of which all must be in a match; none where the expression is not understood to its end."""
    runs: list[str] = [""]
    at = depth = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return
        at = token.end()
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        depth += (kind == "opening") - (kind == "closing")
        if depth < 0 or (kind == "either" and not depth):
            return
        if depth:
            continue
        if kind in ("plain", "escaped"):
            runs[-1] += text
        elif kind == "repeated":
            runs[-1] = runs[-1][:-1]
            runs.append("")
        else:
            runs.append("")
    yield from runs if not depth else ()
