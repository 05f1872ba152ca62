"""The registry: built-ins through the entry points, single files, broken plug-ins set aside, the order of choice."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blobs.reading import plug_ins
from blobs.reading.opening import choices, take_sample
from blobs.reading.reader import Confidence, Sample
from blobs.reading.registry import SIGNATURE_LEVEL, Choice, Registry
from blobs.reading.source import BytesSource

GOOD = """
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence

__version__ = "1.2"

class StarsView(BaseView):
    unit = "stars"
    def __init__(self, source):
        super().__init__()
        self.count = max(0, source.size - 5)

    def items(self, span):
        return ("*" for _ in range(span.start, min(span.stop, self.count)))

class StarsReader:
    name = "stars"
    media_types = ("application/x-stars",)
    is_light = True

    def sniff(self, sample):
        return Confidence(100, "application/x-stars") if sample.head.startswith(b"STARS") else Confidence.NO

    def open(self, source):
        return StarsView(source)
"""


def reader_source(name: str = "other", types: str = '("application/x-other",)', sniff: str = "Confidence.NO") -> str:
    return (
        "from blobs.reading.reader import Confidence\n"
        f"class Reader:\n    name = {name!r}\n    media_types = {types}\n"
        f"    def sniff(self, sample): return {sniff}\n    def open(self, source): raise ValueError\n"
    )


def registry_of(folder: Path, **files: str) -> Registry:
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source)
    return Registry(folder)


def sample(content: bytes, declared: str | None = None) -> Sample:
    return Sample(content[:65536], content[-4096:], len(content), declared)


def problems(registry: Registry) -> dict[str, str]:
    return {each.name: each.problem for each in registry.plug_ins() if each.problem}


def names(choices: list[Choice]) -> list[str]:
    return [each.plug_in.name for each in choices]


class Fake:
    """A reader whose answer is given."""

    def __init__(self, name: str, level: int, media_type: str, **more: Any) -> None:
        self.name, self.media_types, self.level = name, (media_type,), level
        self.answered = media_type
        self.__dict__.update(more)

    def sniff(self, sample: Sample) -> Confidence:
        return Confidence(self.level, self.answered)

    def open(self, source: Any) -> Any:
        raise NotImplementedError


def registry_with(*readers: Any) -> Registry:
    registry = Registry()
    found = [plug_ins._Found(each.name, "test", "1", each, is_built_in=True) for each in readers]
    registry._plug_ins = list(plug_ins._checked(found))
    return registry


TEXT = Fake("text", 10, "text/plain")
BINARY = Fake("binary", 1, "application/octet-stream")
CSV = Fake("csv", 50, "text/csv")
JSON = Fake("json", 50, "application/json")
PNG = Fake("png", 100, "image/png")


# Finding


def test_built_ins_are_entry_points():
    """The readers of this package are listed as anybody's would be, with the version of the distribution."""
    listed = {each.name: each for each in Registry().plug_ins()}
    assert {"arrow", "binary", "image", "parquet", "pdf"} <= set(listed)
    assert listed["parquet"].media_types == ("application/vnd.apache.parquet",)
    assert listed["parquet"].origin == "built in"
    assert listed["parquet"].version
    assert not listed["parquet"].is_light
    assert listed["binary"].is_light


def test_order_is_fixed():
    """Built-ins come by name, then files by file name, whatever order they are found in."""
    listed = [each.name for each in Registry().plug_ins()]
    assert listed == sorted(listed)
    assert listed == [each.name for each in Registry().plug_ins()]


def test_a_dropped_in_file_is_a_reader(tmp_path):
    """One file in the readers folder adds a format, with its version and its own mark of being light."""
    registry = registry_of(tmp_path, stars=GOOD)
    plug_in = registry.by_name("stars")
    assert plug_in is not None
    assert (plug_in.origin, plug_in.version, plug_in.is_light) == ("stars.py", "1.2", True)
    chosen = registry.choose(sample(b"STARS***"))[0]
    assert (chosen.plug_in.name, chosen.type) == ("stars", "application/x-stars")
    assert problems(registry) == {}


