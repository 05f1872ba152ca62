"""Disks and folders that a store cannot work on: a clear refusal at start, and a clear answer of a running service."""

import json
import os
import shutil
import subprocess

import pytest

from blobs import Blobs
from blobs.domain.errors import StoreError
from tests.cli.command import blobs
from tests.http.conftest import is_problem
from tests.http.server import Server


@pytest.fixture
def store(tmp_path):
    """A store with a small and a large blob."""
    folder = tmp_path / "store"
    with Blobs.open(folder) as opened:
        opened.conversation("chat").attach(b"small", type="text/plain")
        opened.put(b"large" * 100_000)
    return folder


@pytest.fixture
def mounted(tmp_path):
    """Mounts a tmpfs at a folder."""
    folders = []

    def mount(folder, options):
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "blobs-test", str(folder)]
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("NOT TESTED: this needs root and mount(8)")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"NOT TESTED: this needs a tmpfs of its own: {done.stderr.strip()}")
        folders.append(folder)
        return folder

    yield mount
    for each in folders:
        subprocess.run(["umount", "--lazy", str(each)], check=True)


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("packs", "folder of the store is missing"),
        ("files", "folder of the store is missing"),
        ("files/7f", "folder of the store is missing"),
        ("tmp", "folder of the store is missing"),
        ("catalog.db", "its catalog catalog.db is missing"),
        ("store.json", "their bytes are missing"),
    ],
)
def test_a_store_that_lost_a_part_is_refused(store, lost, said):
    """Nothing is made in its place, so that nothing is taken for lost or collected; back in place all is well."""
    away = store.parent / "away"
    (store / lost).rename(away)
    for _ in range(2):
        with pytest.raises(StoreError, match=said):
            Blobs.open(store)
    assert not (store / lost).exists()
    done = blobs("serve", "--port", "0", "--store", store)
    assert done.returncode == 6
    assert said.encode() in done.stderr
    away.rename(store / lost)
    with Blobs.open(store) as opened:
        assert opened.find_conversation("chat").dump()["blobs"]["blob1"]["size"] == 5


def test_an_interrupted_first_opening_is_carried_on(tmp_path):
    """A store that was only half made when its maker died has nothing to lose, and is made whole."""
    with Blobs.open(tmp_path / "made"):
        pass
    for missing in ("catalog.db", "store.json"):
        shutil.copytree(tmp_path / "made", tmp_path / missing)
        (tmp_path / missing / missing).unlink()
        with Blobs.open(tmp_path / missing) as opened:
            assert opened.put(b"x")["size"] == 1


@pytest.mark.parametrize("place", ["store", "elsewhere/store"])
def test_a_read_only_disk_is_refused(tmp_path, mounted, place):
    """A new store on it, said at start."""
    disk = mounted(tmp_path / "disk", "size=4m,ro")
    done = blobs("serve", "--port", "0", "--store", disk / place)
    assert done.returncode == 6
    assert b"ead-only" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_store_that_became_read_only_is_refused(tmp_path, mounted):
    """One that was there before the disk could not be written any more."""
    disk = mounted(tmp_path / "disk", "size=60m")
    with Blobs.open(disk / "store") as opened:
        opened.put(b"x")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = blobs("ls", "--store", disk / "store")
    assert done.returncode == 6
    assert b"Traceback" not in done.stderr
    assert b"ead-only" in done.stderr or b"readonly" in done.stderr


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    """A file, or a folder below a file."""
    (tmp_path / "file").write_bytes(b"x")
    for place in (tmp_path / "file", tmp_path / "file" / "store"):
        done = blobs("put", "-", "--store", place, stdin=b"x")
        assert done.returncode == 6
        assert b"Traceback" not in done.stderr


def test_a_full_disk_is_507(tmp_path, mounted):
    """Uploads, turns and attachments that do not fit are refused as such, what is there is served, space helps."""
    disk = mounted(tmp_path / "disk", "size=40m")
    server = Server(disk)
    kept = server.http.post("/v1/blobs", content=b"kept" * 1000).headers["location"]
    chat = server.http.post("/v1/conversations").headers["location"]
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        status = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - 2 * 1024 * 1024)
    content = os.urandom(3_000_000)
    digits = json.dumps({"calls": [{"id": "a", "tool": "t", "result": content[:100_000].hex()}]})
    for _ in range(2):
        refusals = [
            server.http.post("/v1/blobs", content=content),
            server.http.post("/v1/blobs", content=content[:1000]),
            server.http.post(f"{chat}/blobs", content=content),
            server.http.put(f"{chat}/turns/0", content=digits, headers={"Content-Type": "application/json"}),
        ]
        for refused in refusals:
            assert is_problem(refused, 507, "store_failed")
            assert "disk is full" in refused.json()["detail"]
            assert refused.json()["hint"]
        assert server.http.get(kept).content == b"kept" * 1000
    assert list((server.store / "tmp").iterdir()) == []
    ballast.unlink()
    assert server.http.post("/v1/blobs", content=content).status_code == 201
    assert server.http.put(f"{chat}/turns/0", content=digits, headers={"Content-Type": "application/json"}).is_success
    assert server.stop() == 0
