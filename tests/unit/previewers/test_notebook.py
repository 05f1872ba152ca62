"""Notebooks: cells with their outputs as text, pictures as parts."""

import base64
import json

import pytest

from blobs import Conversation
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.notebook import NOTEBOOK, NotebookReader
from tests.material import fixture

PICTURE = base64.b64encode(fixture("halves.png")).decode()
CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
    {
        "cell_type": "code",
        "execution_count": 2,
        "metadata": {},
        "source": "print('x')\nframe",
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mx\x1b[0m\n"]},
            {
                "output_type": "execute_result",
                "data": {"text/plain": ["   a\n", "0  1"], "text/html": "<table></table>"},
                "execution_count": 2,
                "metadata": {},
            },
        ],
    },
    {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "source": [],
        "outputs": [
            {"output_type": "display_data", "data": {"image/png": PICTURE, "text/plain": "<Figure>"}, "metadata": {}},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": []},
        ],
    },
]
BOOK = json.dumps(
    {"cells": CELLS, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}, indent=1
).encode()
OLD = json.dumps(
    {
        "metadata": {"name": "old"},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": [{"cell_type": "code", "input": ["1+1"], "prompt_number": 1, "outputs": [
            {"output_type": "pyout", "prompt_number": 1, "text": ["2"]}]}]}],
    }
).encode()  # fmt: skip


def open_book(content: bytes):
    return NotebookReader().open(BytesSource(content))


class TestNotebookReader(ReaderContract):
    reader = NotebookReader()
    examples = {
        "format 4": Example(BOOK, NOTEBOOK, 3),
        "format 3": Example(OLD, NOTEBOOK, 1),
        "no cells": Example(b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', NOTEBOOK, 0),
    }


def test_cells_are_text():
    """A cell says its kind, its source and what it put out, as it shows on a screen."""
    view = open_book(BOOK)
    assert list(view.items(ItemRange(0, 3))) == [
        "[markdown]\n# Title\ntext",
        "[code 2]\nprint('x')\nframe\n--- output (stdout)\nx\n--- output (execute_result)\n   a\n0  1",
        "[code]\n\n--- output (display_data)\n[image/png]\n<Figure>\n--- output (error)\nValueError: bad",
    ]
    assert view.shape() == {
        "nbformat": 4,
        "language": "python",
        "cells": {"markdown": 1, "code": 2},
        "headings": ["# Title"],
    }


def test_pictures_are_parts():
    """A picture is opened as what it is."""
    view = open_book(BOOK)
    assert [part.name for part in view.parts] == ["cell2.png"]
    assert view.part("cell2.png").facts()["width"] == 60


def test_long_outputs_are_cut_and_reached(chat: Conversation):
    """An output is cut with a mark; the whole is in the JSON by path, and in SQL."""
    long = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "x", "outputs": [
        {"output_type": "stream", "name": "stdout", "text": "y" * 5000}]}  # fmt: skip
    content = json.dumps({"cells": [long], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    blob = chat.attach(content)["blob"]
    (cell,) = chat.call("blob_read", {"blob": blob})["data"]["items"]
    assert "…(+" in cell
    assert len(cell) < 2200
    whole = chat.call("blob_read", {"blob": blob, "path": "/cells/0/outputs/0/text"})["data"]["items"]
    assert whole == ["y" * 5000]
    query = f"select kind, execution, length(output) from {blob}"
    rows = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"]
    assert rows == [["code", 1, 5000]]


@pytest.mark.parametrize("content", [b"{}", b'{"nbformat": 4}', b'{"cells": 3, "nbformat": 4}', b"[]", b"{", b"\xff"])
def test_what_is_no_notebook_is_unreadable(content):
    """JSON without cells is left to the reader of JSON."""
    with pytest.raises(UnreadableError):
        open_book(content)


def test_odd_cells_are_borne():
    """Cells and outputs of wrong kinds are told as far as they go."""
    odd = {"cells": [1, {}, {"cell_type": 5, "source": 3, "outputs": "x"}, {"outputs": [1, {"data": 2}, {"text": {}}]}]}
    content = json.dumps({**odd, "metadata": 7, "nbformat": 4}).encode()
    assert len(list(open_book(content).items(ItemRange(0, 4)))) == 4
    damaged = BOOK.replace(PICTURE[:8].encode(), b"%%%%%%%%", 1)
    with pytest.raises(UnreadableError):
        open_book(damaged).part("cell2.png")


@pytest.mark.parametrize(
    ("content", "is_book"),
    [
        (BOOK, True),
        (OLD, True),
        (b'{"cells": [1]}', False),
        (b'{"metadata": {}, "nbformat": 4}', False),
        (b"{}", False),
    ],
)
def test_recognised(content, is_book):
    """An object with cells and the number of a format."""
    assert (NotebookReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_book
