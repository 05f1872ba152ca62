"""`python -m tests.benchmarks`: measure every row and write the table as Markdown and JSON."""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks import (  # noqa: F401  # they fill the table
    machine,
    report,
    rows_computing,
    rows_costing,
    rows_of_peers,
    rows_over_http,
    rows_reading,
    rows_searching,
    rows_taking_in,
)
from tests.benchmarks.bench import Bench
from tests.benchmarks.judging import judged
from tests.benchmarks.made_files import SEED
from tests.benchmarks.table import KIB, ROWS

SIZES = {"small": (32 * KIB, 10**6, 10**7), "full": (32 * KIB, 10**6, 10**8, 10**9)}


def main() -> None:
    """Measure, print each row as it is done, and write `benchmarks.md` and `benchmarks.json`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small", help="full: up to 1 GB, for which most bars are")
    parser.add_argument("--bytes", type=int, action="append", help="this size instead (more than once for several)")
    parser.add_argument("--only", action="append", help="only rows whose name contains this (or one of several)")
    parser.add_argument("--to", type=Path, default=Path("benchmarks"), help="where the table goes, without .md")
    parser.add_argument("--add", action="store_true", help="keep the rows of that table that are not measured now")
    parser.add_argument("--files", type=Path, help="folder in which made files stay for later runs")
    given = parser.parse_args()
    sizes = tuple(given.bytes or SIZES[given.size])
    with tempfile.TemporaryDirectory(prefix="blobs-benchmarks-") as folder:
        found: dict[str, Any] = {"machine": machine.facts(), "seed": SEED, "sizes": sizes, "rows": []}
        for result in _results(given.files or Path(folder, "files"), Path(folder), sizes, given.only or [""]):
            print(report.line(result), flush=True)
            found["rows"].append(result)
            # Now, not at the end: a run of hours may be ended before.
            report.write(given.to, report.with_rows_of(found, given.to.with_suffix(".json")) if given.add else found)


def _results(files: Path, folder: Path, sizes: tuple[int, ...], only: list[str]) -> Iterator[dict[str, Any]]:
    for size_bytes in sizes:
        bench = Bench(files, folder, size_bytes)
        try:
            for row in ROWS:
                if any(each in row.name for each in only) and (row.sizes is None or size_bytes in row.sizes):
                    yield judged(row, bench)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
