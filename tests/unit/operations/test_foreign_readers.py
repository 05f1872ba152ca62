"""A reader that raises, hangs, eats memory or lies never loses the result, never stalls the turn, and is told of.

All bad readers lie in one folder, as files that an operator dropped there; each fails only over blobs that begin with
its own name, through the real front door and the real cell.
"""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blobs import Blobs, Settings
from blobs.domain.limits import Limits

PLUG_IN = """
import os, sys, time
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Column, Confidence, Part, Table


class OddView(BaseView):
    unit = "records"

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.count = 3
        {init}

    def items(self, span):
        for index in range(span.start, min(span.stop, 3)):
            {items}
            yield f"record {{index}}"

    {methods}


class OddReader:
    name = "{name}"
    media_types = ("text/x-{name}",)

    def sniff(self, sample):
        if not sample.head.startswith(b"{name}!"):
            return Confidence.NO
        {sniff}
        return Confidence(100, "text/x-{name}")

    def open(self, source):
        {open}
        return OddView(source)
"""
FAULTS = {
    "raises": "raise KeyError('the plug-in is broken')",
    "hangs": "time.sleep(600)",
    "eats": "hoard = [bytearray(1 << 20) for _ in range(10_000)]",
    "exits": "os._exit(3)",
    "leaves": "sys.exit(3)",
    "overflows": "f = lambda f: f(f); f(f)",
}
LIES = {
    "counts-more": {"init": "self.count = 10"},
    "counts-less": {"init": "self.count = 2"},
    "has-a-gap": {"items": "if index == 1: continue"},
    "ignores-ranges": {"items": "span = ItemRange(0, 3)\n            yield 'again'"},
    "gives-objects": {"items": "yield object(); continue"},
    "gives-bytes": {"items": "yield {'raw': b'bytes'}; continue"},
    "gives-loops": {"items": "loop = []; loop.append(loop); yield loop; continue"},
    "gives-short-rows": {"init": "self.columns = [Column('a'), Column('b')]", "items": "yield ['one']; continue"},
    "counts-in-words": {"init": "self.count = 'three'"},
    "counts-below-nothing": {"init": "self.count = -3"},
    "has-no-count": {"init": "self.count = None"},
    "has-odd-columns": {"init": "self.columns = ['a']", "items": "yield ['one']; continue"},
    "has-odd-parts": {"init": "self.parts = [('a', 1)]"},
    "has-odd-notes": {"init": "self.notes = [b'bytes']"},
    "has-odd-facts": {"methods": "def facts(self): return {'f': {1, 2}}"},
    "has-endless-facts": {"methods": "def facts(self): return {'f': 'x' * 1_000_000}"},
    "has-an-odd-shape": {"methods": "def shape(self): return object()"},
    "renders-nothing": {"methods": "def render(self, item): return None"},
    "gives-no-view": {"open": "return 7"},
    "is-too-sure": {"sniff": "return Confidence(1000, 'text/x-sure')"},
    "is-sure-of-words": {"sniff": "return Confidence(100, 'a thing\\nof two lines')"},
    "is-sure-in-words": {"sniff": "return 'yes'"},
}
LATER = {
    "fails-later": {"items": "if (span.start, span.stop) == (1, 2): raise KeyError('secret')"},
    "has-an-odd-table": {"methods": "def table(self): return Table(['a'], rows=lambda: iter([[1], [2, 3]]))"},
    "searches-numbers": {"methods": "def search_texts(self, item, columns): yield None, 7"},
    "slices-text": {"methods": "def slice(self, span): return 'text', 'text/plain'"},
    "gives-odd-parts": {"methods": "def part(self, name): return {}"},
}
PLACES = ("sniff", "open", "init", "items")
BODY = b"a line of it\n" * 5000


def plug_in(name: str, **code: str) -> str:
    return PLUG_IN.format(**{"name": name, "methods": "pass", **dict.fromkeys(PLACES, "pass"), **code})


def content_for(name: str) -> bytes:
    return f"{name}!\n".encode() + BODY


