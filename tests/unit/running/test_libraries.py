"""What model-written Python may count on inside a cell."""

import pytest

from blobs.running import CellFile, CellLimits, Job
from blobs.running.libraries import PRELOADED, visible_paths
from tests.unit.running.conftest import open_cells

CSV = "city,zip,n\nBonn,00123,1\nKöln,50667,2\nBonn,53113,3\n"


@pytest.fixture(scope="module")
def full_cells():
    with open_cells(preload=PRELOADED) as runner:
        assert runner.describe()["missing"] == []
        yield runner


SNIPPETS = {
    "pandas reads": ("import pandas as pd\nresult = len(pd.read_csv(files['csv']))", 3),
    "pandas groups": (
        "import pandas as pd\nresult = pd.read_csv(files['csv']).groupby('city')['n'].sum().to_dict()",
        {"Bonn": 4, "Köln": 2},
    ),
    "pandas writes Parquet": (
        (
            "import pandas as pd\npd.read_csv(files['csv']).to_parquet('o.parquet')\n"
            "result = len(pd.read_parquet('o.parquet'))"
        ),
        3,
    ),
    "pyarrow reads with threads": ("import pyarrow.csv as c\nresult = c.read_csv(files['csv']).num_rows", 3),
    "pyarrow maps": (
        "import pyarrow as pa\nresult = pa.memory_map(files['csv']).read(4).decode()",
        "city",
    ),
    "pyarrow datasets": (
        "import pyarrow.dataset as ds\nresult = ds.dataset(files['csv'], format='csv').count_rows()",
        3,
    ),
    "duckdb": (
        "import duckdb\nresult = duckdb.sql(f\"select sum(n)::int from read_csv('{files['csv']}')\").fetchall()",
        [[6]],
    ),
    "duckdb spills": (
        (
            "import duckdb\nc = duckdb.connect('o.db', config={'memory_limit': '80MB', 'temp_directory': 't'})\n"
            "c.execute('create table t as select range a, hash(range) b from range(500000)')\n"
            "result = c.execute('select count(*) from (select b from t order by b)').fetchall()"
        ),
        [[500_000]],
    ),
    "numpy": ("import numpy as np\nresult = float(np.linalg.det(np.eye(50) @ np.eye(50)))", 1.0),
    "numpy maps": ("import numpy as np\nresult = int(np.memmap(files['csv'], mode='r')[0])", 99),
    "pillow": (
        (
            "from PIL import Image\nImage.new('RGB', (20, 10)).save('o.png')\nImage.open('o.png').save('o.jpg')\n"
            "result = list(Image.open('o.jpg').size)"
        ),
        [20, 10],
    ),
    "pypdf": (
        (
            "from pypdf import PdfReader, PdfWriter\nw = PdfWriter()\nw.add_blank_page(100, 100)\nw.write('o.pdf')\n"
            "result = len(PdfReader('o.pdf').pages)"
        ),
        1,
    ),
    "lxml": ("from lxml import etree\nresult = etree.fromstring('<a><b/></a>')[0].tag", "b"),
    "sqlite": (
        (
            "import sqlite3\nc = sqlite3.connect('o.sqlite')\nc.execute('create table t(a)')\n"
            "c.execute('insert into t values (4)')\nc.commit()\nresult = c.execute('select a from t').fetchone()[0]"
        ),
        4,
    ),
    "archives": (
        (
            "import zipfile, tarfile, gzip, lzma\nzipfile.ZipFile('o.zip', 'w').write(files['csv'], 'a')\n"
            "t = tarfile.open('o.tgz', 'w:gz')\nt.add(files['csv'], 'a')\nt.close()\n"
            "tarfile.open('o.tgz').extractall('x', filter='data')\nresult = open('x/a').read(4)"
        ),
        "city",
    ),
    "threads": (
        (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "result = sum(ThreadPoolExecutor(16).map(lambda x: x * x, range(10)))"
        ),
        285,
    ),
    "asyncio": (
        (
            "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01)\n    return n\n"
            "async def m():\n    return await asyncio.gather(f(1), f(2), asyncio.to_thread(lambda: 3))\n"
            "result = asyncio.run(m())"
        ),
        [1, 2, 3],
    ),
    "alarm": (
        (
            "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: 1 / 0)\n"
            "try:\n    signal.setitimer(signal.ITIMER_REAL, 0.05)\n    time.sleep(5)\n"
            "except ZeroDivisionError:\n    result = 'woken'"
        ),
        "woken",
    ),
    "temporary files": (
        (
            "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f:\n    f.write(b'x')\n"
            "    result = os.path.dirname(f.name) == os.getcwd()"
        ),
        True,
    ),
    "time zones": (
        (
            "import zoneinfo, datetime as d\n"
            "result = str(d.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())"
        ),
        "2:00:00",
    ),
    "warnings": ("import warnings, logging\nlogging.warning('l')\nwarnings.warn('w')\nresult = 1", 1),
    "the user's name": ("import getpass, os\nresult = [getpass.getuser(), os.uname().nodename]", ["cell", "cell"]),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_libraries_work_in_the_cell(full_cells, tmp_path, name):
    """The data libraries read the blob by its path, write to the scratch folder, use threads, and asyncio runs."""
    path = tmp_path / "blob"
    path.write_text(CSV)
    path.chmod(0o600)
    code, expected = SNIPPETS[name]
    job = Job("run_code", {"code": code}, (CellFile("csv", path),), CellLimits(wall_ms=30_000))
    outcome = full_cells.run(job)
    assert outcome.status == "ok", (outcome.error, outcome.traceback, outcome.printed)
    assert outcome.value == expected


def test_a_fork_after_threads_of_libraries_is_sound(full_cells):
    """DuckDB, Arrow, BLAS and Python threads together in each of twenty calls: all answer, none hangs."""
    code = (
        "import duckdb, threading, numpy as np, pyarrow as pa, pyarrow.compute as pc\n"
        "a = duckdb.sql('select sum(range)::bigint from range(100000)').fetchall()[0][0]\n"
        "b = pc.sum(pa.array(range(1000))).as_py()\n"
        "c = float((np.ones((60, 60)) @ np.ones((60, 60))).sum())\n"
        "t = [threading.Thread(target=lambda: duckdb.connect().execute('select 1').fetchall()) for _ in range(4)]\n"
        "[x.start() for x in t]; [x.join() for x in t]\nresult = [a, b, c]"
    )
    job = Job("run_code", {"code": code}, limits=CellLimits(wall_ms=20_000))
    for _ in range(20):
        outcome = full_cells.run(job)
        assert (outcome.status, outcome.value) == ("ok", [4999950000, 499500, 216000.0]), outcome


def test_a_working_directory_is_never_shown_whole(tmp_path, monkeypatch):
    """Of an import path that is no library folder only the packages in question are seen, not what lies beside them."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "store").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = [path for path in visible_paths(["pack"]) if path.startswith(str(tmp_path))]
    assert seen == [str(tmp_path / "pack")]
