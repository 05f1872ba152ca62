"""Attacks on resources and on the answer itself, judged from outside: time, memory, processes, what the host keeps."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blobs.running import CellLimits, CellRunner, Job, Outcome, open_pool
from tests.security.cell.bombs import COUNTS, CRASHES, LOOPS, MEMORY
from tests.security.sql.watching import PeakWatch
from tests.unit.running.processes import descendants, is_running, wait_until

MIB = 1 << 20


@pytest.fixture(scope="module")
def others() -> set[int]:
    """Processes that were there before these cells."""
    return descendants(os.getpid())


@pytest.fixture(scope="module")
def cells(others: set[int]) -> Iterator[CellRunner]:
    table = {"code": "tests.unit.running.tasks:run_code"}
    with open_pool(tasks=table, preload=("numpy",), cells_max=2, tiers=("A",)) as runner:
        assert runner.tier == "A", runner.reasons
        yield runner


def run(cells: CellRunner, code: str, **limits: int) -> Outcome:
    bounds = CellLimits(**{"wall_ms": 1_500, "memory_bytes": 200 * MIB, **limits})
    return cells.run(Job("code", {"code": code}, limits=bounds))


RESERVED = """
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
is_mapped = threading.Event()
def fill(start):
    is_mapped.wait()
    for offset in range(start, start + (2 << 30), 1 << 20):
        ctypes.memset(place + offset, 1, 1 << 20)
