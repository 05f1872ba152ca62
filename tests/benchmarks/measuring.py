"""What a piece of work costs: wall time, CPU time of this process and all below it, and their peak memory."""

import os
import resource
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAMPLED_EVERY_S = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run of the work: the fastest wall time, the mean CPU time, and the peak memory.

    `server_bytes` is by how much the process grew that does the work; `below_bytes` the most that any process below it
    (a cell, a peer's program) held of its own, and `pages_bytes` the same with the pages of files that it mapped. CPU
    of processes below comes in ticks of 10 ms.
    """

    wall_s: float
    cpu_s: float
    server_bytes: int
    below_bytes: int
    pages_bytes: int


def measure(
    work: Callable[[], Any],
    *,
    repeat: int = 1,
    process: int | None = None,
    apart: Collection[int] = (),
    is_peer: bool = False,
) -> Cost:
    """Run the work `repeat` times and tell what it costs.

    `process` does the work, this one if none is named; `apart` are processes with no part in it. Of a peer's processes
    what they held before is not counted.
    """
    server = process or os.getpid()
    Path(f"/proc/{server}/clear_refs").write_text("5")  # the peak of resident memory begins anew
    before_bytes = _status(server, "VmRSS")
    watch = _Watch(server, apart, is_peer=is_peer)
    walls = []
    before = _cpu_s()
    with watch:
        for _ in range(repeat):
            begun = time.perf_counter()
            work()
            walls.append(time.perf_counter() - begun)
    cpu = _cpu_s() - before - watch.cpu_s
    grown = max(0, _status(server, "VmHWM") - before_bytes)
    return Cost(min(walls), max(0.0, cpu / repeat), grown, watch.below_bytes, watch.pages_bytes)


class _Watch:
    """Samples the memory of the processes below one."""

    def __init__(self, server: int, apart: Collection[int], *, is_peer: bool) -> None:
        self.below_bytes = self.pages_bytes = 0
        self.cpu_s = 0.0
        self._server, self._apart = server, apart
        self._held = {pid: (_status(pid, "RssAnon"), _status(pid, "VmRSS")) for pid in self._pids()} if is_peer else {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while True:
            for pid in self._pids():
                own, pages = self._held.get(pid, (0, 0))
                self.below_bytes = max(self.below_bytes, _status(pid, "RssAnon") - own)
                self.pages_bytes = max(self.pages_bytes, _status(pid, "VmRSS") - pages)
            if self._is_over.wait(_SAMPLED_EVERY_S):
                break
        self.cpu_s = time.thread_time()

    def _pids(self) -> Iterator[int]:
        # Between its fork and its exec a child shares the memory of this process.
        return (pid for pid in below(self._server, self._apart) if _command(pid) != _command(os.getpid()))

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
    for pid in below(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / _TICKS  # its own, and of what it waited for
    return total


def below(pid: int, apart: Collection[int] = ()) -> Iterator[int]:
    """All processes that descend from one, but those `apart` and what descends from them."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            if child not in apart:
                yield child
                yield from below(child, apart)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _status(pid: int, name: str) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
