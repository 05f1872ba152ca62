"""Telling XML and HTML by the head of a blob, without a parser: a sniff runs in the service's own process."""

import re
from dataclasses import dataclass

_SKIPPED = re.compile(r"\s*(?:<\?.*?\?>|<!--.*?-->)", re.DOTALL)
_DOCTYPE = re.compile(r"\s*<!DOCTYPE\s+([\w.:-]+)[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ROOT = re.compile(r"\s*<([^\W\d][\w.:-]*)(?=[\s/>])")
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<(?P<close>/?)(?P<name>[^\W\d][\w.:-]*)(?P<inside>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>",
    re.DOTALL,
)
_TAGS_MAX = 4000
_HTML_NAMES = """
    a abbr address article aside b base blockquote body br button caption center cite code col colgroup dd del
    details dfn div dl dt em fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head
    header hr html i iframe img input ins kbd label legend li link main map mark meta nav noscript ol optgroup
    option p param picture pre q s samp script section select small source span strong style sub summary sup svg
    table tbody td template textarea tfoot th thead time title tr tt u ul var video audio path wbr
"""
_HTML_TAGS = frozenset(_HTML_NAMES.split())
_HTML_BEGINNINGS = _HTML_TAGS - {"svg", "path", "source", "time", "var", "label", "title", "s", "q", "param", "map"}


@dataclass(frozen=True, slots=True)
class Markup:
    """What the beginning of a markup text says.

    `root` is the first element's name ("" where there is none yet), `doctype` the name in its DOCTYPE in lower case.
    """

    is_declared_xml: bool
    doctype: str
    root: str
    body: str
    """The text from the root element on."""


def beginning(text: str) -> Markup | None:
    """What a text begins with, or None where that is no markup."""
    text = text.removeprefix("\ufeff").lstrip()
    if not text.startswith("<"):
        return None
    is_declared_xml = re.match(r"<\?xml\s", text) is not None
    at, doctype = 0, ""
    while found := _SKIPPED.match(text, at) or _DOCTYPE.match(text, at):
        doctype = found[1].lower() if found.re is _DOCTYPE else doctype
        at = found.end()
    root = _ROOT.match(text, at)
    if root is None and not is_declared_xml and not doctype:
        return None
    return Markup(is_declared_xml, doctype, root[1] if root else "", text[at:])


def is_balanced(body: str, *, is_whole: bool) -> bool:
    """The tags open and close one element, as in XML; a text that is cut may leave some open."""
    nesting: list[str] = []
    tags = closed = 0
    end = 0
    for token in _TOKEN.finditer(body):
        name = token["name"]
        if name is None:
            continue
        if tags and not nesting:
            return False  # something follows the root
        tags += 1
        end = token.end()
        if token["close"]:
            if not nesting or nesting.pop() != name:
                return False
            closed += 1
        elif token["inside"].endswith("/"):
            closed += 1
        else:
            nesting.append(name)
        if tags >= _TAGS_MAX:
            return closed > 0
    if not is_whole:
        return closed > 0 and bool(nesting)
    rest = re.sub(r"<!--.*?-->|<\?.*?\?>", "", body[end:], flags=re.DOTALL)
    return tags > 0 and not nesting and not rest.strip()


def is_html_fragment(body: str) -> bool:
    """A text that begins with an element of a page, and holds several tags that are nearly all HTML."""
    first = _ROOT.match(body)
    if first is None or first[1].lower() not in _HTML_BEGINNINGS:
        return False
    names = [(token["name"].lower(), token["close"]) for token in _TOKEN.finditer(body) if token["name"]][:_TAGS_MAX]
    known = sum(name in _HTML_TAGS for name, _ in names)
    return len(names) >= 3 and known >= 0.9 * len(names) and any(close for _, close in names)
