"""What a zygote does to itself before it forks."""

import subprocess
import sys

import pytest

GO_HUGE = """
import mmap, os
from blobs.running import zygote

size = 16 << 20
held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.write(bytes(range(256)) * (size // 256))
zygote._use_huge_pages(os.open("/proc", os.O_RDONLY))
assert held[:] == bytes(range(256)) * (size // 256)
with open("/proc/self/smaps_rollup") as told:
    print(next(int(line.split()[1]) for line in told if line.startswith("AnonHugePages")))
"""


def test_memory_lies_in_huge_pages() -> None:
    """What was written before is in huge pages then, where the kernel has them, and is the same."""
    done = subprocess.run([sys.executable, "-c", GO_HUGE], capture_output=True, text=True, check=True, timeout=60)
    if int(done.stdout) == 0:
        pytest.skip("no huge pages here")
    assert int(done.stdout) >= 8 * 1024
