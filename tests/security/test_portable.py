"""The smaller Python of hosts that give no cell: what it answers, what it is told, and that nothing leads out of it.

All through the front door, with the cells forced to tier none.
"""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blobs import wiring
from blobs.cli import main
from blobs.client import Blobs
from blobs.domain.limits import Limits
from blobs.querying import portable
from blobs.running.runner import Runner
from blobs.running.tiers import open_pool
from blobs.settings import Settings

pytestmark = pytest.mark.skipif(not portable.version(), reason="the extra `portable` is not installed")

SECRET = "do-not-show-6c1f"
WALL_MS = 3_000
CSV = b"id,big\n1,123456789012345678901234567890\n2,1\n"
JSON = b'{"total": 123456789012345678901234567890, "price": 0.1234567890123456789, "items": [{"n": 1}, {"n": 2}]}'

Run = Callable[..., dict[str, Any]]


def _without_cells(limits: Limits, readers_dir: str | None) -> Runner:
    return open_pool(
        tasks=wiring.TASKS,
        trusted_tasks=wiring.TRUSTED_TASKS,
        stand_ins=wiring.STAND_INS,
        preload=(),
        cells_max=1,
        tiers=("none",),
    )


@pytest.fixture(scope="module")
def blobs() -> Iterator[Blobs]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "_runner", _without_cells)
        patch.setenv("PORTABLE_SECRET", SECRET)
        limits = Limits(call_ms_max=WALL_MS, cell_memory_bytes_max=512 << 20)
        with Blobs.open(Settings(store=":memory:", limits=limits)) as opened:
            yield opened


@pytest.fixture(scope="module")
def run(blobs: Blobs) -> Run:
    """Run a program over a CSV (blob1), a JSON document (blob2) and an archive's worth of bytes (blob3)."""
    chat = blobs.conversation("portable")
    chat.attach(CSV, type="text/csv")
    chat.attach(JSON, type="application/json")
    chat.attach(b"\x00\xff\x01" * 1000, type="application/octet-stream")

    def call(code: str, **arguments: Any) -> dict[str, Any]:
        given = {"blobs": ["blob1", "blob2", "blob3"], "language": "python", "code": code, **arguments}
        return chat.call("blob_code", given)

    return call


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("1 + 1", 2),
        ("result = [1, 2]\nx = 3", [1, 2]),
        ("x = 3", None),
        ("[row['big'] for row in blob1.rows()]", ["123456789012345678901234567890", "1"]),
        ("sum(int(row['big']) for row in blob1.rows())", 123456789012345678901234567891),
        ("blob2.json()['total'] * 10", 1234567890123456789012345678900),
        ("[each['n'] for each in blob2.json()['items']]", [1, 2]),
        ("blob1.lines()[0], blob1.name, blob1.type, blob1.size", ["id,big", "blob1", "text/csv", 44]),
        ("len(blob3.bytes())", 3000),
        ("len(blob1.text())", 44),
        ("2 ** 200", 2**200),
        ("{'a': (1, 2), 's': {2, 1}, 'n': float('nan'), 'b': b'x'}", {"a": [1, 2], "s": [1, 2], "n": "NaN", "b": "78"}),
        ("import datetime\ndatetime.date(2020, 1, 2)", "2020-01-02"),
        ("async def f():\n    return 3\nawait f()", 3),
        ("import csv\nlist(csv.reader(blob1.lines()))[2]", ["2", "1"]),
        ("import re, math\nre.findall('[0-9]', 'a1b2') + [math.floor(1.5)]", ["1", "2", 1]),
        ("import time\ntime.sleep(3600)\n7", 7),
    ],
)
def test_it_answers(run: Run, code: str, result: Any) -> None:
    """The last expression or `result`, in the same exact JSON as in a cell."""
    shown = run(code)
    assert shown["ok"], shown
    assert shown["data"] == {"result": result, "printed": "", "complete": True}


def test_decimals_keep_their_digits(run: Run) -> None:
    """A number that a float would change comes as a decimal, and goes back as it was written."""
    assert "0.1234567890123456789" in repr(run("blob2.json()['price']")["data"]["result"])


def test_bytes_and_blobs_are_kept_as_blobs(run: Run) -> None:
    """Bytes, a blob itself, a large value and anything with save are blobs of their own."""
    kept = run("blob3.bytes()[:10]")["data"]
    assert (kept["type"], kept["size"]) == ("application/octet-stream", 10)
    assert run("blob1")["data"]["blob"] == "blob1"
    assert run("list(range(100000))")["data"]["type"] == "application/json"
    assert run("[1]", save=True)["data"]["size"] == len("[1]")


