"""Queries that want more memory, time or output than there is, by what they strain. `blob1` has columns id and zip."""

from collections.abc import Iterator


def _lines(group: str, queries: str) -> Iterator[tuple[str, str]]:
    for query in queries.strip().splitlines():
        yield f"{group}: {query[:70]}", query


MEMORY = """
select length(repeat('x', 400000000))
select length(repeat('x', 1000000000))
select length(repeat('x', 3000000000))
select repeat(repeat('x', 100000), 100000) = 'x'
select length(printf('%2000000000d', 1))
select length(format('{:2000000000}', 1))
select length(replace(replace(replace(repeat('x', 10000), 'x', repeat('x', 1000)), 'x', 'xx'), 'x', repeat('x', 100)))
select length(lpad('x', 2000000000, 'y'))
select length(rpad('x', 2000000000, 'y'))
select length(to_json(range(100000000))::varchar)
select length(to_base64(repeat('x', 400000000)::blob))
select bit_count(bitstring('1', 2000000000))
select length(upper(repeat('x', 200000000)))
select length(reverse(repeat('é', 200000000)))
select len(range(100000000))
select len(range(3000000000))
select len(generate_series(1, 1000000000))
select count(*) from (select unnest(range(1000000000)))
select count(*) from (select unnest(generate_series(1, 1000000000)))
select len(list_sort(range(100000000)))
select len(list_distinct(range(100000000)))
select len(map_from_entries(list_transform(range(20000000), x -> {'k': x, 'v': x})))
select len(string_split(repeat('x,', 100000000), ','))
select len(regexp_extract_all(repeat('x', 100000000), 'x'))
select len(list_transform(range(50000000), x -> repeat('y', 100)))
select damerau_levenshtein(repeat('a', 30000), repeat('b', 30000))
select levenshtein(repeat('a', 100000), repeat('b', 100000))
select list(range) from range(1000000000)
select string_agg(range::varchar || repeat('x', 100), ',') from range(100000000)
select count(distinct range::varchar || repeat('x', 200)) from range(100000000)
select histogram(range) from range(100000000)
select count(*) from (select range r, repeat('x', 500) from range(50000000) order by hash(r), 2)
select max(a.r) from (select range r, repeat('x', 200) s from range(20000000)) a join (select range r, repeat('x', 200) s from range(20000000)) b on a.s || a.r = b.s || b.r
select quantile_cont(random(), 0.5) from range(1000000000)
select mode(range::varchar) from range(1000000000)
select array_agg(b.id order by b.zip desc) from blob1 a, blob1 b, range(100)
select row_number() over (order by random()) from range(1000000000) limit 3
select sum(length(a.zip || repeat(b.zip, 1000000))) from blob1 a, blob1 b
select len([[[[range(1000) for a in range(1000)] for b in range(1000)] for c in range(1000)] for d in range(1000)])
"""

TIME = """
select sum(a.range * b.range) from range(100000000) a, range(100000000) b
select count(*) from blob1 a, blob1 b, blob1 c, blob1 d where a.id + b.id + c.id + d.id = -1
select max(hash(range)) from range(1000000000000)
select count(*) from range(1000000000000) where range % 7 = 8
with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t
with recursive t(n) as (select 1 union all select n + 1 from t) select * from t
with recursive t(s) as (select 'x' union all select s || s from t) select max(length(s)) from t
with recursive t(n, m) as (select 1, 1 union select n + 1, m * 2 % 1000003 from t) select count(*) from t
with recursive a(n) as (select range from range(1000) union all select a.n + b.n from a, a b) select count(*) from a
select sleep_ms(60000)
select sum(sleep_ms(10)) from blob1
select sum(levenshtein(a.zip || repeat('a', 1000), b.zip || repeat('b', 1000))) from blob1 a, blob1 b
select sum(factorial(33)) from range(1000000000)
select count(*) from blob1 a, blob1 b, blob1 c where a.zip || b.zip like '%' || c.zip || '%'
select avg(x) over (order by random() range between 1000000 preceding and 1000000 following) from (select random() x from range(100000000))
select list_reduce(range(10000000), (a, b) -> a + b % 7) from range(1000)
select list_sum(list_transform(range(10000), x -> list_sum(list_transform(range(10000), y -> x * y))))
select min(a.id) from blob1 a asof join blob1 b on a.id >= b.id, range(100000000)
select sum((select count(*) from blob1 b where b.id > a.id and b.zip < a.zip)) from blob1 a, range(100000)
select md5(string_agg(sha256(range::varchar), '')) from range(100000000)
"""