@pytest.mark.parametrize("last", ["READER = Reader()", "READERS = [Reader]", "made = Reader()"])
def test_a_file_may_name_its_readers(tmp_path, last):
    """READER, READERS or an instance in the file are taken in place of its classes, once."""
    registry = registry_of(tmp_path, named=reader_source() + last + "\n")
    assert [each.name for each in registry.plug_ins() if each.origin == "named.py"] == ["other"]
    assert problems(registry) == {}


def test_files_with_an_underscore_are_left_alone(tmp_path):
    """Modules that readers share begin with an underscore and are no plug-ins."""
    assert problems(registry_of(tmp_path, _shared="raise RuntimeError")) == {}


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "has no reader"),
        ("class Reader:\n    name = 'r'\n    def sniff(self, sample): ...\n", "has no media_types"),
        (reader_source().replace("name = 'other'", "name = 5"), "name is not a word"),
        (reader_source(types='("text",)'), "not a media type"),
        (reader_source(types="()"), "media_types is empty"),
        (reader_source() + "    def __init__(self): raise OSError('no disk')\n", "OSError: no disk"),
        (reader_source(types='("application/pdf",)'), "application/pdf is read by the built-in pdf"),
        (reader_source(name="pdf"), "the name pdf is taken"),
    ],
)
def test_broken_plug_ins_are_set_aside(tmp_path, source, cause):
    """Whatever is wrong with a file is told as its cause, and every other reader still works."""
    registry = registry_of(tmp_path, broken=source, stars=GOOD)
    assert any(cause in problem for problem in problems(registry).values())
    assert all(len(problem) <= 300 for problem in problems(registry).values())
    assert registry.by_name("stars") is not None
    assert names(registry.choose(sample(b"STARS*")))[0] == "stars"


def test_a_missing_folder_is_told(tmp_path):
    """A readers folder that is not there is listed as a problem."""
    assert "cannot be read" in problems(Registry(tmp_path / "none"))["none"]


def test_the_first_of_two_files_keeps_its_name(tmp_path):
    """Of two files with one name the first by file name is used."""
    registry = registry_of(tmp_path, b=reader_source(), a=reader_source())
    assert [(each.origin, each.problem) for each in registry.plug_ins() if each.origin.endswith(".py")] == [
        ("a.py", ""),
        ("b.py", "the name other is taken"),
    ]


