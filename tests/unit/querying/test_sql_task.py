"""SQL over columnar copies: exact answers, bounded answers, errors a model can use, and no way out."""

import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from tests.unit.querying.child import Child, Told

Ask = Callable[..., Told]
CANARY = "the canary sings"


@pytest.fixture
def ask(child: Child, parquet: Callable[..., Path]) -> Ask:
    """Asks over blob1 (orders) and its parts `results` and `order items`."""
    orders = [["1", "00123", "1.50", "2024-02-29"], ["2", "0456", "2.25", "2024-03-01"], ["3", None, "-0.25", None]]
    results = [[{"verdict": "ok", "p": Number("0.1000")}, [1, {"id": 2}], 10**30]]
    files = {
        "orders": parquet("orders", ["id", "zip", "price", "day"], orders, is_text=True),
        "results": parquet("results", ["tail", "results", "big"], results),
    }
    tables = {"blob1": "orders", "blob1.results": "results", "blob1.order items": "results"}

    def ask_sql(sql: str, **arguments: Any) -> Told:
        return child.run("sql", {"sql": sql, "tables": tables, **arguments}, files)

    return ask_sql


def stored(told: Told) -> pa.Table:
    return pq.read_table(io.BytesIO(told.payload))


def test_rows_are_exact(ask: Ask) -> None:
    """Columns come with their types, values with every digit."""
    told = ask("select * from blob1 order by id")
    assert told.value == {
        "columns": ["id BIGINT", "zip VARCHAR", "price DECIMAL(18,2)", "day DATE"],
        "rows": [
            [1, "00123", Number("1.50"), "2024-02-29"],
            [2, "0456", Number("2.25"), "2024-03-01"],
            [3, None, Number("-0.25"), None],
        ],
        "count": 3,
        "is_exact": True,
        "complete": True,
        "cut_cells": 0,
    }
    assert told.payload == b""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select sum(price) from blob1", "3.50"),
        ("select sum(big) from blob1.results", "1000000000000000000000000000000"),
        ('select count(*) from "blob1.results"', "1"),
        ('select count(*) from blob1."order items"', "1"),
        ('select count(*) from "blob1.order items"', "1"),
        ("select tail->>'verdict' from blob1.results", '"ok"'),
        ("select tail.verdict from blob1.results", '"ok"'),
        ("select results[1].id from blob1.results", "2"),
        ("select tail from blob1.results", '{"verdict":"ok","p":0.1000}'),
        ("with x as (select id from blob1) select max(id) from x", "3"),
        ("from blob1 select count(*)", "3"),
        ("values (42)", "42"),
        ("select 7 -- the end", "7"),
        ("select 7 ; -- the end", "7"),
        ("select 'é€𝄞' ; -- the end", '"é€𝄞"'),
        ("/* ; */ select ';' ;;", '";"'),
        ("(select 7)", "7"),
        ("select count(*) from blob1 a join blob1 b using (id)", "3"),
        ("select count(*) from (pivot blob1 on zip using count(*))", "3"),
        ("with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t", "15"),
    ],
)
def test_queries(ask: Ask, query: str, expected: str) -> None:
    """One SELECT in any of its forms is answered; tables are named as blobs, parts after a dot."""
    told = ask(query)
    assert [told.message, exact_json.text(told.value["rows"])] == ["", f"[[{expected}]]"]


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("170141183460469231731687303715884105727::hugeint", "HUGEINT", "170141183460469231731687303715884105727"),
        ("18446744073709551615::ubigint", "UBIGINT", "18446744073709551615"),
        ("1.10::decimal(4,2)", "DECIMAL(4,2)", "1.10"),
        ("0.1::float", "FLOAT", "0.1"),
        ("0.1::double", "DOUBLE", "0.1"),
        ("1e300::double", "DOUBLE", "1e+300"),
        ("'nan'::double", "DOUBLE", '"NaN"'),
        ("'-inf'::double", "DOUBLE", '"-Infinity"'),
        ("true", "BOOLEAN", "true"),
        ("date '2024-02-29'", "DATE", '"2024-02-29"'),
        ("date '0044-03-15 (BC)'", "DATE", '"0044-03-15 (BC)"'),
        ("'infinity'::timestamp", "TIMESTAMP", '"infinity"'),
        ("timestamp '2024-01-01 10:00:00.5'", "TIMESTAMP", '"2024-01-01 10:00:00.5"'),
        ("'2024-01-01 00:00:00.123456789'::timestamp_ns", "TIMESTAMP_NS", '"2024-01-01 00:00:00.123456789"'),
        ("'2024-01-01 00:00:00+02'::timestamptz", "TIMESTAMP WITH TIME ZONE", '"2023-12-31 22:00:00+00"'),
        ("time '10:00:00.25'", "TIME", '"10:00:00.25"'),
        ("interval '1 month 2 days 3 hours'", "INTERVAL", '"1 month 2 days 03:00:00"'),
        ("'00000000-0000-0000-0000-000000000001'::uuid", "UUID", '"00000000-0000-0000-0000-000000000001"'),
        ("'\\x00ab'::blob", "BLOB", '"006162"'),
        ("null", "NULL", "null"),
        ("'a'::enum('a', 'b')", "ENUM('a', 'b')", '"a"'),
        ("[1.5::decimal(3,1), null]", "DECIMAL(3,1)[]", "[1.5,null]"),
        ("[1, 2]::int[2]", "INTEGER[2]", "[1,2]"),
        (
            "{'a': date '2024-01-01', 'b c': [0.1::float]}",
            'STRUCT(a DATE, "b c" FLOAT[])',
            '{"a":"2024-01-01","b c":[0.1]}',
        ),
        ("map {date '2020-01-01': 1}", "MAP(DATE, INTEGER)", '{"2020-01-01":1}'),
        ("""'{"a":1.10,"b":[1e2]}'::json""", "JSON", '{"a":1.10,"b":[1e2]}'),
        ("['1.10'::json]", "JSON[]", "[1.10]"),
        ("'101'::bit", "BIT", '"101"'),
        (
            "123456789012345678901234567890123456789012345::bignum",
            "BIGNUM",
            "123456789012345678901234567890123456789012345",
        ),
        ("'é€𝄞'", "VARCHAR", '"é€𝄞"'),
        ("{'a': 1}::variant", "VARIANT", '{"a":1}'),
        ("''", "VARCHAR", '""'),
    ],
)
def test_cells(ask: Ask, expression: str, kind: str, expected: str) -> None:
    """Each type has one exact form in JSON, and is stored without loss."""
    told = ask(f"select {expression} as c", save=True)
    assert told.message == ""
    assert told.value["columns"] == [f"c {kind}"]
    assert exact_json.text(told.value["rows"]) == f"[[{expected}]]"
    assert stored(told).num_rows == 1


