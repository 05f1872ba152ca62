"""Jupyter notebooks: cells as text with their outputs; pictures in outputs are parts."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.limits import MIB
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.cutting import cut_with_count
from blobs.reading.decoding import detect, to_utf8
from blobs.reading.inside import InsideReader
from blobs.reading.reader import Confidence, Part, Sample, Table, View
from blobs.reading.source import BytesSource, Source
from previewers.json_document import JsonView
from previewers.json_sniff import is_document, utf8_head
from previewers.json_structure import outline
from previewers.structured_text import PARTS_MAX
from previewers.terminal import without_escapes

NOTEBOOK = "application/x-ipynb+json"
BYTES_MAX = 64 * MIB
_OUTPUT_CHARS_MAX = 2000
_BEGINNING = re.compile(rb'\s*\{\s*"(?:cells|metadata|nbformat|nbformat_minor|worksheets)"\s*:')
_FORMAT = re.compile(rb'"nbformat"\s*:\s*[1-9]')
_PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class NotebookView(BaseView):
    """Cells as strings: a line that says the kind, the source, and after `--- output` the outputs as text.

    An output is cut after 2,000 characters, with a mark; `at` leads to the whole of it in the notebook's JSON. Pictures
    are parts, `cell3.png` that of the cell at index 3.
    """

    unit: str | None = "cells"

    def __init__(self, source: Source, reader: InsideReader) -> None:
        super().__init__()
        self._reader = reader
        text = to_utf8(source, detect(source))
        self._data = text.buffer()
        notebook = _loaded(self._data)
        self._cells: list[dict[str, Any]] = _cells_of(notebook)
        self.count = len(self._cells)
        self._about = _about(notebook, self._cells)
        self._pictures: dict[str, str] = {}
        self._find_pictures()

    def items(self, span: ItemRange) -> Iterator[str]:
        """The cells of the range as text."""
        return map(_cell_text, self._cells[span.start : span.stop])

    def shape(self) -> Any:
        """The language, how many cells of each kind there are, and the headings of the text."""
        return self._about

    def at(self, path: str) -> View:
        """A value in the notebook's JSON, by JSON Pointer."""
        return JsonView(self._data, outline(self._data)).at(path)

    def part(self, name: str) -> View:
        """A picture that a cell put out."""
        if name not in self._pictures:
            raise ToolInputError(f"part: there is no part {name!r}.", hint=self._parts_hint())
        try:
            content = base64.b64decode("".join(self._pictures[name].split()), validate=True)
        except (binascii.Error, ValueError):
            raise UnreadableError(f"The picture {name} is damaged: it is not base64.") from None
        return self._reader.open_inside(BytesSource(content), name=name).view

    def table(self) -> Table | None:
        """One row a cell: kind, number of its execution, source, and outputs in full."""
        return Table(["kind", "execution", "source", "output"], rows=self._rows)

    def _rows(self) -> Iterator[list[Any]]:
        for cell in self._cells:
            count = cell.get("execution_count", cell.get("prompt_number"))
            outputs = "\n".join(text for _, text in _outputs(cell)) or None
            yield [_kind(cell), count if isinstance(count, int) else None, _source(cell), outputs]

    def _find_pictures(self) -> None:
        for place, cell in enumerate(self._cells):
            for number, (media_type, content) in enumerate(_pictures(cell), 1):
                name = f"cell{place}{f'-{number}' if number > 1 else ''}.{_PICTURES[media_type]}"
                if len(self.parts) < PARTS_MAX:
                    self._pictures[name] = content
                    self.parts.append(Part(name, "bytes", None, media_type))


class NotebookReader(InsideReader):
    """JSON with cells and the number of a notebook format."""

    name = "notebook"
    media_types = (NOTEBOOK,)
    aliases = ("application/vnd.jupyter", "application/x-jupyter")

    def sniff(self, sample: Sample) -> Confidence:
        """A JSON object that begins like a notebook and says its format at one of its ends."""
        head = utf8_head(sample, is_declared=False)
        if not _BEGINNING.match(head) or b'"cells"' not in head[:65536] + sample.tail:
            return Confidence.NO
        if not (_FORMAT.search(sample.tail) or _FORMAT.search(head)):
            return Confidence.NO
        return Confidence(65, NOTEBOOK) if is_document(head, is_whole=sample.is_whole) else Confidence.NO

    def open(self, source: Source) -> View:
        """The cells; raises `UnreadableError` where it is no notebook, or larger than `BYTES_MAX`."""
        if source.size > BYTES_MAX:
            raise UnreadableError(f"Notebooks of more than {BYTES_MAX // MIB} MiB are read as JSON.")
        return NotebookView(source, self)


