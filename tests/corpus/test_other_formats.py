"""Public files of Parquet, Arrow, PDF and images, each against the count that several independent tools agree on."""

from pathlib import Path

import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.operations.opening import take_sample
from blobs.reading.reader import View
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.mutations import run_apart
from previewers.arrow_ipc import ArrowReader
from previewers.image import ImageReader
from previewers.parquet import ParquetReader
from previewers.pdf import PdfReader
from tests.material import beside, corpus_rows

READERS = {
    "parquet": ParquetReader(),
    "arrow-file": ArrowReader(),
    "arrow-stream": ArrowReader(),
    "pdf": PdfReader(),
    **dict.fromkeys(("png", "jpeg", "gif", "webp", "tiff", "bmp", "ico", "avif", "jp2", "psd"), ImageReader()),
}
ROWS = corpus_rows(*READERS)
VALID = [row for row in ROWS if row["validity"] == "valid" and "pyarrow refuses" not in row["notes"]]
DAMAGED = [row for row in ROWS if row not in VALID]
NOT_SIGNED = {"qpdf/issue-335a.pdf", "qpdf/issue-335b.pdf"}  # damage to the signature itself

pytestmark = pytest.mark.skipif(not ROWS, reason="the corpus is not beside the repository")


def content_of(row: dict[str, str]) -> bytes:
    return (beside() / "corpus" / row["path"]).read_bytes()


def walk(view: View) -> int:
    """Give every item once, as JSON; answers how many."""
    return sum(1 for item in view.items(ItemRange(0, view.count or 0)) if exact_json.dumps(item))


def name(row: dict[str, str]) -> str:
    return Path(row["path"]).name


@pytest.mark.parametrize("row", VALID, ids=name)
def test_counts_of_valid_files(row):
    """The rows, pages or frames are as many as the other tools say, and all of them can be read."""
    view = READERS[row["format"]].open(BytesSource(content_of(row)))
    if isinstance(READERS[row["format"]], ImageReader):
        assert view.facts()["frames"] == int(row["items"])
    else:
        assert view.count == int(row["items"])
        assert walk(view) == view.count


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_recognised_by_content(row):
    """Every file is recognised without its name or a declared type, damaged ones by their signature."""
    if row["path"] in NOT_SIGNED:
        pytest.skip("its signature is damaged")
    first = Registry().choose(take_sample(BytesSource(content_of(row)), None))[0]
    assert first.plug_in.name == READERS[row["format"]].name


def test_damaged_files_are_unreadable():
    """Damaged, encrypted and unsupported files open or are unreadable: nothing else is raised, nothing crashes."""

    def survive(place: bytes) -> None:
        row = DAMAGED[int(place)]
        try:
            walk(READERS[row["format"]].open(BytesSource(content_of(row))))
        except UnreadableError:
            return

    failures = run_apart(((name(row), b"%d" % place) for place, row in enumerate(DAMAGED)), survive)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("row", [row for row in ROWS if row["validity"] in ("needs password", "encrypted")], ids=name)
def test_encryption_is_told(row):
    """What needs a key or a password says so."""
    with pytest.raises(UnreadableError, match="encrypted"):
        READERS[row["format"]].open(BytesSource(content_of(row)))


@pytest.mark.parametrize("row", [row for row in ROWS if "no text layer" in row["notes"]], ids=name)
def test_scans_are_told(row):
    """A document without a text layer says so in a note."""
    view = READERS[row["format"]].open(BytesSource(content_of(row)))
    assert any("scanned" in note for note in view.notes)


@pytest.mark.parametrize("row", [row for row in VALID if "EXIF orientation" in row["notes"]], ids=name)
def test_orientation_is_told(row):
    """A picture that is stored turned says with which orientation."""
    view = READERS[row["format"]].open(BytesSource(content_of(row)))
    assert f"orientation {row['notes'].rpartition(' ')[2]};" in view.notes[0]
