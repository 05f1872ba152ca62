"""Rows of reading some items from anywhere."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.bench import Bench, Pair, done, duckdb_here, program, read, run, run_bounded
from tests.benchmarks.table import GB, MB, row


def _first_of_all(chat: Any, start: int, **more: Any) -> Callable[[], Any]:
    return lambda: read(chat, start, **more)


@row("50 lines anywhere", beside="sed -n", bar="≥ 100× faster", most=0.01)
def lines(bench: Bench) -> Pair:
    made, start = bench.file("log"), bench.file("log").items * 3 // 5
    peer = partial(run, "sed", "-n", f"{start + 1},{start + 50}p;{start + 50}q", str(made.path))
    return Pair(_first_of_all(bench.chat("log"), start), peer, repeat=10)


@row("50 rows anywhere", beside="DuckDB OFFSET on the raw CSV", bar="≥ 100× faster", most=0.01)
def csv_rows(bench: Bench) -> Pair:
    made, start = bench.file("csv"), bench.file("csv").items * 3 // 5
    sql = f"select * from read_csv('{made.path}') limit 50 offset {start}"
    return Pair(_first_of_all(bench.chat("csv"), start), partial(duckdb_here, sql), repeat=10)


@row("50 NDJSON rows anywhere", beside="DuckDB OFFSET on the raw file", bar="≥ 100× faster", most=0.01)
def ndjson_rows(bench: Bench) -> Pair:
    made, start = bench.file("ndjson"), bench.file("ndjson").items * 3 // 5
    sql = f"select * from read_ndjson('{made.path}') limit 50 offset {start}"
    return Pair(_first_of_all(bench.chat("ndjson"), start), partial(duckdb_here, sql), repeat=10)


@row("50 JSON entries anywhere", beside="json.load", bar="≥ 100× faster", most=0.01)
def json_entries(bench: Bench) -> Pair:
    made, start = bench.file("json"), bench.file("json").items * 3 // 5
    return Pair(_first_of_all(bench.chat("json"), start), _json_load(made.path), repeat=10)


def _json_load(path: Path) -> Callable[[], Any]:
    """In this process, or where that would take gigabytes in one that may have so many."""
    if path.stat().st_size < GB // 2:
        return lambda: json.loads(path.read_bytes())
    return partial(run_bounded, sys.executable, "-c", f"import json; json.load(open({str(path)!r}, 'rb'))")


def _read_at_1_mb(kind: str, bench: Bench) -> Pair:
    large, small = bench.chat(kind), bench.chat(kind, MB)
    start, near = bench.file(kind).items * 3 // 5, bench.file(kind, MB).items * 3 // 5
    return Pair(_first_of_all(large, start), _first_of_all(small, near, unit="items"), repeat=10, peer_repeat=10)


for _kind in ("log", "csv", "ndjson", "json"):
    row(f"50 items of {_kind} anywhere", beside="the same at 1 MB", bar="≤ 2×", most=2.0, sizes=(100 * MB, GB))(
        partial(_read_at_1_mb, _kind)
    )


_pointer = partial(row, "JSON Pointer deep into a document", bar="≥ 5× faster", most=0.2)


@_pointer(beside="jq", pages_most=1.3)
def pointer(bench: Bench) -> Pair:
    made, place, jq = bench.file("deep"), bench.file("deep").items * 3 // 5, program("jq")
    peer = partial(run_bounded, str(jq), f".data[{place}].name", str(made.path))
    return Pair(_resolved(bench, place), peer if jq else "not installed: jq", repeat=3)


@_pointer(beside="json.load", pages_most=1.3)
def pointer_beside_python(bench: Bench) -> Pair:
    place = bench.file("deep").items * 3 // 5
    return Pair(_resolved(bench, place), _json_load(bench.file("deep").path), repeat=3)


def _resolved(bench: Bench, place: int) -> Callable[[], Any]:
    chat = bench.chat("deep")
    return lambda: done(chat.call("blob_read", {"blob": "blob1", "path": f"/data/{place}/name"}))