threads = [threading.Thread(target=fill, args=(start,)) for start in (0, 2 << 30)]
for thread in threads: thread.start()
place = libc.mmap(None, 4 << 30, 0, 0x22, -1, 0)
assert libc.mmap(place, 4 << 30, 3, FLAGS, -1, 0) == place
libc.madvise(place, 4 << 30, 14)
is_mapped.set()
for thread in threads: thread.join()
"""
"""Memory over addresses that were reserved before: the kernel takes no account of it in RLIMIT_DATA."""


@pytest.mark.parametrize("flags", [pytest.param(0x32, id="touched"), pytest.param(0x8032, id="populated")])
def test_memory_that_the_kernel_does_not_count_is_bounded_by_the_host(cells, flags):
    """It ends as any other bomb, and holds little more than it may at its peak: what it gets between two looks."""
    watch = PeakWatch(cells)
    outcome = run(cells, f"FLAGS = {flags}\n{RESERVED}", wall_ms=8_000, memory_bytes=512 * MIB)
    assert outcome.status == "memory", outcome
    assert outcome.error is not None
    assert outcome.error["code"] == "out_of_memory"
    assert watch.peak_bytes() <= 512 * MIB * 1.2


@pytest.mark.parametrize("name", MEMORY)
def test_memory_is_bounded(cells, name):
    """However it is asked for, the cell does not get it."""
    code = MEMORY[name]
    outcome = run(cells, f"try:\n    exec({code!r})\nexcept (MemoryError, OSError): result = 'refused'", wall_ms=8_000)
    assert (outcome.status, outcome.value) in {("ok", "refused"), ("memory", None)}, outcome


def test_memory_really_stays_under_the_limit(cells):
    """All that is resident at the peak, libraries included, is not more than the limit and a tenth."""
    watch = PeakWatch(cells)
    outcome = run(cells, "x = []\nwhile True: x.append(bytearray(1 << 20))", memory_bytes=300 * MIB)
    assert outcome.status == "memory"
    assert 200 * MIB < watch.peak_bytes() <= 300 * MIB * 1.1


def outside(tmp_path: Path, code: str) -> subprocess.Popen[str]:
    """The program in a plain process, without a cell."""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


@pytest.mark.parametrize("name", MEMORY)
def test_the_memory_can_be_had_outside(tmp_path, name):
    """Negative control: without a cell the program gets what it asks for."""
    with outside(tmp_path, f"{MEMORY[name]}\nprint('had')") as process:
        assert process.communicate(timeout=60)[0] == "had\n"


def test_the_loops_do_not_end_outside(tmp_path):
    """Negative control: all of them are still at it after as long as the cell gives them, and more."""
    processes = {name: outside(tmp_path, code) for name, code in LOOPS.items() if name != "a flood of output"}
    time.sleep(1)
    ended = [name for name, process in processes.items() if process.poll() is not None]
    for process in processes.values():
        process.kill()
        process.communicate()
    assert ended == []


@pytest.mark.parametrize("name", COUNTS)
def test_more_can_be_had_outside(tmp_path, name):
    """Negative control: without a cell the program gets more than a cell gives."""
    code, most = COUNTS[name]
    with outside(tmp_path, f"{code}\nprint(result, flush=True)\nimport os\nos._exit(0)") as process:
        assert int(process.communicate(timeout=60)[0]) > most


@pytest.mark.parametrize("name", sorted(CRASHES.keys() - {"a wrong system call"}))
def test_the_crash_is_one_outside(tmp_path, name):
    """Negative control: without a cell the program takes down the process that runs it.

    A wrong system call is no crash where no filter answers it.
    """
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))"
    with outside(tmp_path, f"{limit}\n{CRASHES[name]}\nprint('alive')") as process:
        assert process.communicate(timeout=60)[0] != "alive\n"


@pytest.mark.parametrize("name", LOOPS)
def test_time_is_bounded(cells, name):
    """The call is over at its deadline, whatever it is busy with; what it printed is cut."""
    outcome = run(cells, LOOPS[name], wall_ms=500, memory_bytes=400 * MIB)
    assert outcome.status in {"timeout", "memory"}, outcome
    assert len(outcome.printed) < 20_000


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_bounded(cells, name):
    """Threads, descriptors, files: a cell gets some, and the host as many as before."""
    code, most = COUNTS[name]
    outcome = run(cells, code, wall_ms=8_000)
    assert outcome.status == "ok", outcome
    assert outcome.value <= most
    assert run(cells, "result = 1").value == 1


def test_every_cell_has_its_own_account_of_threads(cells):
    """A cell that takes all the threads it may leaves the next one's untouched."""
    code = COUNTS["threads"][0]
    assert [run(cells, code).value > 40 for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_costs_the_call_only(cells, name):
    """The worker may die as it likes; the next call runs."""
    outcome = run(cells, CRASHES[name])
    assert outcome.status in {"killed", "error", "timeout", "memory"}, outcome
    assert outcome.error is not None
    assert run(cells, "result = 1").value == 1


def forging(body: str) -> str:
    """Code that writes to the result pipe itself: it is the one descriptor above 2 that is a pipe."""
    return (
        "import os, stat, struct\n"
        "def is_pipe(f):\n"
        "    try: return stat.S_ISFIFO(os.fstat(f).st_mode)\n"
        "    except OSError: return False\n"
        "pipe = next(f for f in range(3, 256) if is_pipe(f))\n"
        "def frame(kind, body=b'', length=None):\n"
        "    os.write(pipe, struct.pack('<cI', kind, len(body) if length is None else length)); os.write(pipe, body)\n"
        f"{body}\nos._exit(0)"
    )


FORGERIES = {
    "a giant length": "frame(b'P', length=0xFFFFFFFF)",
    "a giant value": "frame(b'V', length=0x7FFFFFFF)",
    "a length that does not come": "frame(b'V', length=1000)",
    "a second start": "frame(b'S')",
    "a failure of set-up": "frame(b'F', b'no namespaces')",
    "an unknown kind": "frame(b'Z')",
    "garbage": "os.write(pipe, os.urandom(100))",
    "no answer": "",
    "half a head": "os.write(pipe, b'V')",
    "a pickle": "frame(b'V', b'\\x80\\x04\\x8c\\x05posix\\x94\\x8c\\x06system\\x94\\x93\\x94.')",
    "depth": "frame(b'V', b'{\"value\":' + b'[' * 900000)",
    "another type": "frame(b'V', b'[]')",
    "a status of its own": 'frame(b\'V\', b\'{"status":"ok","fault":{},"traceback":""}\')',
    "a byte at a time": "import time\nfor _ in range(9_999): os.write(pipe, b'P\\x01\\0\\0\\0x'[:1]); time.sleep(0.01)",
    "half a frame": "import time\nframe(b'V', b'{', length=100); time.sleep(60)",
    "empty frames for ever": "while True: frame(b'P')",
    "more payload than allowed": "for _ in range(100): frame(b'P', bytes(1 << 20))",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_answer_is_refused(cells, name):
    """Length, order, kind and form are checked on the host; it keeps no more than the caps, and goes on."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = run(cells, forging(FORGERIES[name]), wall_ms=1_000, result_bytes=2 * MIB)
    assert outcome.status in {"protocol", "killed", "timeout"}, outcome
    assert outcome.value is None
    assert outcome.payload == b""
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB
    assert run(cells, "result = 1").value == 1


def test_a_forged_answer_can_only_be_ones_own(cells):
    """Model code may answer for itself, in the form a task may: nothing else is to be had by it."""
    outcome = run(cells, forging("frame(b'V', b'{\"value\":\"mine\"}')"))
    assert (outcome.status, outcome.value) == ("ok", "mine")


def test_a_task_that_answers_twice_is_heard_once(cells):
    """The first answer ends the call, and the process."""
    outcome = run(cells, forging("frame(b'V', b'{\"value\":1}'); frame(b'V', b'{\"value\":2}')"))
    assert (outcome.status, outcome.value) == ("ok", 1)


def test_bombs_leave_no_process_behind(cells, others):
    """After all of this, what runs is the launcher, the zygote and the idle workers."""
    run(cells, "import os, threading\nthreading.Thread(target=lambda: None).start()\nos.fork()")
    assert wait_until(lambda: sum(map(is_running, descendants(os.getpid()) - others)) <= 4)
