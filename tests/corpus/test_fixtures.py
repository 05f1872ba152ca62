"""The fixtures are what their manifest says, and what their script makes."""

import hashlib
import json
import subprocess
import sys

import pytest

from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.reader import View
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from tests.material import FIXTURES, fixture, manifest


def test_every_file_is_listed_with_its_digest():
    """The manifest names each file with its size and digest, and no others."""
    assert set(manifest()) == {path.name for path in (FIXTURES / "files").iterdir()}
    for file, known in manifest().items():
        content = fixture(file)
        assert len(content) == known["bytes"]
        assert hashlib.sha256(content).hexdigest() == known["sha256"]
        assert known["licence"]


def test_fixtures_are_small():
    """All together they are under half a megabyte."""
    assert sum(each["bytes"] for each in manifest().values()) < 500_000


def test_the_script_makes_the_same_bytes(tmp_path):
    """Made again, the text-like fixtures and what is said of them are the same to the byte."""
    command = [sys.executable, "-B", str(FIXTURES / "make.py"), "--into", str(tmp_path), "--text-only"]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    made = {each["file"]: each for each in json.loads((tmp_path / "MANIFEST.json").read_text(encoding="utf-8"))}
    assert len(made) >= 20
    for file, known in made.items():
        assert known == manifest()[file]
        assert (tmp_path / "files" / file).read_bytes() == fixture(file)


def opened(file: str) -> tuple[str, View]:
    """What the readers make of a fixture, as the product does it: the first choice that opens."""
    source = BytesSource(fixture(file))
    declared = "text/plain" if file == "empty.txt" else None
    for choice in Registry().choose(take_sample(source, declared)):
        try:
            return choice.type, choice.reader.open(source)
        except Exception:
            continue
    raise AssertionError("nothing opens it")


@pytest.mark.parametrize("file", sorted(manifest()))
def test_readers_agree_with_the_manifest(file):
    """Type, unit and count come out as known, and so does every item that the manifest knows."""
    known = manifest()[file]
    media_type, view = opened(file)
    assert (media_type, view.unit, view.count) == (known["type"], known["unit"], known["items"])
    if media_type in (
        "application/vnd.apache.parquet",
        "application/vnd.apache.arrow.file",
        "application/vnd.apache.arrow.stream",
    ):
        return  # their values are compared in tests of their own
    for key, value in known["truth"].items():
        kind, _, place = key.partition("_")
        if kind == "item" and place.isdigit():
            assert next(iter(view.items(ItemRange(int(place), int(place) + 1)))) == value