def test_importing_loads_no_reader():
    """The module is cheap to import, and looking for readers loads no library of a format."""
    script = (
        "import sys; import blobs.reading.registry as r; assert 'importlib.metadata' not in sys.modules; "
        "r.Registry().plug_ins(); "
        "heavy = {'pyarrow', 'PIL', 'pypdf', 'duckdb', 'pandas', 'lxml'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, cwd=Path(__file__).parents[3])


# Choosing


def test_the_most_confident_comes_first():
    """Without a declared type the highest level wins, equals in registration order, fallbacks last."""
    choices = registry_with(TEXT, BINARY, CSV, JSON).choose(sample(b"x"))
    assert [(each.plug_in.name, each.type) for each in choices] == [
        ("csv", "text/csv"),
        ("json", "application/json"),
        ("text", "text/plain"),
        ("binary", "application/octet-stream"),
    ]


def test_a_declared_type_wins():
    """The reader of the declared type comes first if it accepts the bytes at all."""
    choices = registry_with(TEXT, BINARY, CSV, JSON).choose(sample(b"x", "text/plain"))
    assert names(choices) == ["text", "csv", "json", "binary"]


def test_a_declared_type_that_is_refused_is_dropped():
    """Where the reader of the declared type says no, the bytes decide."""
    choices = registry_with(TEXT, BINARY, Fake("csv", 0, "text/csv")).choose(sample(b"x", "text/csv"))
    assert [(each.plug_in.name, each.type) for each in choices] == [
        ("text", "text/plain"),
        ("binary", "application/octet-stream"),
    ]


def test_a_signature_contradicts_a_declared_type():
    """A signature of another format goes before the declared type."""
    choices = registry_with(TEXT, BINARY, PNG).choose(sample(b"x", "text/plain"))
    assert names(choices) == ["png", "text", "binary"]


def test_a_declared_type_that_is_borne_out_beats_other_signatures():
    """Two readers may both find their signature; the declared one then wins."""
    archive, sheet = Fake("zip", 100, "application/zip"), Fake("sheet", 100, "application/x-sheet")
    assert names(registry_with(archive, sheet).choose(sample(b"x", "application/x-sheet"))) == ["sheet", "zip"]


def test_a_signature_decides_between_types_of_one_reader():
    """A JPEG declared as PNG is a JPEG."""
    image = Fake("image", 100, "image/png", answered="image/jpeg")
    assert registry_with(image, BINARY).choose(sample(b"x", "image/png"))[0].type == "image/jpeg"


def test_a_declared_type_is_kept_where_the_reader_reads_it():
    """A reader of several types keeps the declared one."""
    table = Fake("csv", 50, "text/csv", media_types=("text/csv", "text/tab-separated-values"))
    assert registry_with(table).choose(sample(b"x", "text/tab-separated-values"))[0].type == "text/tab-separated-values"


def test_an_alias_becomes_the_proper_type():
    """An alias leads to its reader, and the blob gets the type's proper name."""
    picture = Fake("image", 60, "image/jpeg", aliases=("image/jpg",))
    chosen = registry_with(picture, CSV).choose(sample(b"x", "image/jpg"))[0]
    assert (chosen.plug_in.name, chosen.type) == ("image", "image/jpeg")


@pytest.mark.parametrize(
    ("declared", "reader"),
    [("application/geo+json", "json"), ("text/x-python", "text"), ("application/x-unheard-of", "csv")],
)
def test_a_type_of_a_family(declared, reader):
    """A type that no reader names goes by its suffix or class and is kept; a strange one leaves it to the bytes."""
    chosen = registry_with(TEXT, BINARY, CSV, JSON).choose(sample(b"x", declared))[0]
    assert chosen.plug_in.name == reader
    assert chosen.type == ("text/csv" if reader == "csv" else declared)


def test_a_strange_type_is_kept_by_fallbacks():
    """Where only a fallback reads the bytes, nothing speaks against a declared type that no reader knows."""
    choices = registry_with(TEXT, BINARY).choose(sample(b"x", "application/x-unheard-of"))
    assert [each.type for each in choices] == ["application/x-unheard-of"] * 2


def test_octet_stream_declares_nothing():
    """The type that clients send when they know none leaves it to the bytes."""
    assert names(registry_with(BINARY, CSV).choose(sample(b"x", "application/octet-stream"))) == ["csv", "binary"]


def test_nothing_is_text_only_where_text_is_declared():
    """Zero bytes are text with no lines under text/*, and binary else, of the declared type."""
    registry = registry_with(TEXT, BINARY, CSV)
    declared = registry.choose(sample(b"", "text/csv"))[0]
    assert (declared.plug_in.name, declared.type) == ("text", "text/csv")
    assert [(each.plug_in.name, each.type) for each in registry.choose(sample(b""))] == [
        ("binary", "application/octet-stream")
    ]
    assert [(each.plug_in.name, each.type) for each in registry.choose(sample(b"", "image/png"))] == [
        ("binary", "image/png")
    ]


@pytest.mark.parametrize("answer", ["1 / 0", "None", "True"])
def test_a_sniff_that_fails_counts_as_no(tmp_path, answer):
    """A reader that raises or answers nonsense is passed over, stays in use, and the listing says what happened."""
    registry = registry_of(tmp_path, other=reader_source(sniff=answer))
    assert "other" not in names(registry.choose(sample(b"x")))
    assert "sniff" in problems(registry)["other"]
    assert registry.by_name("other") is not None


def test_every_blob_has_a_choice():
    """Whatever the bytes, the last choice is binary."""
    for content in (b"", b"\x00\xff\xfe", b"PAR1", b"%PDF-1.7", b"hello"):
        assert names(Registry().choose(sample(content)))[-1] == "binary"


def test_no_two_built_ins_share_a_type():
    """A declared type leads to one built-in only."""
    types = [media_type for each in Registry().plug_ins() for media_type in (*each.media_types, *each.aliases)]
    assert len(types) == len(set(types))
    assert problems(Registry()) == {}


def test_an_installed_package_adds_a_reader(tmp_path, monkeypatch):
    """A distribution on the path with the entry point is listed after the built-ins, with its own version."""
    (tmp_path / "starry.py").write_text(GOOD)
    info = tmp_path / "starry_blobs-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: starry-blobs\nVersion: 3.1\n")
    (info / "entry_points.txt").write_text(
        "[blobs.readers]\nstars = starry:StarsReader\ngone = starry:NoSuchReader\nmissing = no_such_module:Reader\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry()
    foreign = {each.name: each for each in registry.plug_ins() if each.origin != "built in"}
    assert list(foreign) == ["gone", "missing", "stars"]
    assert (foreign["stars"].origin, foreign["stars"].version) == ("starry-blobs (starry:StarsReader)", "3.1")
    assert foreign["stars"].problem == ""
    assert "AttributeError" in foreign["gone"].problem
    assert "ModuleNotFoundError" in foreign["missing"].problem
    assert [each.origin for each in registry.plug_ins()][-3:] == [each.origin for each in foreign.values()]
    sys.modules.pop("starry", None)


@pytest.mark.parametrize(
    ("right", "wrong", "noticed"),
    [
        ("", "", []),
        ("max(0, source.size - 5)", "source.size - 5", ["test_damage_is_told_as_unreadable"]),
        ("min(span.stop, self.count)", "span.stop", ["test_gives_any_range"]),
        ('startswith(b"STARS")', 'startswith(b"")', ["test_rejects_what_is_not_its_format"]),
    ],
)
def test_the_contract_takes_an_author_a_few_lines(tmp_path, right, wrong, noticed):
    """A sound reader passes the public contract; each mistake is noticed by the test whose rule it breaks."""
    (tmp_path / "stars.py").write_text(GOOD.replace(right, wrong) if right else GOOD)
    (tmp_path / "test_stars.py").write_text(
        "from blobs.testing.readers import Example, ReaderContract\n"
        "from stars import StarsReader\n\n"
        "class TestStars(ReaderContract):\n"
        "    reader = StarsReader()\n"
        '    examples = {"three": Example(b"STARS***", "application/x-stars", 3)}\n'
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_stars.py",
    ]
    ended = subprocess.run(command, cwd=tmp_path, timeout=100, capture_output=True, text=True, check=False)
    failed = [
        line.split("::")[-1].split("[")[0].split(" ")[0]
        for line in ended.stdout.splitlines()
        if line.startswith("FAILED")
    ]
    assert failed == noticed, ended.stdout
    assert ended.returncode == bool(noticed)


DECLARED = ["application/json", "text/csv", "application/pdf", "text/plain", "image/png", "none/such", None]
FILES = sorted(each for each in (Path(__file__).parents[3] / "fixtures" / "files").rglob("*") if each.is_file())


def told(chosen):
    """The choices of different registries in a form that can be compared."""
    return [(each.plug_in.name, each.type, each.level) for each in chosen]


@pytest.mark.parametrize("declared", DECLARED)
def test_the_quick_choice_is_the_first_of_all(declared):
    """Over files of every kind, what a few readers choose is what all of them choose, with type and confidence."""
    quick, slow = Registry(), Registry()
    known = 0
    for path in FILES:
        sample = take_sample(BytesSource(path.read_bytes()), declared)
        first = quick.declared_choice(sample)
        everybody = told(slow.choose(sample))
        assert first is None or told([first]) == everybody[:1], path
        assert told(choices(quick, sample)) == everybody, path
        known += first is not None
    assert (known > 0) == (declared in DECLARED[:5])


def test_readers_without_a_signature_never_find_one():
    """Those that say so never answer 100, whatever the bytes are and were declared as."""
    registry = Registry()
    quiet = [each for each in registry.plug_ins() if each.reader is not None and not each.has_signature]
    assert {each.name for each in quiet} >= {"csv", "diff", "json-sequence", "markdown", "ndjson", "toml"}
    for path in FILES:
        for each in quiet:
            for declared in (None, each.media_types[0]):
                level = each.reader.sniff(take_sample(BytesSource(path.read_bytes()), declared)).level
                assert level < SIGNATURE_LEVEL, (each.name, path)
