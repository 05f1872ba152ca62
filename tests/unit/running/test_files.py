"""How files get into a cell: each by itself, read-only, wherever it lies."""

import os
import tempfile
from pathlib import Path

import pytest

from blobs.domain.errors import CallerError, NotFoundError, SandboxError
from blobs.running import CellFile

NOBODY = 61_000


def contents(run, *paths: Path) -> dict[str, str]:
    outcome = run("echo", files=tuple(CellFile(f"f{index}", path) for index, path in enumerate(paths)))
    assert outcome.status == "ok", outcome
    return outcome.value["files"]


def written(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_files_of_several_folders_are_seen_by_name(run, tmp_path):
    """Data folder, cache folder, /tmp: a job may mix them."""
    paths = [written(tmp_path / folder / "blob", folder) for folder in ("data", "cache", "deep/er")]
    assert contents(run, *paths) == {"f0": "data", "f1": "cache", "f2": "deep/er"}


def test_a_private_file_in_a_private_folder_can_be_read(run, tmp_path):
    """Mode 600 below mode 700 is how a store keeps its files; the cell's other user is no hindrance."""
    path = written(tmp_path / "store" / "blob", "private", 0o600)
    path.parent.chmod(0o700)
    assert contents(run, path) == {"f0": "private"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_made_after_the_start_can_be_read(run, tmp_path):
    """Also in a folder that was made after the start, and also when another file has taken its place."""
    path = written(tmp_path / "new" / "blob", "first")
    assert contents(run, path) == {"f0": "first"}
    written(tmp_path / "next", "second").replace(path)
    assert contents(run, path) == {"f0": "second"}


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user needs root")
def test_a_file_that_the_cells_user_could_not_read_is_given_as_a_copy(run, tmp_path, monkeypatch):
    """Somebody else's mode 600: the host may read it, so the cell gets its content; no copy stays behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = written(tmp_path / "blob", "foreign", 0o600)
    os.chown(path, NOBODY, NOBODY)
    assert contents(run, path, written(tmp_path / "own", "own")) == {"f0": "foreign", "f1": "own"}
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_link_is_followed_because_the_host_named_it(run, tmp_path):
    """The host's own paths are trusted."""
    (tmp_path / "link").symlink_to(written(tmp_path / "target", "behind"))
    assert contents(run, tmp_path / "link") == {"f0": "behind"}


def test_a_relative_path_is_the_hosts(run, tmp_path, monkeypatch):
    """Relative to the working directory of the host, not of the binder."""
    written(tmp_path / "here", "here")
    monkeypatch.chdir(tmp_path)
    assert contents(run, Path("here")) == {"f0": "here"}


def test_as_many_files_as_a_job_may_have(run, tmp_path):
    """128 files travel at once; one more is refused."""
    paths = [written(tmp_path / str(index), str(index)) for index in range(129)]
    assert contents(run, *paths[:128]) == {f"f{index}": str(index) for index in range(128)}
    with pytest.raises(CallerError, match="at most 128 files"):
        contents(run, *paths)


def test_a_missing_file_is_said_and_costs_no_cell(run, tmp_path):
    """A blob may be collected between the look-up and the call."""
    for _ in range(5):
        with pytest.raises(NotFoundError, match="blob is gone"):
            run("echo", files=(CellFile("a", tmp_path / "blob"),))
    assert run("echo").status == "ok"


def test_what_is_no_regular_file_is_refused(run, tmp_path):
    """A folder, a pipe or a device is never given."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(SandboxError, match="not a regular file"):
            run("echo", files=(CellFile("a", path),))
