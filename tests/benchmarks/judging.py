"""A row measured, and whether it is within its bars."""

import os
import time
from typing import Any

from tests.benchmarks.bench import Bench, GaveUpError, Pair, Row
from tests.benchmarks.measuring import Cost, below, measure

SERVER_BYTES_MAX, CELL_BYTES_MAX = 150 * 10**6, 600 * 10**6
"""The bars of memory, which hold for every row at every size."""


def judged(row: Row, bench: Bench) -> dict[str, Any]:
    """The row as JSON: what it is, ours, the peer's, their ratio, and `is_met`: None where the bar is for another size.

    A row that fails tells so and costs no other.
    """
    told = {
        "work": row.name,
        "size": bench.size_bytes,
        "beside": row.beside,
        "bar": row.bar,
        "by": row.by,
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load": round(os.getloadavg()[0], 1),
    }
    try:
        pair = row.prepare(bench)
        return {**told, **_measured(row, bench, pair)}
    except Exception as fault:
        return {**told, "failed": f"{type(fault).__name__}: {fault}"[:300]}


def _measured(row: Row, bench: Bench, pair: Pair) -> dict[str, Any]:
    process = pair.server.process.pid if pair.server else None
    ours = measure(pair.ours, repeat=pair.repeat, process=process, apart=bench.apart(but=process))
    missed = list(_missed_memory(row, bench.size_bytes, ours))
    found = {"ours": _told(ours), "note": pair.note}
    is_due = row.bar != "–" and row.at in (0, bench.size_bytes)
    if isinstance(pair.peer, str):
        return {**found, "peer": pair.peer, "is_met": False if missed else None, "missed": missed}
    if isinstance(pair.peer, float):
        gave_up = ""
        peer = Cost(pair.peer, pair.peer, 0, 0, 0)
    else:
        peer, gave_up = _peer(bench, pair, pair.peer)
        found |= {"peer": _told(peer), "gave_up": gave_up}
    ratio = getattr(ours, f"{row.by}_s") / max(getattr(peer, f"{row.by}_s"), 1e-9)
    is_due = is_due and not (gave_up and ratio > row.most)  # how much slower the peer would have been is not known
    if is_due:
        missed += [*pair.misses, *(["the bar"] if ratio > row.most else [])]
    return {**found, "ratio": ratio, "is_met": False if missed else True if is_due else None, "missed": missed}


def _peer(bench: Bench, pair: Pair, work: Any) -> tuple[Cost, str]:
    """The cost of a peer; where it gave up, that of its attempt, which is less than the work would have cost."""
    problems = []

    def attempt() -> None:
        try:
            work()
        except GaveUpError as problem:
            problems.append(str(problem))

    cells = set(below(os.getpid())) - bench.apart(but=None)
    cost = measure(attempt, repeat=pair.peer_repeat, apart=cells, is_peer=True)
    return cost, problems[0] if problems else ""


def _missed_memory(row: Row, size_bytes: int, ours: Cost) -> Any:
    if ours.server_bytes > SERVER_BYTES_MAX:
        yield "memory of the server"
    if ours.below_bytes > CELL_BYTES_MAX:
        yield "memory of a cell"
    if row.pages_most and size_bytes == row.at and ours.server_bytes + ours.pages_bytes > row.pages_most * size_bytes:
        yield "memory beside the file's"


def _told(cost: Cost) -> dict[str, float]:
    return {
        "wall_ms": round(cost.wall_s * 1000, 3),
        "cpu_ms": round(cost.cpu_s * 1000, 3),
        "server_mb": round(cost.server_bytes / 1e6, 1),
        "below_mb": round(cost.below_bytes / 1e6, 1),
        "pages_mb": round(cost.pages_bytes / 1e6, 1),
    }