def test_saved_types(ask: Ask) -> None:
    """A saved result has types that SQL reads again; only what Parquet has no type for becomes text."""
    told = ask(
        "select 10::hugeint h, interval '1 month' i, '{}'::json j, timestamp '2024-01-01 00:00:00.5' t,"
        " [{'a': 1.5::decimal(4,2)}] n, sum(id) s, 1::utinyint u from blob1",
        save=True,
    )
    table = stored(told)
    kinds = [str(each.type) for each in table.schema]
    assert kinds[:2] == ["decimal128(38, 0)", "string"]
    assert kinds[2].startswith("extension<arrow.json")
    assert kinds[3:] == ["timestamp[us]", "list<element: struct<a: decimal128(4, 2)>>", "decimal128(38, 0)", "uint8"]
    assert table.column("s").to_pylist() == [Decimal(6)]
    assert told.value["payload_type"] == "application/vnd.apache.parquet"
    assert told.value["payload_rows"] == 1


def test_a_number_over_38_digits_is_saved_as_text(ask: Ask) -> None:
    """DECIMAL ends at 38 digits; a 39-digit HUGEINT is kept as text rather than refused."""
    told = ask("select 170141183460469231731687303715884105727::hugeint h", save=True)
    assert stored(told).column("h").to_pylist() == ["170141183460469231731687303715884105727"]


