"""Writers that are killed, that race, that stream much and that run out of disk."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blobs.domain.digest import Digest
from blobs.domain.errors import StoreError
from blobs.domain.limits import Limits
from blobs.storage.blob_store import BlobStore
from blobs.storage.local import LocalContentStore
from blobs.storage.sqlite import SqliteCatalog
from blobs.storage.sqlite_session import _engine
from blobs.testing.keeping import remove
from tests.crash.writer import open_store

REPOSITORY = Path(__file__).parents[2]


def start_writer(folder: Path, name: str, count: int, *manner: str) -> subprocess.Popen:
    """A writer process, its acknowledgements on its standard output."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), name, str(count), *manner],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a writer whose disk is cut off complains until it is killed
        text=True,
    )


def check(folder: Path, acknowledged: list[str]) -> None:
    """Every acknowledged blob is whole and named; nothing is left in the making; the catalog is sound."""
    blobs, content, catalog = open_store(folder)
    for line in acknowledged:
        digest, size, number = line.split()
        blob = blobs.open("a", Digest.parse("sha256:" + digest))
        assert blob.size == int(size)
        assert hashlib.sha256(b"".join(blob.chunks())).hexdigest() == digest
        assert catalog.find_name("a", "shared", int(number)).digest.hex == digest
    keys = set(content.keys())
    assert {each.key for each in catalog.list_blobs("a", limit=100_000)} <= keys
    assert list((folder / "content" / "tmp").iterdir()) == []
    blobs.close()
    connection = _engine().connect(str(folder / "catalog.db"))
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert connection.execute("pragma foreign_key_check").fetchall() == []
    connection.close()


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path):
    """Ten times, or BLOBS_KILLS, a writer is killed in the midst of its work; every blob that it named is whole."""
    acknowledged = []
    for number in range(int(os.environ.get("BLOBS_KILLS", "10"))):
        with start_writer(tmp_path, f"writer {number}", 1000) as writer:
            for _ in range(5 + 3 * (number % 10)):
                acknowledged.append(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            acknowledged += [each for each in writer.stdout if each.endswith("\n")]
        assert writer.returncode == -signal.SIGKILL
    assert len(acknowledged) >= 185
    check(tmp_path, acknowledged)


def test_two_processes_write_one_store(tmp_path):
    """Two processes that put and commit at once lose nothing, give no name twice and store common blobs once."""
    writers = [start_writer(tmp_path, f"writer {number}", 20) for number in range(2)]
    outputs = [each.communicate()[0].splitlines() for each in writers]
    assert [each.returncode for each in writers] == [0, 0]
    assert [len(each) for each in outputs] == [60, 60]
    acknowledged = outputs[0] + outputs[1]
    assert sorted(int(each.split()[2]) for each in acknowledged) == list(range(1, 121))
    check(tmp_path, acknowledged)
    blobs, content, catalog = open_store(tmp_path)
    assert len(list(content.keys())) == len(catalog.list_blobs("a")) == len({each.split()[0] for each in acknowledged})
    blobs.close()


MEMORY = """
import os, resource, sys
from pathlib import Path
from tests.crash.writer import open_store

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

blobs, _, _ = open_store(Path(sys.argv[1]))
block = bytearray(os.urandom(1 << 20))
blobs.put("a", bytes(block), media_type="application/octet-stream")
before = peak()

def chunks():
    for number in range(300):
        block[:4] = number.to_bytes(4, "big")
        yield bytes(block)

stored = blobs.put("a", chunks(), media_type="application/octet-stream")
read = sum(len(each) for each in blobs.open("a", stored.reference.digest).chunks())
print(stored.reference.size, read, peak() - before)
blobs.close()
"""


def test_a_large_blob_needs_little_memory(tmp_path):
    """300 MB streamed in and out again let the process grow by less than 100 MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    size, read, growth_kib = map(int, done.stdout.split())
    assert size == read == 300 * 1024 * 1024
    assert growth_kib < 100 * 1024


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 40 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("NOT TESTED: a full disk needs root and mount(8)")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=40m,mode=0700", "blobs-test", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED: a full disk needs a tmpfs of its own: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_damages_nothing(small_disk):
    """Where the disk is full a put fails as a store error and leaves nothing; what was stored is whole; space helps."""
    blobs, content, catalog = open_store(small_disk)
    stored, failures = {}, []
    for number in range(60):
        expected = os.urandom(1_500_000 if number % 2 else 200_000)
        try:
            reference = blobs.put("a", iter([expected]), media_type="application/octet-stream").reference
        except StoreError as failure:
            failures.append(str(failure))
        else:
            stored[reference.digest] = expected
    assert len(failures) > 20
    assert all("disk is full" in each and "Free space" in each for each in failures)
    assert len(stored) > 10
    assert list((small_disk / "content" / "tmp").iterdir()) == []
    for digest, expected in stored.items():
        assert b"".join(blobs.open("a", digest).chunks()) == expected
    for digest in list(stored):
        content.delete(remove(catalog, digest)[0].key)
    expected = os.urandom(2_000_000)
    reference = blobs.put("a", expected, media_type="application/octet-stream").reference
    assert blobs.open("a", reference.digest).read(0, 2_000_000) == expected
    blobs.close()


def test_bytes_are_durable_before_their_record(tmp_path, monkeypatch):
    """A large put writes, flushes the file, renames it, flushes the folder, and only then records the blob."""
    steps = record_steps(tmp_path, monkeypatch)
    blobs = recorded_store(tmp_path, monkeypatch, steps)
    steps.clear()
    digest = blobs.put("a", b"x" * 300_000, media_type="text/plain").reference.digest
    folder = f"content/files/{digest.hex[:2]}"
    assert steps == [
        ("write", "content/tmp"),
        ("fdatasync", "content/tmp"),
        ("rename", folder),
        ("fsync", folder),
        ("record", "a"),
    ]
    blobs.close()


def test_a_pack_is_flushed_before_its_blobs_are_recorded(tmp_path, monkeypatch):
    """A small put appends and flushes; the first one also flushes the folder in which its pack was created."""
    steps = record_steps(tmp_path, monkeypatch)
    blobs = recorded_store(tmp_path, monkeypatch, steps)
    for expected in (
        [("fsync", "content/packs"), ("write", "content/packs"), ("fdatasync", "content/packs"), ("record", "a")],
        [("write", "content/packs"), ("fdatasync", "content/packs"), ("record", "a")],
    ):
        steps.clear()
        blobs.put("a", f"small {expected}".encode(), media_type="text/plain")
        assert steps == expected
    blobs.close()


def record_steps(folder: Path, monkeypatch) -> list[tuple[str, str]]:
    """Notes what is asked of the disk, and in which folder, in order."""
    steps: list[tuple[str, str]] = []

    def place(file) -> str:
        path = Path(f"/proc/self/fd/{file}").readlink() if isinstance(file, int) else Path(file)
        return str((path if path.is_dir() else path.parent).relative_to(folder))

    def watch(name: str, which: int) -> None:
        done = getattr(os, name)

        def watched(*arguments, **options):
            result = done(*arguments, **options)
            steps.append((name, place(arguments[which])))
            return result

        monkeypatch.setattr(os, name, watched)

    for name, which in (("write", 0), ("fdatasync", 0), ("rename", 1), ("fsync", 0)):
        watch(name, which)
    return steps


def recorded_store(folder: Path, monkeypatch, steps) -> BlobStore:
    """A store whose catalog notes when a blob is recorded."""
    content, catalog = LocalContentStore(folder / "content"), SqliteCatalog(folder / "catalog.db")
    add_blobs = catalog.add_blobs

    def noted(news):
        steps.extend(("record", each.tenant) for each in news)
        return add_blobs(news)

    monkeypatch.setattr(catalog, "add_blobs", noted)
    return BlobStore(content, catalog, limits=Limits(), copies_folder=folder / "copies")


def test_puts_that_wait_together_share_a_flush_of_bytes_and_one_of_records(tmp_path, monkeypatch):
    """Fifteen puts that come while one is flushed are appended, flushed and recorded at once, and each is whole."""
    blobs, _, catalog = open_store(tmp_path)
    blobs.put("a", b"first, so that the pack is there", media_type="text/plain")
    flush, flushes, commits = os.fdatasync, [], []
    begun, gate = threading.Event(), threading.Event()

    def slow(file):
        flushes.append(file)
        begun.set()
        gate.wait(60)
        flush(file)

    monkeypatch.setattr(os, "fdatasync", slow)
    catalog._session._writer.set_trace_callback(lambda sql: commits.append(sql) if sql.lower() == "commit" else None)
    contents = [b"%d" % number + b"x" * 40_000 for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        futures = [pool.submit(blobs.put, "a", contents[0], media_type="text/plain")]
        assert begun.wait(60)
        futures += [pool.submit(blobs.put, "a", each, media_type="text/plain") for each in contents[1:]]
        while len(blobs._small._waiting) < 15:
            pass
        gate.set()
        stored = [each.result() for each in futures]
    assert (len(flushes), len(commits)) == (2, 2)
    for each, content in zip(stored, contents, strict=True):
        assert blobs.open("a", each.reference.digest).read(0, 50_000) == content
    blobs.close()


def test_puts_of_the_same_bytes_that_wait_together_are_one_blob(tmp_path):
    """One of them is new, whatever batch each is in, and the bytes of the others are given back."""
    blobs, content, _ = open_store(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        stored = list(pool.map(lambda _: blobs.put("a", b"same" * 9_000, media_type="text/plain"), range(48)))
    assert sum(each.was_new for each in stored) == 1
    assert len(list(content.keys())) == 1
    blobs.close()
