"""Programs over blobs: what they see, what their results become, and what they are told when they fail."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from blobs.domain import exact_json
from tests.unit.querying.child import Child, Told

Run = Callable[..., Told]

CONTENT = {
    "blob1": ("text/csv", "csv", "id,zip,price\r\n1,00123,1.50\r\n2,,2.25\r\n"),
    "blob2": (
        "application/json",
        "json",
        '{"big":123456789012345678901234567890,"exact":0.1,"long":1.2345678901234567890123,"nan":NaN,"e":1e2,"s":"é"}',
    ),
    "blob3": ("application/x-ndjson", "ndjson", '{"a":1}\nbad\n{"a":2.50}\n'),
    "blob4": ("text/plain", "text", "one\r\ntwo\rthree\u2028still three\nfour"),
    "blob5": ("application/octet-stream", "binary", "\x00\x01\x02"),
}


@pytest.fixture
def run(child: Child, parquet: Callable[..., Path], tmp_path: Path) -> Run:
    """Runs a program over five small blobs; blob1 has a columnar copy."""
    files, blobs = {}, {}
    for name, (media_type, reader, content) in CONTENT.items():
        files[name] = tmp_path / name
        files[name].write_bytes(content.encode())
        blobs[name] = {"file": name, "type": media_type, "reader": reader, "size": len(content)}
    rows = [["1", "00123", "1.50", "5", "2024-02-29"], ["2", None, "2.25", None, None]]
    files["copy"] = parquet("copy", ["id", "zip", "price", "n", "day"], rows, is_text=True)
    files["part"] = parquet("part", ["x", "j"], [[1, {"a": [10**30]}], [2, None]])
    blobs["blob1"] |= {"table": "copy", "tables": {"results": "part"}}

    def run_python(code: str, **arguments: Any) -> Told:
        return child.run("python", {"code": code, "blobs": blobs, **arguments}, files)

    return run_python


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("blob1.bytes()[:6].decode()", '"id,zip"'),
        ("blob1.text()[:12]", '"id,zip,price"'),
        ("blob1.lines()", '["id,zip,price","1,00123,1.50","2,,2.25"]'),
        ("blob4.lines()", '["one","two","three\u2028still three","four"]'),
        ("[blob1.name, blob1.type, blob1.size]", '["blob1","text/csv",37]'),
        ("open(blob1.path).read(2)", '"id"'),
        ("str(blob1)", '"<blob1: text/csv, 37 bytes>"'),
        ("blob1.rows()[0]", '{"id":"1","zip":"00123","price":"1.50"}'),
        ("blob1.rows()[1]['zip']", "null"),
        ("blob2.json()['big'] + 1", "123456789012345678901234567891"),
        ("[type(v).__name__ for v in blob2.json().values()]", '["int","float","Decimal","float","float","str"]'),
        ("blob2.json()['long']", "1.2345678901234567890123"),
        ("blob3.json()", '[{"a":1},{"a":2.5}]'),
        ("blob1.arrow().schema.names", '["id","zip","price","n","day"]'),
        ("blob1.arrow('results').column('j').to_pylist()", '["{\\"a\\":[1000000000000000000000000000000]}",null]'),
        ("blob1.df('results').j[0]['a'][0] + 1", "1000000000000000000000000000001"),
        ("blob1.df().price.sum()", "3.75"),
        ("(blob1.df().price * 2).tolist()", "[3.0,4.5]"),
        ("str(blob1.df().n.dtype)", '"Int64"'),
        ("blob1.df().zip.tolist()[0]", '"00123"'),
        ("blob3.df().a.tolist()", "[1.0,2.5]"),
        ("blob1.df().day.dt.month.tolist()[0]", "2.0"),
        ("blob1.df()[['day']]", '{"columns":["day"],"rows":[["2024-02-29"],[null]],"count":2}'),
        ("len(blob5.bytes())", "3"),
    ],
)
def test_blobs(run: Run, code: str, expected: str) -> None:
    """A blob gives its content as bytes, text, lines, JSON, rows, Arrow or a frame, exactly."""
    told = run(code)
    assert told.message == ""
    assert exact_json.text(told.value["result"]) == expected


def test_what_is_left_out_is_said(run: Run) -> None:
    """A program that reads NDJSON with bad lines hears of them."""
    assert "1 of 3 lines" in run("len(blob3.rows())").printed


def test_decimals_that_floats_would_change_stay_decimals(child: Child, parquet: Callable[..., Path]) -> None:
    """A frame has floats where they are exact, `Decimal` where they are not, `int` for long whole numbers."""
    rows = [["123456789012345678.25", "1" * 25], ["0.50", None]]
    files = {"f": parquet("f", ["money", "id"], rows, is_text=True)}
    blobs = {"blob1": {"file": "f", "type": "text/csv", "reader": "csv", "table": "f"}}
    code = "d = blob1.df()\n[d.money.tolist(), [type(v).__name__ for v in d.money], d.id.tolist()]"
    told = child.run("python", {"code": code, "blobs": blobs}, files)
    assert exact_json.text(told.value["result"]) == (
        f'[[123456789012345678.25,0.50],["Decimal","Decimal"],[{"1" * 25},null]]'
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1 + 1", "2"),
        ("result = 3", "3"),
        ("result = 3\n4", "4"),
        ("result = 3\nprint('x')", "3"),
        ("x = 1", "null"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("10 ** 5000 - 10 ** 5000 + 7", "7"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("[1e300, 1e-7, 5e-324]", "[1e+300,1e-07,5e-324]"),
        ("[float('nan'), float('inf'), -float('inf')]", '["NaN","Infinity","-Infinity"]'),
        ("from decimal import Decimal\n[Decimal('1.10'), Decimal('1E+5'), Decimal('NaN')]", '[1.10,1E+5,"NaN"]'),
        ("from fractions import Fraction\nFraction(1, 3)", '"1/3"'),
        ("'é€𝄞'", '"é€𝄞"'),
        ("(1, [2, {'a': None}])", '[1,[2,{"a":null}]]'),
        ("{3, 1, 2}", "[1,2,3]"),
        ("frozenset('ba')", '["a","b"]'),
        ("{1: 'a', None: 'b', True: 'c'}", '{"1":"c","null":"b"}'),
        ("{1: 'a', '1': 'b'}", '[[1,"a"],["1","b"]]'),
        ("{'a': 1}.items()", '[["a",1]]'),
        ("range(3)", "[0,1,2]"),
        ("(x * x for x in range(4))", "[0,1,4,9]"),
        ("map(str, [1, 2])", '["1","2"]'),
        ("import datetime as d\nd.datetime(2024, 1, 2, 3, 4, 5, 6)", '"2024-01-02T03:04:05.000006"'),
        ("import datetime as d\nd.datetime(2024, 1, 2, tzinfo=d.timezone.utc)", '"2024-01-02T00:00:00+00:00"'),
        ("import datetime as d\n[d.date(2024, 1, 2), d.time(3, 4)]", '["2024-01-02","03:04:00"]'),
        ("import datetime as d\nd.timedelta(days=-1)", '"-PT86400S"'),
        ("import uuid\nuuid.UUID(int=1)", '"00000000-0000-0000-0000-000000000001"'),
        ("[b'ab']", '["6162"]'),
        ("import enum\nclass E(enum.Enum):\n    A = 1\nE.A", "1"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)", '{"x":1}'),
        ("from collections import Counter\nCounter('aab')", '{"a":2,"b":1}'),
        ("1 + 2j", '"(1+2j)"'),
        ("import numpy as np\n[np.int64(2**62), np.float32(0.1)]", "[4611686018427387904,0.1]"),
        ("import numpy as np\n[np.float64('nan'), np.bool_(True)]", '["NaN",true]'),
        ("import numpy as np\nnp.array([[1, 2], [3, 4]])", "[[1,2],[3,4]]"),
        ("import numpy as np\n[np.array(['a']), np.datetime64('2024-01-02')]", '[["a"],"2024-01-02"]'),
        ("import numpy as np\nnp.dtype('int8')", '"int8"'),
        ("import numpy as np\nnp.array([(1, 2.5)], dtype=[('a', int), ('b', float)])", '[{"a":1,"b":2.5}]'),
        ("import pandas as pd\n[pd.NA, pd.NaT, pd.Timestamp('2024-01-02')]", '[null,null,"2024-01-02T00:00:00"]'),
        ("import pandas as pd\npd.Timedelta(nanoseconds=1)", '"PT0.000000001S"'),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\nasyncio.run(f())", "7"),
        ("async def f(): return 7\nawait f()", "7"),
        ("import sys\nresult = 5\nsys.exit()", "5"),
        ("import math, re, json, statistics\nlen(re.findall('a', 'banana'))", "3"),
    ],
)  # fmt: skip
def test_results(run: Run, code: str, expected: str) -> None:
    """The last expression, or `result`, is answered as exact JSON."""
    told = run(code)
    assert told.message == ""
    assert exact_json.text(told.value["result"]) == expected


@pytest.mark.parametrize(
    ("code", "columns", "rows"),
    [
        ("pd.DataFrame({'a': [1, None], 'b': ['x', None]})", ["a", "b"], "[[1.0,\"x\"],[null,null]]"),
        ("pd.DataFrame({'a': [2**70], 'b': [[1]]})", ["a", "b"], "[[1180591620717411303424,[1]]]"),
        ("pd.DataFrame({'b': [{'k': None}]})", ["b"], '[[{"k":null}]]'),
        ("pd.DataFrame({'d': pd.to_datetime(['2024-01-02', None])})", ["d"], '[["2024-01-02T00:00:00"],[null]]'),
        ("pd.DataFrame({'a': [1]}, index=['x'])", ["index", "a"], '[["x",1]]'),
        ("pd.DataFrame({'v': [1, 2]}).groupby('v').agg({'v': ['sum']})", ["v", "v_sum"], "[[1,1],[2,2]]"),
        ("pd.DataFrame([[1, 2]], columns=['a', 'a'])", ["a", "a_1"], "[[1,2]]"),
        ("pd.Series([1.5, 2.5])", ["value"], "[[1.5],[2.5]]"),
        ("pd.Series(['a', 'b', 'a'], name='s').value_counts()", ["s", "count"], '[["a",2],["b",1]]'),
        ("pd.Index([1, 2])", ["value"], "[[1],[2]]"),
        ("pd.Series(pd.Categorical(['x', None]))", ["value"], '[["x"],[null]]'),
        ("pd.DataFrame()", [], "[]"),
        ("pa.table({'a': [1, None]})", ["a"], "[[1],[null]]"),
        ("pa.array([1, 2])", ["value"], "[[1],[2]]"),
        ("pa.chunked_array([[1], [2]])", ["value"], "[[1],[2]]"),
        ("pa.table({'t': pa.array([1], pa.time64('ns'))})", ["t"], '[["00:00:00.000000001"]]'),
        ("duckdb.sql(\"select 1 as a, 2.50 as b\")", ["a", "b"], "[[1,2.50]]"),
    ],
)  # fmt: skip
def test_tables(run: Run, code: str, columns: list[str], rows: str) -> None:
    """A small table is its columns, rows and count."""
    told = run(f"import duckdb\nimport pandas as pd\nimport pyarrow as pa\n{code}")
    assert told.message == ""
    result = told.value["result"]
    assert result["columns"] == columns
    assert exact_json.text(result["rows"]) == rows
    assert list(result) == ["columns", "rows", "count"]
    assert result["count"] == len(result["rows"])


def test_large_tables_are_parquet(run: Run) -> None:
    """A table that does not fit becomes Parquet with exact types, mixed and nested columns among them."""
    told = run(
        "import pandas as pd\n"
        "n = 20000\n"
        "pd.DataFrame({'i': range(n), 's': ['é'] * n, 'big': [2**70] * n, 'j': [{'a': 1}, None] * (n // 2),"
        " 'f': [0.5, None] * (n // 2), 't': pd.Timestamp('2024-01-02'), 'd': pd.Timedelta(seconds=90)})"
    )
    assert told.value == {
        "payload_type": "application/vnd.apache.parquet",
        "columns": ["i BIGINT", "s VARCHAR", "big DECIMAL(38,0)", "j JSON", "f DOUBLE", "t TIMESTAMP", "d VARCHAR"],
        "count": 20_000,
    }
    table = pq.read_table(io.BytesIO(told.payload))
    assert table.num_rows == 20_000
    row = {name: values[1] for name, values in table.slice(0, 2).to_pydict().items()}
    assert [row["i"], row["s"], row["big"], row["j"], row["f"], row["d"]] == [1, "é", 2**70, None, None, "00:01:30"]
    assert isinstance(table.schema.field("j").type, pa.JsonType)


@pytest.mark.parametrize(
    ("code", "media_type", "content"),
    [
        ("b'\\x00abc'", "application/octet-stream", b"\x00abc"),
        ("bytearray(b'abc')", "application/octet-stream", b"abc"),
        ("b''", "application/octet-stream", b""),
        ("blob2", "application/json", CONTENT["blob2"][2].encode()),
        ("'x' * 40000", "application/octet-stream", b"x" * 40_000),
        ("list(range(10000))", "application/json", exact_json.dumps(list(range(10_000)))),
        ("{'a': '\u2028' * 20000}", "application/json", exact_json.dumps({"a": "\u2028" * 20_000})),
    ],
)
def test_payloads(run: Run, code: str, media_type: str, content: bytes) -> None:
    """Bytes, blobs and whatever is too large for the answer go out as bytes of a type."""
    told = run(code)
    assert told.value == {"payload_type": media_type}
    assert told.payload == content


def test_pictures_are_png(run: Run) -> None:
    """A Pillow image is given as PNG, whatever its mode."""
    for mode in ("RGB", "RGBA", "L", "CMYK", "F"):
        told = run(f"from PIL import Image\nImage.new('{mode}', (4, 3))")
        assert told.value == {"payload_type": "image/png"}
        assert Image.open(io.BytesIO(told.payload)).size == (4, 3)


def test_other_objects_are_told_as_text(run: Run) -> None:
    """What JSON cannot say is its repr, marked, without addresses that differ from run to run."""
    told = run("class Thing:\n    pass\n[Thing(), lambda: 1]")
    assert told.value["result"] == ["<__main__.Thing object>", "<function <lambda>>"]
    assert told.value["is_repr"] is True
    assert "repr" in told.value["note"]
    told = run("class Thing:\n    def __repr__(self): raise ValueError\nThing()")
    assert told.value["result"] == "<Thing, whose repr raises ValueError>"


def test_dates_stay_dates(run: Run) -> None:
    """A date that went through a frame is stored as a date, a midnight as a timestamp."""
    told = run("d = blob1.df()[['day']]\nd['t'] = d.day.astype('datetime64[us]')\nd", save=True)
    assert told.value["columns"] == ["day DATE", "t TIMESTAMP"]


def test_save_makes_a_payload_of_anything(run: Run) -> None:
    """With `save` small results are payloads too, tables as Parquet."""
    assert run("[1]", save=True).payload == b"[1]"
    assert run("'text'", save=True).payload == b"text"
    told = run("import pandas as pd\npd.DataFrame({'a': [1]})", save=True)
    assert pq.read_table(io.BytesIO(told.payload)).to_pydict() == {"a": [1]}


@pytest.mark.parametrize(
    "code",
    [
        "b'x' * 2000",
        "'x' * 2000",
        "list(range(1000))",
        "import pandas as pd, random\npd.DataFrame({'a': [random.random() for _ in range(1000)]})",
    ],
)
def test_results_are_bounded(run: Run, code: str) -> None:
    """A result over the limit is refused with the way out."""
    told = run(code, result_bytes_max=1000, inline_bytes_max=500)
    assert told.code == "result_too_large"
    assert "1,000 bytes" in told.message
    assert "filter" in told.hint


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "def f(x):\n    return 1 / x\n\nf(0)",
            "ZeroDivisionError: division by zero\n  code, line 4: f(0)\n  code, line 2, in f: return 1 / x",
            "",
        ),
        ("x = = 1", "SyntaxError: invalid syntax\n  code, line 1: x = = 1", ""),
        ("if True:\nx", "IndentationError: expected an indented block", ""),
        ("if True:\nx", "\n  code, line 2: x", ""),
        ("import pandas as pd\npd.DataFrame()['b']", "KeyError: 'b'\n  code, line 2: pd.DataFrame()['b']", ""),
        ("try:\n    1 / 0\nexcept Exception as e:\n    raise OSError from e", "caused by ZeroDivisionError", ""),
        ("raise SystemExit(3)", "SystemExit: 3\n  code, line 1", ""),
        ("raise KeyboardInterrupt", "KeyboardInterrupt\n  code, line 1", ""),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded", ""),
        ("import requests_of_old", "ModuleNotFoundError", "pandas"),
        ("open('/no/such/file')", "FileNotFoundError", "no files besides the blobs (blob1"),
        ("import os\nos.listdir('/root/x')", "Error", "blob1.bytes()"),
        ("blob9", "NameError: name 'blob9' is not defined", "The blobs here: blob1, blob2"),
        ("blob1.read()", "AttributeError: 'Blob' object has no attribute 'read'", ".bytes() .text()"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E: (its text cannot be had)", ""),
        ("raise ValueError('x' * 5000)", "…(+3000 chars)", ""),
        ("x = []\nx.append(x)\nx", "nested too deeply, or contains itself", "flat"),
        ("import itertools\nitertools.count()", "an iterator of more than 1,000,000 values", "list"),
        ("blob5.text()", "no text", ""),
        ("blob1.rows('nope')", "there is no part 'nope'", ""),
        ("x = '" + "y" * 70_000 + "'", "longer than 65,536 bytes", "shorter"),
        ("1\0", "null bytes", ""),
        ("int('1' * 5000)", "ValueError: Exceeds the limit", ""),
        ("assert False, 'why'", "AssertionError: why", ""),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(run: Run, code: str, message: str, hint: str) -> None:
    """The exception with the program's own lines, and the next step where there is one."""
    told = run(code)
    assert told.code == "python_error"
    assert message in told.message
    assert hint in told.hint