def test_what_does_not_fit_is_stored_whole(ask: Ask) -> None:
    """As many rows as fit are shown, the count is of all, and the payload holds every row in order."""
    told = ask("select range as n, 'row ' || range as t from range(100000) order by n desc", bytes_max=1000)
    value = told.value
    assert value["count"] == value["payload_rows"] == 100_000
    assert value["is_exact"]
    assert not value["complete"]
    assert value["rows"][:2] == [[99_999, "row 99999"], [99_998, "row 99998"]]
    assert len(exact_json.dumps(value["rows"])) <= 1_002
    assert value["note"] == f"Only the first {len(value['rows'])} of 100,000 rows."
    table = stored(told)
    assert table.column("n").to_pylist() == list(range(99_999, -1, -1))
    assert table.column("t")[0].as_py() == "row 99999"


def test_rows_come_in_the_order_of_the_blob(child: Child, parquet: Callable[..., Path]) -> None:
    """Without ORDER BY, rows of many row groups come as they are stored, also with several threads."""
    files = {"f": parquet("f", ["n"], [[number] for number in range(100_000)])}
    told = child.run("sql", {"sql": "select * from blob1", "tables": {"blob1": "f"}, "threads": 4}, files)
    assert stored(told).column("n").to_pylist() == list(range(100_000))


def test_rows_max(ask: Ask) -> None:
    """No more rows are shown than allowed; just so many are complete."""
    assert ask("from range(5)", rows_max=5).value["complete"]
    told = ask("from range(6)", rows_max=5)
    assert [told.value["complete"], len(told.value["rows"]), told.value["count"]] == [False, 5, 6]


def test_an_empty_result_is_saved_with_its_columns(ask: Ask) -> None:
    """No rows are an answer too."""
    told = ask("select id, price from blob1 where false", save=True)
    assert [told.value["rows"], told.value["count"], told.value["complete"]] == [[], 0, True]
    assert stored(told).schema.names == ["id", "price"]


def test_a_result_over_the_limit_is_counted_but_not_stored(ask: Ask) -> None:
    """What is too large to be kept is said to be; its count is still exact."""
    told = ask("select range, random() from range(1000000)", bytes_max=100, result_bytes_max=10_000)
    assert [told.value["count"], told.value["is_exact"], told.value["complete"]] == [1_000_000, True, False]
    assert "payload_type" not in told.value
    assert "too large to be kept" in told.value["note"]
    assert (
        ask("select range, random() from range(1000000)", save=True, result_bytes_max=10_000).code == "result_too_large"
    )


def test_long_cells_are_cut_and_counted(ask: Ask) -> None:
    """A long cell ends in what is left out; the answer is not complete and says why. Saved, it is whole."""
    told = ask("select repeat('x', 3000) a, [repeat('y', 3000)] b, 'z' c", cell_chars_max=100, save=True)
    first, second, third = told.value["rows"][0]
    assert first == "x" * 86 + "…(+2914 chars)"
    assert second == '["' + "y" * 84 + "…(+2918 chars)"
    assert third == "z"
    assert [told.value["cut_cells"], told.value["complete"]] == [2, False]
    assert "2 cells are cut" in told.value["note"]
    assert len(stored(told).column("a")[0].as_py()) == 3000


def test_names_are_made_unique(ask: Ask) -> None:
    """Equal names are told apart, so that a saved result has all columns."""
    told = ask("select id, id, id as ID from blob1 limit 1", save=True)
    assert told.value["columns"] == ["id BIGINT", "id_1 BIGINT", "ID_2 BIGINT"]
    assert stored(told).num_columns == 3


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            "select * from blob9",
            "Table with name blob9 does not exist!\nLINE 1: select * from blob9\n",
            "Tables: blob1 (id BIGINT",
        ),
        ("select\n  foo\nfrom blob1", 'column "foo" not found', 'blob1."order items" (tail JSON'),
        ("select\n  foo\nfrom blob1", "LINE 2:   foo\n          ^^^", ""),
        ("select 1\nfro m x", 'syntax error at or near "m"\nLINE 2: fro m x', ""),
        ("selec 1", "syntax error", ""),
        ("select sum(zip) from blob1", "sum(VARCHAR)", "TRY_CAST"),
        ("select zip::int from blob1 where zip > 'x' or error('boom') is null", "boom", ""),
        ("select 'x'::int", "Could not convert string 'x' to INT32\nLINE 1: select 'x'::int", ""),
        ("", "there is no statement", "SELECT"),
        ("-- nothing", "there is no statement", "SELECT"),
        ("select 1; select 2", "2 statements", "exactly one SELECT"),
        ("select '" + "x" * 33_000 + "'", "longer than 32,768 bytes", "shorter"),
        ("select 1\0", "NUL", ""),
    ],
)
def test_errors_say_what_is_wrong(ask: Ask, query: str, message: str, hint: str) -> None:
    """The engine's own words with the line of the model's query, and the tables that there are."""
    told = ask(query)
    assert told.code == "sql_error"
    assert message in told.message
    assert hint in told.hint


