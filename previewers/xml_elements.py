"""The elements of an XML text in constant memory: counts by path, and repeated elements as records.

The parser is lxml's, fed piece by piece: entities stay as written, nothing is fetched, depth and expansion are bounded.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from blobs.domain.errors import UnreadableError

PATHS_MAX = 2000
"""Documents with more different paths use names as data; the rest is not told one by one."""
COLUMNS_MAX = 500
_PIECE_CHARS = 64 * 1024
_CAUSE_CHARS_MAX = 160

Pieces = Callable[[], Iterable[str]]


@dataclass(slots=True)
class Elements:
    """How often each path of elements and attributes occurs, in order of first appearance.

    `root` is the root's name, `children` counts the elements right below it, `problem` says where the text stops being
    XML. Paths are names joined by `/`, an attribute's name after `@`.
    """

    root: str = ""
    children: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    problem: str = ""


def count_elements(pieces: Pieces, *, is_whole: bool) -> Elements:
    """Count what a text holds, up to where it is not well-formed."""
    found = Elements()
    path: list[str] = []
    try:
        for event, element in _events(pieces, is_whole=is_whole):
            if event == "start":
                name = name_of(element)
                path.append(f"{path[-1]}/{name}" if path else name)
                found.root = found.root or name
                found.children += len(path) == 2
                _count(found.counts, path[-1])
                for attribute in element.attrib:
                    _count(found.counts, f"{path[-1]}/@{_local(str(attribute))}")
            else:
                path.pop()
                _forget(element)
    except etree.XMLSyntaxError as problem:
        found.problem = _told(problem)
    return found


def records(pieces: Pieces, path: str) -> Iterator[dict[str, Any]]:
    """Each element at a path as its fields, up to where the text is not well-formed."""
    steps: list[str] = []
    inside = 0
    try:
        for event, element in _events(pieces, is_whole=True):
            if event == "start":
                name = name_of(element)
                steps.append(f"{steps[-1]}/{name}" if steps else name)
                inside += steps[-1] == path
                continue
            if steps.pop() == path:
                inside -= 1
                yield fields_of(element)
            if not inside:
                _forget(element)
    except etree.XMLSyntaxError:
        return


def fields_of(element: Any) -> dict[str, Any]:
    """The fields of a record: `@name` an attribute, `name` a child's text, `name@attribute` a child's attribute.

    A name that occurs again gives a list; a child with elements of its own, or mixed with text, is an object.
    """
    fields: dict[str, Any] = {f"@{_local(str(name))}": str(value) for name, value in element.attrib.items()}
    texts = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str):
            texts.append(_as_written(child))
        else:
            name = name_of(child)
            if _is_leaf(child):
                _add(fields, name, _leaf_text(child))
                for attribute, value in child.attrib.items():
                    _add(fields, f"{name}@{_local(str(attribute))}", str(value))
            else:
                _add(fields, name, fields_of(child))
        texts.append(child.tail or "")
    own = "".join(texts)
    if own.strip():
        fields["text"] = own.strip()
    return fields


def columns_of(rows: Iterable[dict[str, Any]]) -> tuple[dict[str, str], int]:
    """The column of each field, in order of first appearance, and the number of rows.

    An attribute is called by its bare name unless a child has that. Raises `UnreadableError` where there are more than
    `COLUMNS_MAX` fields.
    """
    found: dict[str, None] = {}
    count = 0
    for row in rows:
        count += 1
        found.update(dict.fromkeys(row))
        if len(found) > COLUMNS_MAX:
            raise UnreadableError(f"Its elements have more than {COLUMNS_MAX} different fields.")
    return {name: name[1:] if name[0] == "@" and name[1:] not in found else name for name in found}, count


def name_of(element: Any) -> str:
    """The name of an element with its prefix, as written."""
    local = _local(str(element.tag))
    return f"{element.prefix}:{local}" if element.prefix else local


def _events(pieces: Pieces, *, is_whole: bool) -> Iterator[tuple[str, Any]]:
    parser = etree.XMLPullParser(
        events=("start", "end"),
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for text in pieces():
            for at in range(0, len(text), _PIECE_CHARS):
                parser.feed(text[at : at + _PIECE_CHARS].encode("utf-8", "replace"))
                yield from parser.read_events()
        if is_whole:
            parser.close()
            yield from parser.read_events()
    except etree.XMLSyntaxError as problem:
        yield from parser.read_events()  # what came before the fault
        raise problem from None


def _count(counts: dict[str, int], path: str) -> None:
    if path in counts or len(counts) < PATHS_MAX:
        counts[path] = counts.get(path, 0) + 1


def _forget(element: Any) -> None:
    """Free an element that is done, and what lies before it."""
    element.clear(keep_tail=True)
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:
            del parent[0]


def _add(fields: dict[str, Any], name: str, value: Any) -> None:
    if name not in fields:
        fields[name] = value
    elif isinstance(fields[name], list):
        fields[name].append(value)
    else:
        fields[name] = [fields[name], value]


def _is_leaf(element: Any) -> bool:
    return not any(isinstance(child.tag, str) for child in element)


def _leaf_text(element: Any) -> str:
    pieces = [element.text or ""]
    for child in element:
        pieces += [_as_written(child), child.tail or ""]
    return "".join(pieces)


def _as_written(node: Any) -> str:
    """An entity as it stands in the text; comments and the like are nothing."""
    return str(node.text) if node.tag is etree.Entity else ""


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _told(problem: etree.XMLSyntaxError) -> str:
    line = problem.lineno or 0
    cause = str(problem.msg or "").partition(", line ")[0][:_CAUSE_CHARS_MAX]
    return f"not well-formed XML at line {line}: {cause}" if line else f"not well-formed XML: {cause}"