def test_what_is_printed_comes_with_it_and_is_bounded(run: Run) -> None:
    """Printed text is told beside the result; of very much of it, the first part."""
    assert run("print('a', 1)\nprint('b')\n5")["data"] == {"result": 5, "printed": "a 1\nb\n", "complete": True}
    shown = run("for i in range(20000):\n    print('x' * 1000)\n5")
    assert shown["ok"], shown
    assert shown["data"]["result"] == 5
    assert 1_000 < len(shown["data"]["printed"]) < 20_000


def test_every_module_that_is_named_can_be_imported(run: Run) -> None:
    """The list that the model reads is true."""
    assert run("\n".join(f"import {name}" for name in portable.MODULES) + "\n1")["data"]["result"] == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def f(x):\n    return 1 / x\nf(0)", ["ZeroDivisionError", "line 3: f(0)", "line 2, in f: return 1 / x"]),
        ("x = (", ["SyntaxError", "line 1: x = ("]),
        ("import pandas", ["ModuleNotFoundError", "line 1: import pandas", "smaller Python", "itertools"]),
        ("def g():\n    yield 1", ["NotImplementedError", "line 2: yield 1", "smaller Python"]),
        ("blob1.df()", ["AttributeError", "line 1: blob1.df()", ".rows()"]),
        ("blob1.rows(part='no')", ["line 1: blob1.rows(part='no')"]),
        ("blob1.rows(part=5)", ["TypeError: rows() takes at most the name of a part"]),
        ("raise ValueError('x' * 9000)", ["ValueError: xxx", "…(+"]),
        ("print('before')\n{}['k']", ["KeyError", "line 2: {}['k']", "Printed before: before"]),
    ],
)
def test_exceptions_are_told_with_the_models_own_lines(run: Run, code: str, told: list[str]) -> None:
    """Type, message, its own lines and a next step; nothing of the host."""
    shown = run(code)
    assert not shown["ok"]
    assert all(each in shown["message"] for each in told), shown["message"]
    assert "site-packages" not in shown["message"]
    assert "/proc/" not in shown["message"]


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "try:\n    while True: pass\nexcept BaseException: pass\nwhile True: pass",
        "sum(1 for i in range(10**12))",
        "x = []\nwhile True: x.append('a' * 1000)",
        "'a' * 10**12",
        "10 ** 10 ** 10",
        "def f(n): return f(n + 1)\nf(0)",
        "'x' * (200 << 20)",
        "list(range(10**7)) * 3",
        "while True: print('x' * 1000)",
        "x = []\nfor i in range(10**6): x = [x]\nx",
        "import re\nre.findall('(a+)+$', 'a' * 50 + 'b') * 10**9 + [1] * 10**9",
        "while True: blob3.bytes()",
        "eval('(' * 10**6)",
        "import json\njson.loads('[' * 10**6)",
        "[blob1.rows() for i in range(10**9)]",
    ],
)
def test_bombs_end_in_time_and_leave_nothing(run: Run, code: str) -> None:
    """Loops, memory, recursion and output end as an error that the model reads or a blob, and leave no process."""
    started = time.monotonic()
    shown = run(code)
    assert time.monotonic() - started < WALL_MS / 1000 + 5
    assert not shown["ok"] or shown["data"]["blob"], shown
    assert "internal error" not in shown.get("message", ""), shown
    assert _ends(_interpreters)
    assert run("1 + 1")["data"]["result"] == 2


def test_an_interpreter_that_runs_is_seen(run: Run) -> None:
    """The control of the test above: while a program runs, its interpreter is found."""
    call = threading.Thread(target=run, args=("while True: pass",))
    call.start()
    seen = set()
    while call.is_alive():
        seen |= {*_interpreters()}
        call.join(0.05)
    assert len(seen) == 1
    assert _ends(_interpreters)