def opened(readers: Path) -> Blobs:
    limits = Limits(preview_ms_max=1500, call_ms_max=3000, cell_memory_bytes_max=256 * 1024 * 1024)
    return Blobs.open(Settings(store=":memory:", readers_dir=str(readers), limits=limits))


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blobs]:
    """A service whose readers folder holds a good reader, and every bad one."""
    readers = tmp_path_factory.mktemp("service") / "readers"
    readers.mkdir(mode=0o755)
    files = {"good": plug_in("good")}
    for place in ("sniff", "open", "items"):
        files |= {
            f"{fault}-in-{place}": plug_in(f"{fault}-in-{place}", **{place: code}) for fault, code in FAULTS.items()
        }
    files |= {name: plug_in(name, **code) for name, code in {**LIES, **LATER}.items()}
    files |= {
        "does-not-import": "import no_such_module_anywhere\n",
        "does-not-parse": "def sniff(:\n",
        "leaves-at-once": "import sys\nsys.exit(1)\n",
        "is-empty": "",
        "has-no-open": "class R:\n    name = 'r'\n    media_types = ('text/x-r',)\n    def sniff(self, sample): ...\n",
        "takes-csv": plug_in("takes-csv").replace('"text/x-takes-csv",', '"text/csv",'),
        "is-called-good": plug_in("good"),
    }
    for name, code in files.items():
        (readers / f"{name}.py").write_text(code, encoding="utf-8")
    with opened(readers) as service:
        service.doctor()  # the cells start before the clock does
        yield service


def told(blobs: Blobs, name: str) -> str:
    """What the operator is told to be wrong with a reader."""
    return next(each.get("problem", "") for each in blobs.readers() if each["name"] == name)


def test_a_good_plug_in_is_used(blobs: Blobs) -> None:
    """A single file in the readers folder reads its format, and nothing is said against it."""
    chat = blobs.conversation()
    handle = chat.attach(content_for("good"))
    assert (handle["type"], handle["items"]) == ("text/x-good", 3)
    data = chat.call("blob_read", {"blob": "blob1"})["data"]
    assert (data["items"], data["unit"]) == (["record 0", "record 1", "record 2"], "records")
    assert chat.call("blob_search", {"blob": "blob1", "pattern": "d 2"})["data"]["matches"][0]["item"] == 2
    code = {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1"}
    assert chat.call("blob_code", code)["data"]["rows"] == [[3]]
    code = {"blob": "blob1", "language": "python", "code": "blob1.rows()[-1]"}
    assert chat.call("blob_code", code)["data"]["result"] == "record 2"
    assert told(blobs, "good") == ""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", ["sniff", "open", "items"])
def test_a_broken_plug_in_costs_a_note_not_the_result(blobs: Blobs, caplog, place: str, fault: str) -> None:
    """The blob falls back to what its bytes are, whole and readable, in bounded time; the operator reads the cause."""
    name = f"{fault}-in-{place}"
    chat = blobs.conversation()
    began = time.monotonic()
    with caplog.at_level(logging.WARNING), chat.turn() as turn:
        handle = turn.offload(content_for(name).decode(), tool="t")
    assert time.monotonic() - began < 30
    assert (handle["type"], handle["items"]) == ("text/plain", 5001)
    assert "plug-in is broken" not in json.dumps(handle)
    assert chat.content("blob1") == content_for(name)
    assert chat.call("blob_read", {"blob": "blob1", "count": 1})["data"]["items"] == [f"{name}!"]
    assert told(blobs, name)
    assert name in caplog.text
    if fault == "raises":
        assert "plug-in is broken" in told(blobs, name)


@pytest.mark.parametrize("name", LIES)
def test_a_plug_in_that_lies_is_passed_over(blobs: Blobs, name: str) -> None:
    """Counts that are not those of the items, items that are no JSON, wrong types: none of it reaches the model."""
    chat = blobs.conversation()
    handle = chat.attach(content_for(name))
    assert (handle["type"], handle["items"]) == ("text/plain", 5001)
    notes = handle["preview"].get("notes", [])
    assert len(notes) <= 1
    assert name.startswith("is-") or name in notes[0]
    assert told(blobs, name)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fails-later", ("blob_read", {"start": 1, "count": 1})),
        ("has-an-odd-table", ("blob_code", {"language": "sql", "code": "select * from blob1"})),
        ("searches-numbers", ("blob_search", {"pattern": "record"})),
        ("gives-odd-parts", ("blob_read", {"part": "a"})),
    ],
)
def test_what_goes_wrong_later_is_refused(blobs: Blobs, name: str, call: tuple[str, dict]) -> None:
    """A reader that fails once the handle is out: the model reads whose fault it is and what works; the bytes do."""
    chat = blobs.conversation()
    assert chat.attach(content_for(name))["type"] == f"text/x-{name}"
    tool, arguments = call
    answer = chat.call(tool, {"blob": "blob1", **arguments})
    assert not answer["ok"]
    assert "secret" not in answer["message"]
    if arguments.get("language") != "python":
        assert f"'{name}' failed" in answer["message"]
        assert '"bytes"' in answer["message"]
        assert told(blobs, name)
    head = chat.call("blob_read", {"blob": "blob1", "unit": "bytes", "count": 4})["data"]
    assert bytes.fromhex(head["items"][0]) == content_for(name)[:4]


