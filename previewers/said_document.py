"""Texts that say a JSON-like value (YAML, TOML): lines to read, and the value for paths and SQL."""

from functools import partial
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.reading.reader import Table, View
from previewers.json_document import JsonView
from previewers.json_structure import outline
from previewers.structured_text import Structure, StructuredTextView


class SaidDocumentView(StructuredTextView):
    """The lines of a document, and its value as JSON: `at` follows JSON Pointers, SQL has its keys as columns.

    Override `value`. Where it raises, or the text is longer than `chars_max`, the document is its lines alone.
    """

    noun = "document"
    chars_max = 8_000_000
    _said: JsonView | None = None

    def value(self, text: str, structure: Structure) -> Any:
        """The value that the text says, with notes on what is odd added to the structure; None for no value."""
        raise NotImplementedError

    def sketch(self, said: JsonView) -> Any:
        """The shape of the document."""
        return said.shape()

    def examine(self) -> Structure:
        """Read the value; arrays of objects inside it are parts."""
        structure = Structure()
        if self.index.characters > self.chars_max:
            structure.notes.append(f"lines only: its structure is not read beyond {self.chars_max:,} characters")
            return structure
        value = self.value(self.text(0, self.index.characters), structure)
        if not isinstance(value, list | dict):
            return structure
        data = memoryview(exact_json.dumps(value))
        self._said = said = JsonView(data, outline(data))
        structure.shape = self.sketch(said)
        for part in said.parts:
            structure.add_part(part, partial(said.part, part.name))
        if value and isinstance(value, dict):
            structure.notes.append("in SQL the blob is one row, its keys are the columns")
        elif value:
            entries = "1 entry" if len(value) == 1 else f"{len(value)} entries"
            structure.notes.append(f"in SQL the blob is a table of its {entries}")
        return structure

    def at(self, path: str) -> View:
        """The value at a JSON Pointer, as JSON; raises `ToolInputError` where there is none."""
        _ = self.structure
        if self._said is None:
            raise ToolInputError(
                f"path: {path[:80]!r} cannot be found; this {self.noun} could not be read as one.",
                hint="Leave path out and read its lines.",
            )
        return self._said.at(path)

    def table(self) -> Table | None:
        """The table of the value, as that of JSON; the lines where there is no value."""
        _ = self.structure
        if self._said is None or not self._said.count:
            return super().table()
        return self._said.table()
