"""`python -m tests.benchmarks.cell_rows`: what a call in a cell costs, beside the least that a process costs.

Each row is the minimum and median of 200 calls on a warm pool, one after the other, every one when a worker waits for
it. Beside them, in the same run: a bare fork of a process with the same libraries loaded, a cold `python -I -c pass`,
and the same query on a warm, unlocked connection in this process. Exits with 1 where a bar is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from blobs.running import CellFile, CellLimits, CellRunner, Job, open_pool
from blobs.running.libraries import PRELOADED

CALLS = 200
COLD_STARTS = 30
QUERY = "select g, count(*) as n, sum(v) as s, avg(v) as a from blob1 group by g order by g"
ROWS = 60_000
"""As Parquet, about a megabyte."""

FORKS = f"""
import gc, importlib, os, time
for name in {PRELOADED!r}:
    importlib.import_module(name)
gc.collect(); gc.disable(); gc.freeze()
for _ in range({CALLS}):
    began = time.perf_counter()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(writing, b"1")
        os._exit(0)
    os.read(reading, 1)
    print(time.perf_counter() - began)
    os.waitpid(process, 0)
    os.close(reading); os.close(writing)
"""
"""Until the child has said a word; its end is not waited for, as it is not in a cell."""


def timed(act: Callable[[], object], *, count: int, before: Callable[[], object] = lambda: None) -> list[float]:
    """Milliseconds of each run."""
    taken = []
    for _ in range(count):
        before()
        began = time.perf_counter()
        act()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def await_worker(runner: CellRunner) -> None:
    """Until as many workers wait as there may be calls."""
    pool = runner._pool
    assert pool is not None
    while len(pool._idle) < pool._cells_max:
        time.sleep(0.001)
    time.sleep(0.002)  # the last of them may still be mounting


def in_cell(runner: CellRunner, job: Job) -> list[float]:
    def call() -> None:
        outcome = runner.run(job)
        assert outcome.status == "ok", outcome

    call()
    return timed(call, count=CALLS, before=lambda: await_worker(runner))


def measured(folder: Path) -> dict[str, list[float]]:
    table = folder / "table.parquet"
    rows: dict[str, list[float]] = {}
    with duckdb.connect() as connection:
        connection.execute(
            f"copy (select range % 50 as g, (hash(range) % 1000003)::bigint as v, 'row ' || range as s "
            f"from range({ROWS})) to '{table}' (format parquet, compression zstd)"
        )
        connection.execute(f"create view blob1 as from read_parquet('{table}')")
        rows["SQL, warm and unlocked, in this process"] = timed(lambda: connection.sql(QUERY).fetchall(), count=CALLS)
    forked = subprocess.run(
        [sys.executable, "-c", FORKS],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"},
        capture_output=True,
        text=True,
        check=True,
    )
    rows["a bare fork of a process of this size"] = [float(line) * 1000 for line in forked.stdout.split()]
    cold = [sys.executable, "-I", "-c", "pass"]
    rows["a cold python -I -c pass"] = timed(lambda: subprocess.run(cold, check=True), count=COLD_STARTS)
    tasks = {"sql": "blobs.querying.sql_task:run", "python": "blobs.querying.python_task:run"}
    with open_pool(tasks=tasks, cells_max=1) as runner:
        python = Job("python", {"code": "import pandas\n1", "blobs": {}})
        rows["Python in a cell, nothing to do, pandas ready"] = in_cell(runner, python)
        sql = Job(
            "sql",
            {"sql": QUERY, "tables": {"blob1": "table"}, "rows_max": 10_000},
            (CellFile("table", table),),
            CellLimits(),
        )
        rows["SQL in a cell, a table of a megabyte"] = in_cell(runner, sql)
        rows["tier " + runner.tier] = []
    return rows


def verdicts(least: dict[str, float]) -> list[tuple[str, float, float]]:
    """What each bar allows, and what was taken, in ms."""
    python = least["Python in a cell, nothing to do, pandas ready"]
    sql = least["SQL in a cell, a table of a megabyte"]
    return [
        ("Python: at most twice the bare fork", 2 * least["a bare fork of a process of this size"], python),
        ("Python: under a third of the cold start", least["a cold python -I -c pass"] / 3, python),
        (
            "SQL: at most 3 times the warm connection and 10 ms",
            3 * least["SQL, warm and unlocked, in this process"] + 10,
            sql,
        ),
    ]


def main() -> int:
    """Measure, print, and say which bars are met by the minimum and by the median."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cell_rows", description=__doc__)
    parser.add_argument("--to", type=Path, help="also write the numbers as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="blobs-cell-rows-") as folder:
        rows = measured(Path(folder))
    report: dict[str, Any] = {}
    for name, taken in rows.items():
        report[name] = {"min_ms": min(taken), "median_ms": statistics.median(taken)} if taken else {}
        print(f"{name:50} " + " ".join(f"{key} {value:8.2f}" for key, value in report[name].items()))
    is_met = True
    for kind in ("min_ms", "median_ms"):
        for bar, most, took in verdicts({name: each[kind] for name, each in report.items() if each}):
            print(f"{'met   ' if took <= most else 'MISSED'} {bar}, by {kind}: {took:.2f} of {most:.2f}")
            is_met = is_met and (took <= most or kind != "min_ms")
    if given.to:
        given.to.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