@pytest.mark.parametrize(
    ("file", "cause"),
    [
        ("does-not-import", "no_such_module_anywhere"),
        ("does-not-parse", "SyntaxError"),
        ("leaves-at-once", "SystemExit"),
        ("is-empty", "has no reader"),
        ("has-no-open", "has no open"),
        ("takes-csv", "text/csv is read by the built-in csv"),
        ("good", "the name good is taken"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_set_aside_and_shown(blobs: Blobs, file: str, cause: str) -> None:
    """The operator sees the cause and the file; everything else works."""
    problems = [each for each in blobs.readers() if cause in each.get("problem", "")]
    assert problems
    assert all(each["origin"].endswith(".py") for each in problems)
    assert blobs.conversation().attach(b"a,b\n1,2\n", type="text/csv")["items"] == 1


def test_readers_are_listed_with_their_origin(blobs: Blobs) -> None:
    """Built-ins and files are told apart, with types and version."""
    listed = {each["name"]: each for each in blobs.readers() if "problem" not in each}
    assert listed["csv"]["origin"] == "built in"
    assert listed["csv"]["version"]
    assert listed["good"]["origin"] == "good.py"
    assert listed["good"]["types"] == ["text/x-good"]


def test_a_folder_of_the_server_alone(tmp_path: Path) -> None:
    """Cells run as nobody: readers that only the server's user may read are used all the same."""
    readers = tmp_path / "readers"
    readers.mkdir(mode=0o700)
    (readers / "good.py").write_text(plug_in("good"), encoding="utf-8")
    (readers / "good.py").chmod(0o600)
    with opened(readers) as blobs:
        assert blobs.conversation().attach(content_for("good"))["type"] == "text/x-good"


def test_what_cells_cannot_load_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that needs what is not in a cell is not in use, and the operator is told so."""
    monkeypatch.setenv("ODD_READER", "1")
    readers = tmp_path / "readers"
    readers.mkdir(mode=0o755)
    guard = "import os\nif 'ODD_READER' not in os.environ: raise ImportError('not in a cell')\n"
    (readers / "good.py").write_text(guard + plug_in("good"), encoding="utf-8")
    with opened(readers) as blobs:
        assert blobs.conversation().attach(content_for("good"))["type"] == "text/plain"
        assert "as cells cannot load it" in told(blobs, "good")
        assert "not in a cell" in told(blobs, "good")


@pytest.mark.parametrize("ending", ["import time\ntime.sleep(600)\n", "while True: pass\n"])
def test_a_file_that_does_not_end_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """A service opens although a reader's file goes on for ever, which is told; the others work, in cells as well."""
    monkeypatch.setattr("blobs.wiring.READER_LOAD_S_MAX", 2)
    readers = tmp_path / "readers"
    readers.mkdir(mode=0o755)
    (readers / "endless.py").write_text(ending, encoding="utf-8")
    (readers / "good.py").write_text(plug_in("good"), encoding="utf-8")
    with opened(readers) as blobs:
        assert "did not load within 2 s" in told(blobs, "endless")
        assert blobs.conversation().attach(content_for("good"))["type"] == "text/x-good"
