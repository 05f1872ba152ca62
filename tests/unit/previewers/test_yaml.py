"""YAML: lines as written, values by the rules of YAML 1.2, bounded whatever its aliases do."""

import json

import pytest

from blobs import Conversation
from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.yaml_document import YAML, YamlReader
from previewers.yaml_values import EXPANDED_MAX, read_yaml

DEPLOYMENT = b"""# a comment
kind: Deployment
metadata:
  name: web
  labels: {app: web, zone: "no"}
spec:
  replicas: 3
  ports:
    - name: http
      port: 8080
    - name: https
      port: 8443
"""
SEVERAL = b"---\nname: one\n---\nname: two\nnested:\n  deep: true\n...\n"
NORWAY = b"countries:\n  - NO\n  - SE\nanswer: yes\nport: 22:22\nmode: 0123\nversion: 1.10\nempty: ~\n"


def open_yaml(content: bytes | str):
    return YamlReader().open(BytesSource(content if isinstance(content, bytes) else content.encode()))


def value(content: str):
    """What a text says, as JSON would have it."""
    (document,) = read_yaml(content).documents
    return json.loads(exact_json.dumps(document))


class TestYamlReader(ReaderContract):
    reader = YamlReader()
    examples = {
        "nested": Example(DEPLOYMENT, YAML, 12),
        "several documents": Example(SEVERAL, YAML, 7),
        "words": Example(NORWAY, YAML, 8),
        "anchors": Example(b"base: &b\n  a: 1\n  b: [x, y]\nother: *b\nmore:\n  - *b\n", YAML, 6),
        "UTF-16": Example("a:\n  ключ: значение\nb: 2\n".encode("utf-16"), YAML, 3),
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("no", "no"), ("NO", "NO"), ("yes", "yes"), ("on", "on"), ("y", "y"),
        ("22:22", "22:22"), ("190:20:30", "190:20:30"), ("0123", "0123"), ("0o14", "0o14"), ("0x1F", "0x1F"),
        ("1_000", "1_000"), ("2024-01-02", "2024-01-02"), ("2001-12-14t21:59:43Z", "2001-12-14t21:59:43Z"),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("12", 12), ("-1.5e3", -1.5e3),
        ("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("=", "="), ("<<", "<<"),
        ("123456789012345678901234567890", 123456789012345678901234567890), ("1e400", "1e400"), (".inf", ".inf"),
    ],
)  # fmt: skip
def test_scalars_are_as_written(written, expected):
    """Only what JSON too calls null, a boolean or a number is one; everything else is its text."""
    found = read_yaml(f"key: {written}\n").documents[0]["key"]
    assert (exact_json.text(found) if isinstance(found, exact_json.Number) else found) == (
        written if isinstance(found, exact_json.Number) else expected
    )


def test_norway_is_a_country(chat: Conversation):
    """Lines, paths and SQL say NO, yes, 22:22 and 0123 as they stand."""
    blob = chat.attach(NORWAY)["blob"]
    assert chat.call("blob_read", {"blob": blob, "path": "/countries"})["data"]["items"] == ["NO", "SE"]
    query = f"select answer, port, mode, countries from {blob}"
    rows = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"]
    assert rows == [["yes", "22:22", "0123", ["NO", "SE"]]]


def test_documents_are_an_array():
    """Several documents are the elements of an array; how many there are is in the shape."""
    view = open_yaml(SEVERAL)
    assert view.shape()["documents"] == 2
    assert list(view.at("/1/nested/deep").items(ItemRange(0, 1))) == [True]
    assert open_yaml("--- a\n--- b\n--- c\n").shape()["documents"] == 3
    assert open_yaml("# nothing\n").shape()["documents"] == 0


def test_repeated_keys_are_told():
    """Of equal keys the last value counts, at the place of the first, and a note says so."""
    view = open_yaml("a: 1\nb: 2\na: 3\n")
    assert list(view.at("/a").items(ItemRange(0, 1))) == [3]
    assert "1 key is repeated in a mapping: the last value counts" in view.notes


def test_tags_are_told():
    """A tag of its own is kept beside its value; those that YAML defines only say the kind."""
    assert value("!point {x: 1}") == {"!point": {"x": 1}}
    assert value("a: !secret abc") == {"a": {"!secret": "abc"}}
    assert value("a: !!int 7\nb: !!str 7\nc: !!binary aGk=\nd: !!set {x}\n") == {
        "a": 7,
        "b": "7",
        "c": "aGk=",
        "d": {"x": None},
    }


def test_keys_of_any_kind():
    """Keys that are no text are told as JSON, so that none is lost."""
    assert value("1: a\ntrue: b\n? [x, y]\n: c\n") == {"1": "a", "true": "b", '["x","y"]': "c"}


def test_anchors_and_merge_keys():
    """An alias is the value of its anchor; `<<` is a key like any other."""
    assert value("a: &x {n: 1}\nb: *x\nc:\n  <<: *x\n") == {"a": {"n": 1}, "b": {"n": 1}, "c": {"<<": {"n": 1}}}
    assert value("a: &x [1, *x]\n") == {"a": [1, "*x"]}


def bomb(levels: int, width: int = 9) -> str:
    lines = ["a0: &a0 [lol]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines) + "\n"


def test_alias_bombs_are_bounded():
    """A text of a few hundred bytes that says gigabytes is read as its lines, and its value stays bounded."""
    found = read_yaml(bomb(12))
    assert found.unexpanded > 0
    assert len(exact_json.dumps(found.documents[0])) < 2 * EXPANDED_MAX
    view = open_yaml(bomb(30))
    assert view.count == 30
    assert any("aliases are left as written" in note for note in view.notes)


@pytest.mark.parametrize(
    "content", ["[" * 5000, "- " * 5000 + "a", "{a: " * 3000 + "1" + "}" * 3000, "a:\n" + " " * 9 + "- ["]
)
def test_deep_and_broken_texts_are_lines(content):
    """What is nested without end or broken is its lines, with a note where there is no value."""
    view = open_yaml(content)
    assert list(view.items(ItemRange(0, view.count)))
    view.shape()
    assert view.notes


def test_the_line_of_a_fault_is_named():
    """A note names the line from which on it is not YAML; tabs and bad indentation are such faults."""
    assert open_yaml("a: 1\nb: [1, 2\nc: 3\n").notes[0].startswith("not valid YAML at line ")
    assert open_yaml("a:\n\t- b\n").notes[0].startswith("not valid YAML at line 2")


@pytest.mark.parametrize(
    ("content", "is_yaml"),
    [
        (DEPLOYMENT, True), (SEVERAL, True), (NORWAY, True), (b"name: x\nversion: 1.0\nlist: [a]\n", True),
        (b"Dear all: this is prose.\nIt goes on: and on.\n", False), (b"def f(x):\n    return x\n", False),
        (b"ERROR: a\nERROR: b\nERROR: c\n", False), (b'{"a": 1}', False), (b"a: 1\n", False),
        (b"From: a@b\nTo: c@d\nSubject: x\n\nbody\n", False),
    ],
)  # fmt: skip
def test_recognised(content, is_yaml):
    """Structure that prose, code, logs and JSON do not have; any text where somebody calls it YAML."""
    sample = take_sample(BytesSource(content), None)
    assert (YamlReader().sniff(sample).level > 0) == is_yaml
    assert YamlReader().sniff(take_sample(BytesSource(content), "text/yaml")).level > 0
