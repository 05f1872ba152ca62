"""What comes of a model's program, through the front door: the form of every kind of result, printing, and errors."""

import importlib.util
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from blobs import Blobs, Conversation
from blobs.domain import exact_json

CSV = b"id,zip\n1,00123\n2,00456\n"


@pytest.fixture
def ask(chat: Conversation):
    chat.attach(CSV, type="text/csv")

    def run(code: str, **more: Any) -> dict[str, Any]:
        return chat.call("blob_code", {"blob": "blob1", "language": "python", "code": code, **more})

    return run


def table(columns: list[str], *rows: list[Any]) -> dict[str, Any]:
    return {"columns": columns, "rows": [*rows], "count": len(rows)}


RESULTS: dict[str, tuple[str, Any]] = {
    "a frame": (
        "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})",
        table(["a", "b"], [1, "x"], [2, None]),
    ),
    "a frame with an index": (
        "import pandas as pd\npd.DataFrame({'n': [1, 1, 2], 'v': [1, 2, 4]}).groupby('n').sum()",
        table(["n", "v"], [1, 3], [2, 4]),
    ),
    "a frame of times": (
        "import pandas as pd\npd.DataFrame({'t': pd.to_datetime(['2024-01-02T03:04:05Z', None])})",
        table(["t"], ["2024-01-02T03:04:05+00:00"], [None]),
    ),
    "a series": ("import pandas as pd\npd.Series([1.5, float('nan')], name='x')", table(["x"], [1.5], [None])),
    "an index": ("import pandas as pd\npd.Index([3, 4])", table(["value"], [3], [4])),
    "an index of levels": (
        "import pandas as pd\npd.MultiIndex.from_tuples([(1, 'a')], names=['n', 's'])",
        table(["n", "s"], [1, "a"]),
    ),
    "columns of one name": (
        "import pandas as pd\npd.DataFrame([[1, 2]], columns=['a', 'a'])",
        table(["a", "a_1"], [1, 2]),
    ),
    "categories": ("import pandas as pd\npd.Series(['a', 'b'], dtype='category')", table(["value"], ["a"], ["b"])),
    "a table of Arrow": (
        "import pyarrow as pa\npa.table({'u': pa.array([2**64 - 1], pa.uint64()), 'l': [[1]]})",
        table(["u", "l"], [18446744073709551615, [1]]),
    ),
    "an array of Arrow": ("import pyarrow as pa\npa.array([1, None])", table(["value"], [1], [None])),
    "a scalar of Arrow": ("import pyarrow as pa\npa.scalar(5)", 5),
    "a relation of DuckDB": (
        "import duckdb\nduckdb.sql('select 170141183460469231731687303715884105727 as h')",
        table(["h"], [170141183460469231731687303715884105727]),
    ),
    "the blob's own table": ("blob1.df()", table(["id", "zip"], [1, "00123"], [2, "00456"])),
    "an array": ("import numpy as np\nnp.arange(4).reshape(2, 2)", [[0, 1], [2, 3]]),
    "an array without dimensions": ("import numpy as np\nnp.array(7)", 7),
    "an array of records": (
        "import numpy as np\nnp.array([(1, 'a')], dtype=[('n', 'i4'), ('s', 'U3')])",
        [{"n": 1, "s": "a"}],
    ),
    "a masked array": ("import numpy as np\nnp.ma.array([1, 2], mask=[0, 1])", [1, None]),
    "scalars of numpy": (
        "import numpy as np\n[np.int64(2**62), np.float32(0.1), np.bool_(1), np.str_('x'), np.datetime64('NaT')]",
        [2**62, 0.1, True, "x", None],
    ),
    "nanoseconds": (
        "import numpy as np\nnp.datetime64('2024-01-01T00:00:00.000000001')",
        "2024-01-01T00:00:00.000000001",
    ),
    "dates": (
        "import datetime as d\n[d.date(2024, 1, 2), d.datetime(2024, 1, 2, 3, tzinfo=d.timezone.utc), d.time(1, 2)]",
        ["2024-01-02", "2024-01-02T03:00:00+00:00", "01:02:00"],
    ),
    "spans of time": ("import datetime as d\n[d.timedelta(1, 1), d.timedelta(seconds=-1.5)]", ["PT86401S", "-PT1.5S"]),
    "times of pandas": (
        "import pandas as pd\n[pd.Timestamp('2024-01-01', tz='Europe/Berlin'), pd.Period('2024-01'), pd.NaT, pd.NA]",
        ["2024-01-01T00:00:00+01:00", "2024-01", None, None],
    ),
    "decimals": ("from decimal import Decimal\n[Decimal('1.5'), Decimal('NaN')]", [1.5, "NaN"]),
    "no numbers": ("[float('nan'), float('inf'), -float('inf')]", ["NaN", "Infinity", "-Infinity"]),
    "large integers": ("[2**200, -(10**40)]", [2**200, -(10**40)]),
    "bytes inside": ("{'a': b'ab'}", {"a": "6162"}),
    "sets": ("[{3, 1, 2}, frozenset('ba')]", [[1, 2, 3], ["a", "b"]]),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: list\nP(1, [2])",
        {"x": 1, "y": [2]},
    ),
    "an enumeration": ("import enum\nclass E(enum.Enum):\n    A = 'x'\nE.A", "x"),
    "a named tuple": ("from collections import namedtuple\nnamedtuple('P', 'x y')(1, 2)", [1, 2]),
    "keys that are no strings": ("{1: 'a', None: 'b'}", {"1": "a", "null": "b"}),
    "keys that JSON would merge": ("{1: 'a', '1': 'b'}", [[1, "a"], ["1", "b"]]),
    "a generator": ("(n * n for n in range(3))", [0, 1, 4]),
    "tables inside": ("import pandas as pd\n{'t': pd.DataFrame({'a': [1]})}", {"t": [{"a": 1}]}),
    "depth": ("x = []\nfor _ in range(50): x = [x]\nx", json.loads("[" * 51 + "]" * 51)),
    "a variable": ("result = 7\nx = 1", 7),
    "nothing": ("x = 1", None),
    "half a character": ("'\\ud800'", "�"),
    "a module": ("import json\njson", "<module 'json'>"),
    "await": ("import asyncio\nawait asyncio.sleep(0, 5)", 5),
    "a coroutine": (
        "import asyncio as a\nasync def f():\n    return await a.gather(a.sleep(0, 1), a.to_thread(int, '2'))\nf()",
        [1, 2],
    ),
    "a loop of tasks": (
        (
            "import asyncio\nasync def f():\n    async with asyncio.TaskGroup() as g:\n"
            "        t = [g.create_task(asyncio.sleep(0.01, n)) for n in range(3)]\n"
            "    return [e.result() for e in t]\nasyncio.run(f())"
        ),
        [0, 1, 2],
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_its_form(ask, name):
    """Every kind of value comes back as the JSON that stands for it, whole."""
    code, expected = RESULTS[name]
    answer = ask(code)
    assert answer["ok"], answer
    assert answer["data"] == {"result": expected, "printed": "", "complete": True}


def test_digits_are_kept(service):
    """In the JSON that a model reads, decimals and integers have the digits that the program gave them."""
    exact = Blobs(service.service, is_exact=True).conversation()
    exact.attach(CSV, type="text/csv")
    code = "from decimal import Decimal\n[Decimal('1.10'), 10**5000]"
    answer = exact.call("blob_code", {"blob": "blob1", "language": "python", "code": code})
    assert exact_json.text(answer["data"]["result"]) == "[1.10,1" + "0" * 5000 + "]"


BLOBS = {
    "bytes": ("b'\\x00\\xff'", "application/octet-stream"),
    "bytes of a picture": (
        "import io\nfrom PIL import Image\nb = io.BytesIO()\nImage.new('L', (2, 2)).save(b, 'PNG')\nb.getvalue()",
        "image/png",
    ),
    "a long text": ("'x' * 40_000", "text/plain"),
    "a long list": ("list(range(40_000))", "application/json"),
    "a long table": ("import pandas as pd\npd.DataFrame({'a': range(40_000)})", "application/vnd.apache.parquet"),
}


@pytest.mark.parametrize("name", BLOBS)
def test_bytes_and_what_is_large_become_blobs(ask, name):
    """The answer is a handle of a fitting type, with its preview."""
    code, media_type = BLOBS[name]
    data = ask(code)["data"]
    assert (data["blob"], data["type"]) == ("blob2", media_type)
    assert data["preview"]


@pytest.mark.parametrize(
    ("code", "size"),
    [
        ("from PIL import Image\nImage.new('CMYK', (20, 10))", (20, 10)),
        ("from PIL import Image\nImage.new('I;16', (3, 5))", (3, 5)),
    ],
)
def test_a_picture_becomes_an_image(ask, chat, code, size):
    """A picture of any mode is kept as PNG."""
    data = ask(code)["data"]
    assert data["type"] == "image/png"
    with Image.open(io.BytesIO(chat.content(data["blob"]))) as picture:
        assert picture.size == size


FIGURES = {
    "a figure": "plt.plot([1, 2])\nplt.gcf()",
    "axes": "fig, ax = plt.subplots()\nax.bar(['a', 'b'], [1, 2])\nax",
    "lines": "plt.plot([1, 2])",
    "bars": "plt.bar(['a', 'b'], [1, 2])",
    "a histogram": "plt.hist([1, 2, 2])",
    "a plot of pandas": "blob1.df().plot()",
    "histograms of pandas": "blob1.df().hist()",
    "figure and axes": "plt.subplots()",
    "what was shown": "plt.plot([1, 2])\nplt.title('$x^2$')\nplt.show()",
}


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs the extra plots")
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_becomes_an_image(ask, chat, name):
    """Whatever of matplotlib a program ends with, the model gets the figure as an image."""
    answer = ask(f"import matplotlib.pyplot as plt\n{FIGURES[name]}")
    assert answer["ok"], answer
    assert answer["data"]["type"] == "image/png"
    with Image.open(io.BytesIO(chat.content(answer["data"]["blob"]))) as picture:
        assert picture.size == (640, 480)


def test_other_objects_are_told_and_it_is_said(ask):
    """What has no JSON form is its repr, without the address in memory."""
    answer = ask("[object(), len]")
    assert answer["data"]["result"] == ["<object object>", "<built-in function len>"]
    assert "not JSON" in answer["message"]


ERRORS = {
    "an exception": ("a = 1\na / 0", "ZeroDivisionError: division by zero\n  code, line 2: a / 0"),
    "inside a function": (
        "def f(x):\n    return x['k']\nf({})",
        "KeyError: 'k'\n  code, line 3: f({})\n  code, line 2, in f: return x['k']",
    ),
    "inside a library": (
        "import pandas as pd\npd.DataFrame({'a': [1]})['b']",
        "code, line 2: pd.DataFrame({'a': [1]})['b']",
    ),
    "in a task": (
        "import asyncio\nasync def f():\n    raise OSError('x')\nasyncio.run(f())",
        "code, line 3, in f: raise OSError('x')",
    ),
    "syntax": ("x = 1\ny = (", "SyntaxError: '(' was never closed\n  code, line 2: y = ("),
    "endless recursion": (
        "def f(): return f()\nf()",
        "RecursionError: maximum recursion depth exceeded\n  code, line 2: f()",
    ),
    "a result that contains itself": ("x = []\nx.append(x)\nx", "contains itself"),
    "depth": ("x = []\nfor _ in range(100_000): x = [x]\nx", "nested too deeply"),
    "no end": ("import itertools\nitertools.count()", "more than 1,000,000 values"),
    "too much memory": ("bytearray(5 << 30)", "MemoryError"),
    "too large": ("bytes(100 << 20)", "larger than 67,108,864 bytes"),
    "an exit": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "input": ("input()", "EOFError"),
    "the network": ("import urllib.request\nurllib.request.urlopen('http://example.com')", "There is no network"),
    "a file": ("open('/etc/shadow')", "no files besides the blobs (blob1)"),
    "a program": ("import subprocess\nsubprocess.run(['ls'])", "no other programs"),
    "a library that is not there": ("import tensorflow", "What can be imported: the standard library, numpy, pandas"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_with_the_programs_own_lines(ask, name):
    """Type, message, the lines of the program on the way there, and what can be done; no path of the host."""
    code, said = ERRORS[name]
    answer = ask(code)
    assert answer["ok"] is False
    assert said in answer["message"]
    for path in {sys.prefix, sys.base_prefix, str(Path(__file__).parents[3])}:
        assert path not in answer["message"]


def test_printing_is_kept_and_bounded(ask):
    """Both streams in order beside the result; a flood is cut with a count of what is left out."""
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\n1"
    assert ask(code)["data"] == {"result": 1, "printed": "a\nb\n", "complete": True}
    data = ask("for _ in range(100_000): print('x' * 99)\n1")["data"]
    assert data["printed"].endswith(f"…(+{100_000 * 100 - 16_384} bytes)")


def test_what_was_printed_before_an_error_is_told(ask):
    """A program that looks for its own fault sees what it found."""
    assert ask("print('seen', 1)\n1 / 0")["message"].endswith("Printed before: seen 1\n")


def test_libraries_are_named_with_versions(service):
    """What the tool's description promises is what is there."""
    code = next(each for each in service.tools("plain") if each["name"] == "blob_code")
    for library in ("pandas", "pyarrow", "numpy", "duckdb", "PIL", "pypdf", "lxml"):
        assert re.search(rf"\b{library} \d+\.\d+", code["description"])
