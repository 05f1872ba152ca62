"""Damaged bytes from good ones, and a child process to try them in: a native parser may crash on them."""

import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from random import Random
from typing import NoReturn

CHILD_MEMORY_BYTES = 3 * 1024**3
SECONDS_MAX = 20
"""How long one damaged example may take before it counts as a hang."""

_SEED = 20_260


def mutations(content: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Damaged copies with a description each, the same ones every time.

    A third is cut short, a third has a few bits flipped, a third has a run of bytes overwritten, with
    equal or with random ones. Nothing comes of
    nothing.
    """
    random = Random(_SEED + len(content))  # noqa: S311  # the same damage every time is the point
    for number in range(count if content else 0):
        damaged = bytearray(content)
        at = random.randrange(len(content))
        if number % 3 == 0:
            yield f"cut at {at}", content[:at]
        elif number % 3 == 1:
            places = [random.randrange(len(content)) for _ in range(random.randint(1, 8))]
            for place in places:
                damaged[place] ^= 1 << random.randrange(8)
            yield f"bits flipped at {places}", bytes(damaged)
        else:
            run = random.choice([b"\x00", b"\xff", b"\x7f", random.randbytes(1)]) * random.choice([1, 2, 4, 8, 64])
            run = random.choice([run, random.randbytes(len(run))])
            damaged[at : at + len(run)] = run[: len(content) - at]
            yield f"{len(run)} bytes {run[:1].hex()} at {at}", bytes(damaged)


def run_apart(cases: Iterator[tuple[str, bytes]], check: Callable[[bytes], None]) -> list[str]:
    """Run a check over every case in a child process with bounded memory and time.

    Answers a description of each case that raised; a child that crashed or hung is described too and ends the run.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_cases(cases, check, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as report:
        lines = report.read().split("\x00")
    _, status = os.waitpid(child, 0)
    failures = [line[1:] for line in lines if line.startswith("!")]
    if os.WIFSIGNALED(status):
        last = next((line[1:] for line in reversed(lines) if line.startswith("?")), "the start")
        failures.append(f"{last}: killed by {signal.Signals(os.WTERMSIG(status)).name}")
    elif os.WEXITSTATUS(status):
        failures.append(f"the child process ended with {os.WEXITSTATUS(status)}")
    return failures


def _run_cases(cases: Iterator[tuple[str, bytes]], check: Callable[[bytes], None], report: int) -> NoReturn:
    """The child: tell each case before it runs ("?") and what it raised ("!"), then end without any clean-up."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for name, content in cases:
            os.write(report, f"?{name}\x00".encode())
            signal.alarm(SECONDS_MAX)
            try:
                check(content)
            except BaseException:  # noqa: BLE001  # whatever is raised is the finding
                os.write(report, f"!{name}: {traceback.format_exc(limit=-6)}\x00".encode())
        status = 0
    finally:
        os._exit(status)
