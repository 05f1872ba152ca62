"""Rows of SQL, beside DuckDB with one thread on the raw file."""

import sys
from functools import partial

from tests.benchmarks.bench import Bench, Pair, done, duckdb_here, run
from tests.benchmarks.table import MB, row

_SUM = "select zip, count(*), sum(amount) from {} group by 1 order by 2 desc, 1 limit 5"


def _first_sql(kind: str, raw: str, bench: Bench) -> Pair:
    made, chat = bench.file(kind), bench.fresh().conversation()
    chat.attach(made.path)  # small copies are made here, large ones by the query

    def ours() -> None:
        done(chat.call("blob_code", {"blob": "blob1", "code": _SUM.format("blob1")}))

    return Pair(ours, partial(duckdb_here, _SUM.format(raw.format(made.path))))


def _next_sql(kind: str, raw: str, bench: Bench) -> Pair:
    made, chat = bench.file(kind), bench.chat(kind)

    def ours() -> None:
        done(chat.call("blob_code", {"blob": "blob1", "code": _SUM.format("blob1")}))

    ours()
    return Pair(ours, partial(duckdb_here, _SUM.format(raw.format(made.path))), repeat=3, peer_repeat=3)


for _kind, _raw in (("csv", "read_csv('{}')"), ("ndjson", "read_ndjson('{}')"), ("json", "read_json('{}')")):
    row(f"first SQL on {_kind}", beside="DuckDB on the raw file", bar="≤ 8×", most=8.0, by="cpu")(
        partial(_first_sql, _kind, _raw)
    )
    row(f"later SQL on {_kind}", beside="DuckDB on the raw file", bar="≥ 8× faster", most=1 / 8, by="cpu")(
        partial(_next_sql, _kind, _raw)
    )


@row("SQL on 1 MB, warm", beside="DuckDB from cold", bar="≥ 5× faster", most=0.2, at=MB, sizes=(MB,))
def warm_sql(bench: Bench) -> Pair:
    pair = _next_sql("csv", "read_csv('{}')", bench)
    sql = _SUM.format(f"read_csv('{bench.file('csv').path}')")
    cold = f'import duckdb; duckdb.execute("""{sql}""").fetchall()'
    return Pair(pair.ours, partial(run, sys.executable, "-c", cold), repeat=10, peer_repeat=3)


@row("SQL on 1 MB, warm", beside="DuckDB on a connection in this process", sizes=(MB,))
def warm_sql_in_process(bench: Bench) -> Pair:
    pair = _next_sql("csv", "read_csv('{}')", bench)
    return Pair(pair.ours, pair.peer, repeat=10, peer_repeat=10, note="what the cell may cost: `cell_rows`")
