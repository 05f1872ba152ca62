"""The way back, through the front door: programs that answer for the task, in the form of a task and in others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from blobs import Conversation
from tests.security.cell.test_exhaustion import forging

VALUES = {
    "a number": b"5",
    "null": b"null",
    "a list": b"[]",
    "a type that is a number": b'{"payload_type":7}',
    "a type that is a path": b'{"payload_type":"../../x"}',
    "a type that adds a header": b'{"payload_type":"text/html\\r\\nX-Mine: y"}',
    "a type in a list": b'{"payload_type":["text/html"]}',
    "half a character as a type": b'{"payload_type":"\\ud800"}',
    "columns that are none": b'{"payload_type":"application/vnd.apache.parquet","columns":5}',
    "a count that is none": b'{"payload_type":"application/vnd.apache.parquet","count":"x"}',
    "a count below none": b'{"payload_type":"application/vnd.apache.parquet","count":-1}',
    "a note that is none": b'{"result":1,"note":{"a":1}}',
    "a long note": b'{"result":1,"note":"' + b"n" * 5_000 + b'"}',
}


@pytest.fixture
def ask(chat: Conversation):
    chat.attach(b"a,b\n1,2\n", type="text/csv")

    def run(body: str) -> dict:
        return chat.call("blob_code", {"blob": "blob1", "language": "python", "code": forging(body)})

    return run


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_another_form_is_refused(ask, name):
    """Each field that the host reads has its type and its bounds; the model hears of a crash, the host goes on."""
    value = b'{"value":' + VALUES[name] + b"}"
    answer = ask(f"frame(b'V', {value!r})")
    assert answer["ok"] is False
    assert "crashed" in answer["message"]
    assert ask("frame(b'V', b'{\"value\":{\"result\":1}}')")["data"]["result"] == 1


def test_a_fault_that_is_too_long_is_refused(ask):
    """A forged error cannot flood the conversation."""
    fault = 'b\'{"status":"error","fault":{"code":"x","message":"\' + b\'m\' * SIZE + b\'","hint":""},"traceback":""}\''
    assert "crashed" in ask(f"frame(b'V', {fault.replace('SIZE', '1_000_000')})")["message"]
    assert len(ask(f"frame(b'V', {fault.replace('SIZE', '16_000')})")["message"]) < 5_000


def test_a_payload_that_is_not_what_it_says_is_bytes(ask):
    """A forged table is recognised by its bytes, in a cell, and no reader of tables is asked for it."""
    value = b'{"value":{"payload_type":"application/vnd.apache.parquet","columns":["a BIGINT"],"count":3}}'
    answer = ask(f"frame(b'P', b'no table' * 100); frame(b'V', {value!r})")
    assert answer["data"]["type"] != "application/vnd.apache.parquet"


HOST = """
import sys
from blobs import Blobs

FORMATS = ("pyarrow.parquet", "pyarrow.ipc", "pyarrow.orc", "duckdb", "pandas", "PIL.Image", "lxml.etree", "pypdf")

with Blobs.open(":memory:", cells_max=1) as blobs:
    chat = blobs.conversation()
    chat.attach(b'{"a": [1, 2]}')
    for arguments in (
        {"code": "select * from blob1, range(100000)", "save": True},
        {"language": "python", "code": "import pyarrow as pa\\npa.table({'x': range(100_000)})"},
        {"language": "python", "code": "from PIL import Image\\nImage.new('L', (9, 9))"},
        {"blob": "blob2", "code": "select count(*) from blob2"},
        {"blob": "blob2", "language": "python", "code": "blob2.df()", "save_as": "csv"},
    ):
        answer = chat.call("blob_code", {"blob": "blob1", **arguments})
        assert answer["ok"], answer
    assert chat.call("blob_read", {"blob": "blob2"})["ok"]
    assert chat.call("blob_search", {"blob": "blob2", "pattern": "7"})["ok"]
print([name for name in FORMATS if name in sys.modules])
"""


def test_the_host_decodes_no_format_that_a_cell_made():
    """Parquet, Arrow and pictures go from the cell to the store as bytes; they are read in cells again.

    The libraries that could decode them are not even loaded in the host.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", HOST],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "[]\n"