def _interpreters() -> list[str]:
    """Processes of Monty that run on this host for us."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "exe").readlink().name == "monty":
                found.append(process.name)
        except OSError:
            continue  # it has ended meanwhile, or is another user's
    return found


def _ends(running: Callable[[], list[str]]) -> bool:
    ends = time.monotonic() + WALL_MS / 1000 + 5
    while running() and time.monotonic() < ends:
        time.sleep(0.05)
    return not running()


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "open('/proc/self/environ').read()",
        "open('/tmp/portable-escape', 'w').write('x')",
        "import pathlib\npathlib.Path('/etc/passwd').read_text()",
        "import pathlib\nlist(pathlib.Path('/').iterdir())",
        "import os\nos.environ['PORTABLE_SECRET']",
        "import os\nos.getenv('PORTABLE_SECRET') or [][0]",
        "import os\nos.listdir('/')",
        "import os\nos.system('id')",
        "import os\nos.stat('/etc/passwd')",
        "import subprocess\nsubprocess.run(['id'])",
        "import socket\nsocket.socket()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')",
        "import ctypes",
        "import importlib",
        "import builtins",
        "import sys\nsys.modules",
        "import sys\nsys._getframe()",
        "__import__('os').system('id')",
        "__builtins__",
        "eval(\"__import__('os')\")",
        "exec('import subprocess')",
        "eval(\"open('/etc/passwd').read()\")",
        "compile('1', '', 'eval')",
        "globals()['__builtins__']",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 1).__globals__",
        "(lambda: 1).__code__",
        "'{0.__class__.__init__.__globals__}'.format(blob1)",
        "blob1.__class__.__mro__",
        "blob1.__class__.__init__.__globals__",
        "blob1.__dict__",
        "blob1.__reduce__()",
        "blob1.rows.__func__.__globals__",
        "type(blob1)('blob9', {}, {}, None)",
        "blob1.path",
        "blob1._view()",
        "blob1._readers_dir",
        "getattr(blob1, '_' + 'decoded')()",
        "blob1.bytes('../../etc/passwd')",
        "blob1.text(part='/etc/passwd')",
        "blob1.call_method('rows', (), {})",
        "blob1.bytes(blob1)",
        "blob1.bytes(*[None, None])",
    ],
)
def test_nothing_leads_out(run: Run, code: str) -> None:
    """No file, environment, network, process, import or attribute of the host: each attempt is an exception."""
    shown = run(code)
    assert not shown["ok"], shown
    assert "code, line" in shown["message"], shown
    assert not any(word in shown["message"] for word in (SECRET, "root:", "uid=", "site-packages"))
    assert not Path("/tmp/portable-escape").exists()


def test_a_program_does_not_reach_the_next_one(run: Run) -> None:
    """Variables, changed modules and changed blobs are gone with the call."""
    assert run("import math\nkept = 1\nsetattr(blob1, 'name', 'changed')\nblob1.name")["ok"]
    assert "NameError" in run("kept")["message"]
    assert run("blob1.name")["data"]["result"] == "blob1"


def test_its_limits_are_told(blobs: Blobs) -> None:
    """To the model by the description, to the operator by the doctor."""
    code = blobs.tools("plain")[2]
    assert "Python is a small one here: no pandas" in code["description"]
    assert all(name in code["description"] for name in portable.MODULES)
    assert code["schema"]["properties"]["language"]["enum"] == ["sql", "python"]
    assert blobs.doctor()["sandbox"]["stand_ins"] == ["python"]
    assert blobs.doctor()["sandbox"]["runs_untrusted"] is False


def test_without_the_extra_python_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The model reads that there is no Python, and not of packages; the operator reads what would give one."""

    def bare(limits: Limits, readers_dir: str | None) -> Runner:
        return open_pool(tasks=wiring.TASKS, trusted_tasks=wiring.TRUSTED_TASKS, preload=(), tiers=("none",))

    monkeypatch.setattr(wiring, "_runner", bare)
    with Blobs.open(Settings(store=":memory:")) as blobs:
        chat = blobs.conversation("bare")
        chat.attach(CSV, type="text/csv")
        shown = chat.call("blob_code", {"blob": "blob1", "language": "python", "code": "1"})
        assert not shown["ok"]
        assert "monty" not in (shown["message"] + str(blobs.tools("plain"))).lower()
        assert "Python is not available here: use SQL." in blobs.tools("plain")[2]["description"]
    assert main(["doctor"]) == 7
    assert "Python is refused here (the extra agent-blobs[portable] has a smaller one);" in capfd.readouterr().out


def test_the_doctor_says_that_it_is_a_smaller_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With its package and version; that is no failure."""
    monkeypatch.setattr(wiring, "_runner", _without_cells)
    assert main(["doctor"]) == 0
    assert f"Python is the smaller one of pydantic-monty {portable.version()} here" in capfd.readouterr().out