def _loaded(data: memoryview) -> dict[str, Any]:
    try:
        notebook = exact_json.loads(data)
    except ValueError as problem:
        raise UnreadableError(f"The notebook is not valid JSON: {str(problem)[:160]}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise UnreadableError("It is JSON, but no notebook.")
    return notebook


def _cells_of(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells; those of notebooks of format 3 lie in worksheets."""
    sheets = notebook.get("worksheets")
    lists = [notebook.get("cells")]
    if isinstance(sheets, list):
        lists += [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    lists = [each for each in lists if isinstance(each, list)]
    if not lists:
        raise UnreadableError("The notebook has no list of cells.")
    return [cell if isinstance(cell, dict) else {} for cells in lists for cell in cells or ()]


def _about(notebook: dict[str, Any], cells: list[dict[str, Any]]) -> dict[str, Any]:
    kinds: dict[str, int] = {}
    headings: list[str] = []
    for cell in cells:
        kinds[_kind(cell)] = kinds.get(_kind(cell), 0) + 1
        if _kind(cell) == "markdown" and len(headings) < 20:
            headings += [line[:120] for line in _source(cell).split("\n") if re.match(r"#{1,6} ", line)][:5]
    about: dict[str, Any] = {"nbformat": notebook["nbformat"]}
    metadata = notebook.get("metadata")
    language = metadata.get("language_info") if isinstance(metadata, dict) else None
    if isinstance(language, dict) and isinstance(language.get("name"), str):
        about["language"] = language["name"][:40]
    about["cells"] = dict(list(kinds.items())[:10])
    return {**about, "headings": headings} if headings else about


def _kind(cell: dict[str, Any]) -> str:
    kind = cell.get("cell_type")
    return kind[:40] if isinstance(kind, str) else "unknown"


def _source(cell: dict[str, Any]) -> str:
    return _joined(cell.get("source", cell.get("input", "")))


def _joined(text: Any) -> str:
    """A string, or a list of strings that are its lines with their ends."""
    if isinstance(text, list):
        return "".join(each for each in text if isinstance(each, str))
    return text if isinstance(text, str) else ""


def _cell_text(cell: dict[str, Any]) -> str:
    count = cell.get("execution_count", cell.get("prompt_number"))
    number = f" {count}" if isinstance(count, int) else ""
    pieces = [f"[{_kind(cell)}{number}]", _source(cell)]
    for name, text in _outputs(cell):
        pieces += [f"--- output ({name})", cut_with_count(text, _OUTPUT_CHARS_MAX)]
    return "\n".join(pieces)


def _outputs(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a cell put out, each with its kind; of a result its plainest form, of a picture a word."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        kind = str(output.get("output_type", ""))[:40]
        if kind == "stream":
            yield str(output.get("name", "stdout"))[:40], without_escapes(_joined(output.get("text"))).rstrip("\n")
        elif kind in ("error", "pyerr"):
            yield "error", f"{output.get('ename', '')}: {output.get('evalue', '')}"
        else:
            data = output.get("data", output)
            yield kind, _shown(data if isinstance(data, dict) else {})


def _shown(data: dict[str, Any]) -> str:
    told = [f"[{media_type}]" for media_type in data if media_type in _PICTURES]
    for media_type in ("text/plain", "text", "text/markdown", "text/html", "text/latex", "application/json"):
        if media_type in data:
            value = data[media_type]
            text = _joined(value) if isinstance(value, str | list) else exact_json.text(value)
            return "\n".join([*told, without_escapes(text)])
    return "\n".join(told)


def _pictures(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        for media_type, content in data.items() if isinstance(data, dict) else ():
            if media_type in _PICTURES:
                yield media_type, _joined(content)