PATTERNS = """
select regexp_matches(repeat('a', 30000) || 'b', '(a*)*b*c') from range(100000)
select regexp_matches(repeat('a', 100000), '(a+)+$') from range(100000)
select regexp_replace(repeat('a', 10000000), '(a|aa)+', repeat('x', 1000), 'g')
select regexp_matches(repeat('a', 100), '((a{0,100}){0,100}){0,100}')
select repeat('a', 1000000) like '%' || repeat('a%', 10000) || 'b'
select repeat('a', 1000000) glob '*' || repeat('a*', 10000) || 'b'
select repeat('a', 1000000) similar to '(a|b)*' || repeat('(a|b)', 900) || 'c'
select len(regexp_split_to_array(repeat('ab', 50000000), 'b'))
"""

OUTPUT = """
select * from range(1000000000)
select range, repeat('x', 1000) from range(10000000)
select repeat('x', 50000000)
select range(5000000)
select repeat(chr(233), 10000000), repeat(chr(34), 10000000), repeat(chr(1), 10000000)
select * from blob1 a, blob1 b, blob1 c
select * from (select 1) t, (select * from blob1) pivot (count(*) for id in (1))
pivot blob1 on id using count(*)
"""

PLANNER = {
    "CTEs that double": "with a0 as (select 1 as n), "
    + ", ".join(f"a{i} as (select x.n + y.n as n from a{i - 1} x, a{i - 1} y)" for i in range(1, 26))
    + " select * from a25",
    "CTEs that fan out": "with a0 as (select * from blob1), "
    + ", ".join(f"a{i} as (select * from a{i - 1} union all select * from a{i - 1})" for i in range(1, 30))
    + " select count(*) from a29",
    "many unions": " union all ".join(["select 1"] * 1_700),
    "many ors": "select 1 from blob1 where " + " or ".join(["id=1"] * 3_900),
    "many joins": "select count(*) from " + ", ".join(f"blob1 b{i}" for i in range(2_000)),
    "many joins by key": "select count(*) from blob1 a0 "
    + " ".join(f"join blob1 a{i} using(id)" for i in range(1, 400)),
    "many windows": "select "
    + ", ".join(f"sum(id) over (order by zip rows {i} preceding)" for i in range(1, 400))
    + " from blob1",
    "a long list": f"select 1 in ({','.join(['1'] * 15_000)})",
    "deep parentheses": "select " + "(" * 15_000 + "1" + ")" * 15_000,
    "deep not": "select " + "not " * 8_000 + "true",
    "deep minus": "select " + "- " * 15_000 + "1",
    "deep case": "select " + "case when true then " * 1_300 + "1" + " end" * 1_300,
    "deep subqueries": "select * from (" * 2_000 + "select 1" + ")" * 2_000,
    "deep lists": "select " + "[" * 15_000 + "1" + "]" * 15_000,
    "deep sums": "select " + "1+" * 16_000 + "1",
    "many columns": "select " + ",".join(["*"] * 4_000) + " from blob1",
    "many groupings": "select count(*) from blob1 group by cube (" + ", ".join(f"id % {i}" for i in range(2, 40)) + ")",
    "many pivots": "pivot blob1 on " + ", ".join(f"id % {i} in (0)" for i in range(2, 60)) + " using count(*)",
    "many placeholders": "select " + ",".join(["?"] * 10_000),
    "many quotes": "select " + "''" * 16_000,
}

BOMBS = dict(
    [
        *_lines("memory", MEMORY),
        *_lines("time", TIME),
        *_lines("patterns", PATTERNS),
        *_lines("output", OUTPUT),
        *((f"planner: {name}", query) for name, query in PLANNER.items()),
    ]
)