def test_errors_show_no_paths(ask: Ask, child: Child, tmp_path: Path) -> None:
    """A file that is no Parquet is said to be unreadable without telling where it lies."""
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet at all")
    told = child.run("sql", {"sql": "select 1", "tables": {"blob1": "f"}}, {"f": broken})
    assert told.code == "unreadable"
    assert "blob1" in told.message
    assert "/" not in told.message + told.hint
    told = ask("select sql from duckdb_views() where not internal")
    assert str(tmp_path) not in exact_json.text(told.value)


def test_memory_is_bounded(ask: Ask) -> None:
    """A query that needs more memory than it may have ends with an instruction."""
    query = "select count(*) from (select distinct range || 'x' || range || repeat('y', 50) from range(20000000))"
    told = ask(query, memory_bytes=64 * 2**20, temp_dir="")
    assert told.code == "sql_memory"
    assert "aggregate" in told.hint


def test_time_is_bounded(ask: Ask) -> None:
    """A query that does not end is stopped before its deadline and says so."""
    told = ask("select sum(a.range * b.range) from range(10000000) a, range(10000000) b", wall_ms=600)
    assert told.code == "sql_timeout"
    assert "600 ms" in told.message


def test_a_result_cut_by_time_is_a_part(ask: Ask) -> None:
    """Where time runs out while rows come, those that came are shown as a part, and the count as a lower bound."""
    query = "select a.range from range(100000000) a, range(1000) b"
    told = ask(query, wall_ms=600, bytes_max=100)
    assert [told.value["complete"], told.value["is_exact"]] == [False, False]
    assert told.value["count"] > 0
    assert "payload_type" not in told.value
    assert ask(query, wall_ms=600, save=True).code == "sql_timeout"


