"""`python -m tests.benchmarks`: measure every row and write the table as Markdown and JSON."""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks import rows, rows_of_peers, rows_over_http  # noqa: F401  # they fill the table
from tests.benchmarks.bench import Bench, Row, program, run
from tests.benchmarks.made_files import SEED
from tests.benchmarks.measuring import Cost, measure
from tests.benchmarks.table import KIB, ROWS

SIZES = {"small": (32 * KIB, 10**6, 10**7), "full": (32 * KIB, 10**6, 10**8, 10**9)}
_PEERS = ("duckdb", "pyarrow", "google-re2", "msgspec", "tiktoken")


def main() -> None:
    """Measure, print each row as it is done, and write `benchmarks.md` and `benchmarks.json`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--bytes", type=int, action="append", help="this size instead (more than once for several)")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--to", type=Path, default=Path("benchmarks"), help="where the table goes, without .md")
    parser.add_argument("--files", type=Path, help="folder for the made files and the store (default: a temporary one)")
    given = parser.parse_args()
    sizes = tuple(given.bytes or SIZES[given.size])
    with tempfile.TemporaryDirectory(prefix="blobs-benchmarks-") as temporary:
        results = []
        for size_bytes in sizes:
            for result in _measured(given.files or Path(temporary), size_bytes, given.only):
                print(_line(result), flush=True)
                results.append(result)
    report = {"machine": _machine(), "seed": SEED, "sizes": sizes, "rows": results}
    given.to.with_suffix(".json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    given.to.with_suffix(".md").write_text(_markdown(report))


def _measured(folder: Path, size_bytes: int, only: str) -> Iterator[dict[str, Any]]:
    bench = Bench(folder, size_bytes)
    try:
        for row in ROWS:
            if only in row.name and (row.sizes is None or size_bytes in row.sizes):
                yield _result(row, bench)
    finally:
        bench.close()


def _result(row: Row, bench: Bench) -> dict[str, Any]:
    told = {"work": row.name, "size": bench.size_bytes, "beside": row.beside, "bar": row.bar, "by": row.by}
    try:
        pair = row.prepare(bench)
        ours = measure(pair.ours, repeat=pair.repeat)
        told |= {"ours": _told(ours), "note": pair.note}
        if isinstance(pair.peer, str):
            return {**told, "peer": pair.peer}
        peer = measure(pair.peer, repeat=pair.peer_repeat)
    except Exception as fault:  # one row that fails must not cost the others
        return {**told, "failed": f"{type(fault).__name__}: {fault}"[:300]}
    mine, theirs = (ours.wall_s, peer.wall_s) if row.by == "wall" else (ours.cpu_s, peer.cpu_s)
    ratio = mine / max(theirs, 1e-9)
    return {**told, "peer": _told(peer), "ratio": ratio, "is_met": ratio <= row.most}


def _told(cost: Cost) -> dict[str, float]:
    return {
        "wall_ms": round(cost.wall_s * 1000, 3),
        "cpu_ms": round(cost.cpu_s * 1000, 3),
        "server_mb": round(cost.server_bytes / 1e6, 1),
        "below_mb": round(cost.below_bytes / 1e6, 1),
    }


def _machine() -> dict[str, Any]:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model n" in line
        ),
        platform.processor(),
    )
    ripgrep = program("rg")
    return {
        "processor": model,
        "cores": len([line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("processor")]),
        "memory": Path("/proc/meminfo").read_text().split("\n", 1)[0].split(":")[1].strip(),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        **{name: version(name) for name in _PEERS},
        "ripgrep": run(ripgrep, "--version").decode().split("\n")[0] if ripgrep else "not installed",
    }


_COLUMNS = ("work", "size", "beside", "bar", "ratio", "met", "wall ms", "CPU ms", "peak MB", "note")


def _cells(result: dict[str, Any]) -> list[str]:
    ours, peer = result.get("ours", {}), result.get("peer", {})
    pair = [(ours, peer)] if isinstance(peer, dict) else [(ours, {})]
    ratio = result.get("ratio")
    said = result.get("failed") or (peer if isinstance(peer, str) else "")
    return [
        result["work"],
        _size(result["size"]),
        result["beside"],
        f"{result['bar']} ({result['by']})",
        "" if ratio is None else f"{ratio:.2f}×" if ratio >= 0.5 else f"1/{1 / max(ratio, 1e-9):.0f}",
        {True: "yes", False: "NO", None: "–"}[result.get("is_met")],
        *(" : ".join(f"{each[name]:g}" for each in pair[0] if each) for name in ("wall_ms", "cpu_ms")),
        " + ".join(f"{ours[name]:g}" for name in ("server_mb", "below_mb")) if ours else "",
        "; ".join(each for each in (said, result.get("note", "")) if each),
    ]


def _size(size_bytes: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:g} {name}"
    return f"{size_bytes // KIB} KiB"


def _line(result: dict[str, Any]) -> str:
    return " | ".join(_cells(result))


def _markdown(report: dict[str, Any]) -> str:
    machine = "; ".join(f"{name} {value}" for name, value in report["machine"].items())
    lines = [
        "# Benchmarks",
        "",
        f"{machine}; seed {report['seed']}.",
        "",
        "Each ratio is ours over the peer's, measured one after the other in one run, by wall or by CPU time as its",
        "bar says; times are ours : peer's. Peak memory is the growth of the server + the most that a cell held.",
        "",
        "| " + " | ".join(_COLUMNS) + " |",
        "|" + "---|" * len(_COLUMNS),
        *(f"| {_line(result)} |" for result in report["rows"]),
    ]
    return "\n".join(lines) + "\n"


main()
