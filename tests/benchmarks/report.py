"""The report of a run: as JSON, and the same as a table in Markdown."""

import json
from pathlib import Path
from typing import Any

_HEAD = """\
# Benchmarks

{machine}; seed {seed}.

Each ratio is ours over the peer's, measured one after the other in one run, by wall or by CPU time as its bar says (of
a bar in requests or in speed: how fast ours is beside the peer); times are ours : peer's. Peak memory is the growth of
the server + the most that a cell or another process below it held : both of the peer. A bar is for one size; at others
the ratio stands without a verdict. Every row is missed where its server grows by more than 150 MB, or a cell holds more
than 600 MB. *Load* is the machine's when the row began: 2 cores are free at 0.
"""
_COLUMNS = ("work", "size", "beside", "bar", "ratio", "met", "wall ms", "CPU ms", "peak MB", "load", "note")


def write(to: Path, report: dict[str, Any]) -> None:
    """`to`.json and `to`.md."""
    to.with_suffix(".json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    to.with_suffix(".md").write_text(markdown(report))


def with_rows_of(report: dict[str, Any], earlier: Path) -> dict[str, Any]:
    """The report with the rows of an earlier one that it does not measure anew, by size."""
    if not earlier.exists():
        return report
    rows = {_key(each): each for each in json.loads(earlier.read_text())["rows"]}
    rows |= {_key(each): each for each in report["rows"]}
    ordered = sorted(rows.values(), key=lambda each: (each["size"], each["work"], each["beside"]))
    return {**report, "sizes": sorted({each["size"] for each in ordered}), "rows": ordered}


def _key(result: dict[str, Any]) -> tuple[str, int, str]:
    return result["work"], result["size"], result["beside"]


def markdown(report: dict[str, Any]) -> str:
    """The table as text."""
    machine = "; ".join(f"{name} {value}" for name, value in report["machine"].items())
    judged = [each for each in report["rows"] if each.get("is_met") is not None]
    others = [each for each in report["rows"] if each.get("is_met") is None]
    return (
        _HEAD.format(machine=machine, seed=report["seed"])
        + _table("With a verdict", judged)
        + _table("Of other sizes, and beside peers for whom there is no bar", others)
    )


def _table(title: str, results: list[dict[str, Any]]) -> str:
    lines = ["", f"## {title}", "", "| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    return "\n".join([*lines, *(f"| {line(each)} |" for each in results)]) + "\n"


def line(result: dict[str, Any]) -> str:
    """One row of the table."""
    return " | ".join(_cells(result))


def _cells(result: dict[str, Any]) -> list[str]:
    ours, peer = result.get("ours", {}), result.get("peer", {})
    said = [result.get("failed"), peer if isinstance(peer, str) else "", result.get("gave_up"), result.get("note")]
    both = [each for each in (ours, peer) if isinstance(each, dict) and each]
    missed = [each for each in result.get("missed", []) if each != "the bar"]
    verdict = {True: "yes", False: "NO", None: "–"}[result.get("is_met")] + "".join(f": {each}" for each in missed)
    return [
        result["work"],
        size(result["size"]),
        result["beside"],
        result["bar"] if result["bar"] == "–" else f"{result['bar']} ({result['by']})",
        _ratio(result),
        verdict,
        *(" : ".join(f"{each[name]:g}" for each in both) for name in ("wall_ms", "cpu_ms")),
        " : ".join(f"{each['server_mb']:g} + {each['below_mb']:g}" for each in both),
        f"{result['load']:g}",
        "; ".join(each for each in said if each),
    ]


def _ratio(result: dict[str, Any]) -> str:
    ratio = result.get("ratio")
    if ratio is None:
        return ""
    if result["bar"].startswith("≥") and "faster" not in result["bar"]:
        return f"{1 / max(ratio, 1e-9):.2f}×"
    told = f"{ratio:.2f}×" if ratio >= 0.5 else f"1/{1 / max(ratio, 1e-9):.0f}"
    return f"< {told}" if result.get("gave_up") else told


def size(size_bytes: int) -> str:
    """As people say it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:g} {name}"
    return f"{size_bytes // 1024} KiB"