HOSTILE = [
    "select * from read_text('{canary}')",
    "select * from read_blob('{canary}')",
    "select * from read_csv('{canary}', header=false, columns={{'a': 'VARCHAR'}})",
    "select * from read_csv_auto('{canary}')",
    "select * from read_json('{canary}')",
    "select * from read_json_objects('{canary}')",
    "select * from read_parquet('{secret}')",
    "select * from read_parquet(['{own}', '{secret}'])",
    "select * from parquet_scan('{secret}')",
    "select * from parquet_metadata('{secret}')",
    "select * from parquet_kv_metadata('{secret}')",
    "select * from '{canary}'",
    "select * from '{secret}'",
    "from '{folder}/*.parquet'",
    "select * from glob('{folder}/*')",
    "select * from sniff_csv('{canary}')",
    "select * from read_text('file://{canary}')",
    "select * from read_text('{folder}/../{folder_name}/canary.txt')",
    "select * from read_text('/proc/self/environ')",
    "select * from read_blob('/proc/self/mem')",
    "select * from read_csv('http://127.0.0.1:9/x.csv')",
    "select * from read_parquet('s3://bucket/x.parquet')",
    "select * from query('select * from read_text(''{canary}'')')",
    "select * from query_table('{canary}')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select * from read_text(''{canary}'')'))",
    "select getenv('HOME')",
    "copy (select 1) to '{folder}/out.csv'",
    "copy blob1 from '{canary}'",
    "copy (select 1) to '{own}' (format parquet, use_tmp_file false)",
    "export database '{folder}/db'",
    "import database '{folder}/db'",
    "attach '{folder}/x.db'",
    "attach ':memory:' as other",
    "install httpfs",
    "load httpfs",
    "load '{canary}'",
    "set enable_external_access=true",
    "set allowed_directories=['/']",
    "reset lock_configuration",
    "pragma enable_external_access",
    "pragma database_list",
    "call pragma_version()",
    "create table t as select * from read_text('{canary}')",
    "create macro m() as (select content from read_text('{canary}'))",
    "create secret (type s3, key_id 'a', secret 'b')",
    "drop view blob1",
    "insert into blob1 values (1)",
    "delete from blob1",
    "update blob1 set id = 1",
    "with x as (delete from blob1 returning *) select * from x",
    "with x as (insert into blob1 values (9) returning *) select * from x",
    "explain select 1",
    "explain analyze select * from read_text('{canary}')",
    "explain analyze copy (select 1) to '{folder}/out.csv'",
    "select 1; copy (select 1) to '{folder}/out.csv'",
    "select 1) as t; copy (select 1) to '{folder}/out.csv'; select * from (select 1",
    "select 1) union all select content from read_text('{canary}') --",
    "select 1 /* ) */ union all select content from read_text('{canary}')",
    "select 1 /*",
    "select 1 --\n; set threads=1",
    "prepare p as select * from read_text('{canary}')",
    "execute p",
    "begin",
    "vacuum",
    "checkpoint",
    "use memory",
    "describe select * from read_text('{canary}')",
    "summarize (select * from read_text('{canary}'))",
    "select (select content from read_text('{canary}'))",
    "select * from blob1 where zip in (select content from read_text('{canary}'))",
    "select * from pragma_storage_info('{canary}')",
    "select * from enable_logging(storage='file', storage_path='{folder}/log')",
    "select * from sqlite_scan('{folder}/x.db', 't')",
    "select write_log('x')",
    "select * from pandas_scan(1, 2, 3)",
    "select * from arrow_scan(1, 2, 3)",
    "select * from python_map_function(1)",
    "select * from arguments",
    "select * from files",
    "select current_setting('temp_directory'), current_setting('allowed_paths')",
    "pivot (select * from read_text('{canary}')) on content using count(*)",
    "set variable x = (select content from read_text('{canary}'))",
    "values ((select content from read_text('{canary}')))",
    "select * from (values ('{canary}')) t(f), lateral (select * from read_text(f))",
]


@pytest.mark.parametrize("statement", HOSTILE)
def test_hostile_statements(
    ask: Ask, child: Child, tmp_path: Path, parquet: Callable[..., Path], statement: str
) -> None:
    """Whatever is asked, no other file is read or written, nothing is set, and the tables stay as they are."""
    canary = tmp_path / "canary.txt"
    canary.write_text(CANARY)
    secret = parquet("secret", ["s"], [[CANARY]])
    own = tmp_path / "orders.parquet"
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    sql = statement.format(canary=canary, secret=secret, own=own, folder=tmp_path, folder_name=tmp_path.name)
    told = ask(sql)
    assert told.code in ("", "sql_error")
    shown = exact_json.text(told.value) + told.message + told.hint + told.printed
    assert CANARY not in shown
    assert CANARY.encode() not in told.payload
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert ask("select count(*) from blob1").value["rows"] == [[3]]


def test_the_canary_can_be_read_without_the_locks(tmp_path: Path) -> None:
    """The hostile statements are no duds: an unlocked engine answers them."""
    canary = tmp_path / "canary.txt"
    canary.write_text(CANARY)
    with duckdb.connect() as connection:
        assert connection.execute(f"select content from read_text('{canary}')").fetchall() == [(CANARY,)]
        connection.execute(f"copy (select 1) to '{tmp_path}/out.csv'")
    assert (tmp_path / "out.csv").exists()


def test_hostile_statements_are_refused_by_kind(ask: Ask) -> None:
    """All but queries is refused for what it is, before it is run."""
    for statement in ("copy (select 1) to 'x'", "set threads=1", "attach 'x'", "explain select 1", "drop view blob1"):
        assert "is not allowed" in ask(statement).message


def test_wrong_arguments_are_the_callers(child: Child) -> None:
    """An unknown argument is a fault of the service, not the model's."""
    assert child.run("sql", {"sql": "select 1", "tables": {}, "colour": 1}, {}).code == "invalid_call"
    assert child.run("sql", {"sql": "select 1", "tables": {"blob1": "gone"}}, {}).code == "invalid_call"