def test_memory_errors_have_their_own_code(run: Run) -> None:
    """A program that runs out of memory is told what to do instead."""
    told = run("x = [0] * (1 << 60)")
    assert told.code == "python_memory"
    assert "line 1: x = [0]" in told.message
    assert "SQL" in told.hint


def test_errors_show_no_paths(run: Run, tmp_path: Path) -> None:
    """Neither the blobs' files nor the interpreter's are told."""
    told = run("import json\njson.load(open(blob1.path))\n")
    assert "JSONDecodeError" in told.message
    for code in ("raise ValueError(blob1.path)", "import json\nraise ValueError(json.__file__)"):
        told = run(code)
        assert str(tmp_path) not in told.message
        assert "/lib/python" not in told.message or "…/" in told.message


def test_printed_text_is_kept_apart(run: Run) -> None:
    """What a program prints is not its result."""
    told = run("print('a', 1)\n2")
    assert [told.printed, told.value["result"]] == ["a 1\n", 2]


def test_programs_leave_nothing_behind(run: Run) -> None:
    """Each program starts with the blobs and nothing else."""
    run("leftover = 1\nimport math\nmath.pi = 3")
    assert run("leftover").code == "python_error"


def test_a_program_is_the_main_module(run: Run) -> None:
    """Classes can be pickled and the usual guard runs."""
    told = run(
        "import pickle\nclass P:\n    x = 1\nif __name__ == '__main__':\n    result = pickle.loads(pickle.dumps(P())).x"
    )
    assert told.value["result"] == 1


def test_wrong_arguments_are_the_callers(child: Child) -> None:
    """A missing file is a fault of the service, not the model's."""
    blobs = {"blob1": {"file": "gone", "type": "text/csv", "reader": "csv"}}
    assert child.run("python", {"code": "1", "blobs": blobs}, {}).code == "invalid_call"
