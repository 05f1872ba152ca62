"""A reader that raises, hangs, eats memory or lies never loses the result and never stalls the turn."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blobs import Blobs, Settings
from blobs.domain.limits import Limits

PLUG_IN = """
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence


class OddView(BaseView):
    unit = "records"

    def __init__(self, source):
        super().__init__()
        self.count = {count}
        self._source = source

    def items(self, span):
        for index in range(span.start, min(span.stop, 3)):
            {items}
            yield f"record {{index}}"


class OddReader:
    name = "odd"
    media_types = ("text/x-odd",)

    def sniff(self, sample):
        {sniff}
        return Confidence(100, "text/x-odd") if sample.head.startswith(b"ODD!") else Confidence.NO

    def open(self, source):
        {open}
        return OddView(source)
"""
FAULTS = {
    "raises": "raise KeyError('the plug-in is broken')",
    "hangs": "import time; time.sleep(600)",
    "eats memory": "hoard = []\n{indent}while True: hoard.append(bytearray(1 << 20))",
    "exits": "import os; os._exit(3)",
    "overflows": "f = lambda f: f(f); f(f)",
}
CONTENT = b"ODD!\n" + b"a line of it\n" * 5000


def plug_in(*, place: str, fault: str, count: int = 3) -> str:
    indent = " " * {"sniff": 8, "open": 8, "items": 12}[place]
    parts = {"sniff": "pass", "open": "pass", "items": "pass"}
    parts[place] = fault.replace("{indent}", indent)
    return PLUG_IN.format(count=count, **parts)


@pytest.fixture
def readers(tmp_path: Path) -> Path:
    folder = tmp_path / "readers"
    folder.mkdir()
    return folder


def opened(readers: Path) -> Blobs:
    limits = Limits(preview_ms_max=1500, call_ms_max=3000, cell_memory_bytes_max=256 * 1024 * 1024)
    return Blobs.open(Settings(store=":memory:", readers_dir=str(readers), limits=limits))


def test_a_good_plug_in_is_used(readers: Path) -> None:
    """A single file in the readers folder reads its format."""
    (readers / "odd.py").write_text(plug_in(place="open", fault="pass"))
    with opened(readers) as blobs:
        chat = blobs.conversation()
        handle = chat.attach(CONTENT)
        assert handle["type"] == "text/x-odd"
        assert handle["items"] == 3
        data = chat.call("blob_read", {"blob": "blob1"})["data"]
        assert data["items"] == ["record 0", "record 1", "record 2"]
        assert data["unit"] == "records"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", ["sniff", "open", "items"])
def test_a_broken_plug_in_costs_a_note_not_the_result(readers: Path, place: str, fault: str) -> None:
    """The blob falls back to what its bytes are otherwise, whole and readable, in bounded time."""
    (readers / "odd.py").write_text(plug_in(place=place, fault=FAULTS[fault]))
    with opened(readers) as blobs:
        blobs.doctor()  # the cells start before the clock does
        chat = blobs.conversation()
        began = time.monotonic()
        with chat.turn() as turn:
            handle = turn.offload(CONTENT.decode(), tool="t")
        assert time.monotonic() - began < 30
        assert handle["type"] == "text/plain"
        assert handle["items"] == 5001
        assert "plug-in is broken" not in json.dumps(handle)
        assert chat.content("blob1") == CONTENT
        assert chat.call("blob_read", {"blob": "blob1", "count": 1})["data"]["items"] == ["ODD!"]


def test_a_plug_in_that_lies_about_its_count_is_passed_over(readers: Path) -> None:
    """A count that its items do not bear out never reaches the model."""
    (readers / "odd.py").write_text(plug_in(place="open", fault="pass", count=10))
    with opened(readers) as blobs:
        handle = blobs.conversation().attach(CONTENT)
        assert handle["type"] == "text/plain"
        assert handle["items"] == 5001


@pytest.fixture
def broken_import(readers: Path) -> Iterator[Blobs]:
    (readers / "broken.py").write_text("import no_such_module_anywhere\n")
    with opened(readers) as blobs:
        yield blobs


def test_a_plug_in_that_does_not_import_is_set_aside_and_shown(broken_import: Blobs) -> None:
    """The operator sees the cause; everything else works."""
    shown = [each for each in broken_import.readers() if "problem" in each]
    assert any("no_such_module_anywhere" in each["problem"] for each in shown)
    assert broken_import.conversation().attach(b"a,b\n1,2\n", type="text/csv")["items"] == 1
