"""YAML: lines, with the values of its documents by the rules of YAML 1.2."""

from typing import Any

from blobs.reading.reader import Confidence, Sample, View
from blobs.reading.source import Source
from previewers.json_document import JsonView
from previewers.json_sniff import utf8_head
from previewers.said_document import SaidDocumentView
from previewers.structured_text import Structure
from previewers.yaml_sniff import yaml_level
from previewers.yaml_values import read_yaml

YAML = "application/yaml"


class YamlView(SaidDocumentView):
    """The lines of a YAML text; one document is a value by itself, several are an array of values."""

    type: str = YAML
    noun = "YAML text"
    _documents = 0

    def value(self, text: str, structure: Structure) -> Any:
        """The value of the document, or the array of those of several."""
        found = read_yaml(text)
        self._documents = len(found.documents)
        if found.repeated:
            noun = "key is" if found.repeated == 1 else "keys are"
            structure.notes.append(f"{found.repeated} {noun} repeated in a mapping: the last value counts")
        if found.unexpanded:
            noun = "alias is" if found.unexpanded == 1 else "aliases are"
            structure.notes.append(
                f"{found.unexpanded} {noun} left as written: without an anchor, or expanding without bound"
            )
        structure.shape = {"documents": self._documents}
        return found.documents[0] if self._documents == 1 else found.documents

    def sketch(self, said: JsonView) -> Any:
        """How many documents there are, and what is in them."""
        return {"documents": self._documents, "content": super().sketch(said)}


class YamlReader:
    """YAML by lines that all fit and a structure that prose, code and logs do not have."""

    name = "yaml"
    media_types = (YAML,)
    has_signature = False
    aliases = ("application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml")

    def sniff(self, sample: Sample) -> Confidence:
        """Nested keys, a document marker or a flat list of plain keys; any text where it was declared."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        if not head.strip():
            return Confidence.NO
        level = yaml_level(head, is_whole=sample.is_whole)
        return Confidence(level or 1, YAML) if level or is_declared else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the text; never refuses."""
        return YamlView(source)
