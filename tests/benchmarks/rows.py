"""The rows of the table: each a function that prepares the work and the same work by its peer."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from blobs.reading.budget import clip
from blobs.reading.cost import text_cost
from blobs.reading.tokens import count_tokens
from tests.benchmarks.bench import Bench, Pair, done, program, read, run
from tests.benchmarks.made_files import RARE, many_contents, result_of_40_kb
from tests.benchmarks.table import GB, MB, row

_PEER_PARSES_MAX = 110 * MB
"""Peers that build every value of a document are not fed more: they would need ten times its size in memory."""


# Taking in


def _sha256(path: Path) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


def _put_and_profile(kind: str, bench: Bench) -> Pair:
    made = bench.file(kind)
    repeat = 1 if bench.size_bytes > 50 * MB else 5
    bench.blobs.doctor()
    return Pair(
        lambda: bench.fresh().conversation().attach(made.path),
        partial(_sha256, made.path),
        repeat=repeat,
        peer_repeat=repeat,
    )


for _kind, _most in (("log", 1.5), ("csv", 3.0), ("ndjson", 3.0), ("json", 3.0), ("parquet", 1.2)):
    row(f"put + profile of {_kind}", beside="bare SHA-256", bar=f"≤ {_most}×", most=_most, by="cpu")(
        partial(_put_and_profile, _kind)
    )


@row("offload of a 40 KB result", beside="json.dumps + SHA-256 + fsync'd write", bar="≤ 2.5×", most=2.5, sizes=(MB,))
def offload(bench: Bench) -> Pair:
    value, number = result_of_40_kb(), iter(range(10**6))
    chat = bench.fresh().conversation()

    def ours() -> None:
        with chat.turn() as turn:
            turn.offload({**value, "number": next(number)})

    def peer() -> None:
        content = json.dumps({**value, "number": next(number)}).encode()
        path = bench.folder / f"peer-{hashlib.sha256(content).hexdigest()}"
        _write_durably(path, content)
        path.unlink()

    return Pair(ours, peer, repeat=40, peer_repeat=40)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@row("40 KB durable puts, 16 threads", beside="append + fdatasync each", bar="≥ 3×", most=1 / 3, sizes=(MB,))
def many_puts(bench: Bench) -> Pair:
    contents = list(many_contents(640))
    blobs, peer_file = [], os.open(bench.folder / "appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    blobs.append(bench.fresh())

    def ours() -> None:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(blobs[0].put, contents))

    def peer() -> None:
        for content in contents:
            os.write(peer_file, content)
            os.fdatasync(peer_file)

    return Pair(ours, peer)


@row("10,000 blobs of 40 KB: the next put", beside="the next put at 100 blobs", bar="≤ 1.3×", most=1.3, sizes=(MB,))
def many_blobs(bench: Bench) -> Pair:
    few, many = bench.fresh(), bench.fresh()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(few.put, many_contents(100)))
        list(pool.map(many.put, many_contents(10_000)))
    contents = iter(many_contents(11_000))
    fresh = [each for each in contents if int(each[:12]) >= 10_000]
    return Pair(
        lambda: many.put(fresh.pop()), lambda: few.put(fresh.pop()), repeat=100, peer_repeat=100, note="list not in it"
    )


# Reading anywhere


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
    return Pair(_first_of_all(bench.chat("csv"), start), partial(_duckdb, sql), repeat=10)


@row("50 NDJSON rows anywhere", beside="DuckDB OFFSET on the raw file", bar="≥ 100× faster", most=0.01)
def ndjson_rows(bench: Bench) -> Pair:
    made, start = bench.file("ndjson"), bench.file("ndjson").items * 3 // 5
    sql = f"select * from read_ndjson('{made.path}') limit 50 offset {start}"
    return Pair(_first_of_all(bench.chat("ndjson"), start), partial(_duckdb, sql), repeat=10)


@row("50 JSON entries anywhere", beside="json.load", bar="≥ 100× faster", most=0.01)
def json_entries(bench: Bench) -> Pair:
    made, start = bench.file("json"), bench.file("json").items * 3 // 5
    return Pair(
        _first_of_all(bench.chat("json"), start), _unless_large(made, partial(_json_load, made.path)), repeat=10
    )


def _unless_large(made: Any, peer: Callable[[], Any]) -> Callable[[], Any] | str:
    return peer if made.size <= _PEER_PARSES_MAX else "not run: it needs ten times the size in memory"


def _json_load(path: Path) -> None:
    with path.open("rb") as file:
        json.load(file)


def _read_at_1_mb(kind: str, bench: Bench) -> Pair:
    large, small = bench.chat(kind), bench.chat(kind, MB)
    start, near = bench.file(kind).items * 3 // 5, bench.file(kind, MB).items * 3 // 5
    return Pair(_first_of_all(large, start), _first_of_all(small, near, unit="items"), repeat=10, peer_repeat=10)


for _kind in ("log", "csv", "ndjson", "json"):
    row(f"50 items of {_kind} anywhere", beside="the same at 1 MB", bar="≤ 2×", most=2.0, sizes=(100 * MB, GB))(
        partial(_read_at_1_mb, _kind)
    )


@row("JSON Pointer deep into a document", beside="jq", bar="≥ 5× faster", most=0.2)
def pointer(bench: Bench) -> Pair:
    made, place = bench.file("deep"), bench.file("deep").items * 3 // 5
    jq = program("jq")
    peer: Callable[[], Any] | str = "not installed: jq"
    if jq:
        peer = _unless_large(made, partial(run, jq, f".data[{place}].name", str(made.path)))
    chat = bench.chat("deep")

    def ours() -> None:
        done(chat.call("blob_read", {"blob": "blob1", "path": f"/data/{place}/name"}))

    return Pair(ours, peer, repeat=3)


# Searching


def _search(kind: str, arguments: dict[str, Any], flags: list[str], bench: Bench) -> Pair:
    made, chat, ripgrep = bench.file(kind), bench.chat(kind), program("rg")
    found: list[int] = []

    def ours() -> None:
        data = done(chat.call("blob_search", {"blob": "blob1", **arguments}))
        assert "note" not in data, data["note"]
        found.append(data["found"])

    def peer() -> None:
        pattern = arguments["pattern"]
        fixed = [] if arguments.get("regex") else ["-F"]
        counted = run(str(ripgrep), "-c", "-j1", "--no-config", *fixed, *flags, "-e", pattern, str(made.path))
        assert int(counted or 0) == found[-1], (counted, found)

    return Pair(ours, peer if ripgrep else "not installed: ripgrep", repeat=3, peer_repeat=3)


_PATTERNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a rare literal": ({"pattern": RARE}, []),
    "a case-folded literal": ({"pattern": RARE.lower(), "ignore_case": True}, ["-i"]),
    "a regex without a literal": ({"pattern": "[a-f]{6}[0-9]{3}[a-f][0-9]", "regex": True}, []),
    "what 20 % of lines hold": ({"pattern": "ERROR"}, []),
}
for _what, _given in _PATTERNS.items():
    row(f"search a log for {_what}", beside="rg -c -j1", bar="≤ 1.5×", most=1.5)(partial(_search, "log", *_given))
for _kind in ("csv", "ndjson", "json"):
    row(f"search {_kind} for a rare literal", beside="rg -c -j1", bar="≤ 1.5×", most=1.5)(
        partial(_search, _kind, *_PATTERNS["a rare literal"])
    )


# Computing


def _duckdb(sql: str) -> None:
    import duckdb

    with duckdb.connect(config={"threads": "1"}) as connection:
        connection.execute(sql).fetchall()


_SUM = "select zip, count(*), sum(amount) from {} group by 1 order by 2 desc, 1 limit 5"


def _first_sql(kind: str, raw: str, bench: Bench) -> Pair:
    made = bench.file(kind)

    def ours() -> None:
        chat = bench.fresh().conversation()
        chat.attach(made.path)
        done(chat.call("blob_code", {"blob": "blob1", "code": _SUM.format("blob1")}))

    return Pair(ours, partial(_duckdb, _SUM.format(raw.format(made.path))), note="put and profile are in it")


def _next_sql(kind: str, raw: str, bench: Bench) -> Pair:
    made, chat = bench.file(kind), bench.chat(kind)

    def ours() -> None:
        done(chat.call("blob_code", {"blob": "blob1", "code": _SUM.format("blob1")}))

    ours()
    return Pair(ours, partial(_duckdb, _SUM.format(raw.format(made.path))), repeat=3, peer_repeat=3)


for _kind, _raw in (("csv", "read_csv('{}')"), ("ndjson", "read_ndjson('{}')"), ("json", "read_json('{}')")):
    row(f"first SQL on {_kind}", beside="DuckDB on the raw file", bar="≤ 8×", most=8.0, by="cpu")(
        partial(_first_sql, _kind, _raw)
    )
    row(f"later SQL on {_kind}", beside="DuckDB on the raw file", bar="≥ 8× faster", most=1 / 8, by="cpu")(
        partial(_next_sql, _kind, _raw)
    )


@row("SQL on 1 MB, warm", beside="DuckDB from cold", bar="≥ 5× faster", most=0.2, sizes=(MB,))
def warm_sql(bench: Bench) -> Pair:
    pair = _next_sql("csv", "read_csv('{}')", bench)
    sql = _SUM.format(f"read_csv('{bench.file('csv').path}')")
    cold = f'import duckdb; duckdb.execute("""{sql}""").fetchall()'
    return Pair(pair.ours, partial(run, sys.executable, "-c", cold), repeat=10, peer_repeat=3)


# Costs and budgets


@row("cost of a log", beside="exact count by tiktoken", bar="≤ 10 ms, within 2 %", most=0.01, sizes=(MB, 10 * MB))
def cost(bench: Bench) -> Pair:
    content = bench.file("log").path.read_bytes()
    text = content.decode()
    seed = hashlib.sha256(content).digest()[:8]

    def ours() -> int:
        return text_cost(lambda start, stop: content[start:stop], len(content), seed=seed).tokens

    exact = count_tokens(text)
    return Pair(
        ours, partial(count_tokens, text), repeat=5, note=f"off by {abs(ours() - exact) / exact:.2%}; bytes/4 by "
        f"{abs(len(content) / 4 - exact) / exact:.0%}",
    )  # fmt: skip


@row("cutting 1 MB to 8,000 tokens", beside="encode all", bar="≥ 10× faster", most=0.1, sizes=(MB,))
def cutting(bench: Bench) -> Pair:
    text = bench.file("log").path.read_text()
    used = count_tokens(clip(text, 8_000)) / 8_000
    return Pair(lambda: clip(text, 8_000), lambda: count_tokens(text), repeat=5, note=f"{used:.1%} of the budget used")
