"""What a piece of work costs: wall time, CPU time of this process and all below it, and their peak memory."""

import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAMPLED_EVERY_S = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run of the work: the fastest wall time, the mean CPU time, and the peak memory.

    `server_bytes` is by how much this process grew; `below_bytes` the most that any process below it (a cell, a peer's
    program) held of its own, files that it mapped not counted. CPU of processes below comes in ticks of 10 ms.
    """

    wall_s: float
    cpu_s: float
    server_bytes: int
    below_bytes: int


def measure(work: Callable[[], Any], *, repeat: int = 1) -> Cost:
    """Run the work `repeat` times and tell what it costs."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak of resident memory begins anew
    before_bytes = _own_status("VmRSS")
    watch = _Watch()
    walls = []
    before = _cpu_s()
    with watch:
        for _ in range(repeat):
            begun = time.perf_counter()
            work()
            walls.append(time.perf_counter() - begun)
    cpu = _cpu_s() - before - watch.cpu_s
    return Cost(min(walls), max(0.0, cpu / repeat), max(0, _own_status("VmHWM") - before_bytes), watch.below_bytes)


class _Watch:
    """Samples the memory of the processes below this one."""

    def __init__(self) -> None:
        self.below_bytes = 0
        self.cpu_s = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._is_over.wait(_SAMPLED_EVERY_S):
            for pid in _below(os.getpid()):
                self.below_bytes = max(self.below_bytes, _status(pid, "RssAnon"))
        self.cpu_s = time.thread_time()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


def _cpu_s() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for pid in _below(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / _TICKS  # its own, and of what it waited for
    return total


def _below(pid: int) -> list[int]:
    """All processes that descend from one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_below(child)]
    return found


def _own_status(name: str) -> int:
    return _status(os.getpid(), name)


def _status(pid: int, name: str) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
