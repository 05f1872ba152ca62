"""What is large streams through in constant memory."""

import subprocess
import sys
from pathlib import Path

import pytest

PUT_ONE_GIGABYTE = """
import resource, sys
from blobs import Blobs

def pieces():
    block = (b"2026-01-01 00:00:00 INFO request served in 12 ms\\n" * 22_000)[: 1 << 20]
    for _ in range(1024):
        yield block

with Blobs.open(sys.argv[1]) as blobs:
    blobs.put(b"x" * 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reference = blobs.put(pieces(), type="text/plain")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(reference["size"], after - before)
"""


@pytest.mark.timeout(300)
def test_a_gigabyte_streams_in_with_little_memory(tmp_path: Path) -> None:
    """Under 150 MB of growth, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PUT_ONE_GIGABYTE, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
    )
    size, growth_kib = (int(word) for word in done.stdout.split())
    assert size == 1 << 30
    assert growth_kib < 150 * 1024
