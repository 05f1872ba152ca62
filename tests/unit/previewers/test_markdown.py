"""Markdown: lines as written, an outline, tables for SQL."""

import pytest

from blobs import Conversation
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.markdown import MARKDOWN, MarkdownReader

GUIDE = b"""---
title: x
---
# Guide

Read [the manual](https://example.org) **first**.

| name | count | note |
|------|------:|------|
| bolt | 0012 | a \\| b |
| nut | 7 | |
| short |

```sh
# no heading
| no | table |
|----|-------|
```

Second
------

## Third ##
"""


def open_markdown(content: bytes):
    return MarkdownReader().open(BytesSource(content))


class TestMarkdownReader(ReaderContract):
    reader = MarkdownReader()
    examples = {
        "guide": Example(GUIDE, MARKDOWN, GUIDE.count(b"\n")),
        "table alone": Example(b"| a | b |\n|---|---|\n| 1 | 2 |\n", MARKDOWN, 3),
        "CRLF": Example(b"# Head\r\n\r\nA [link](u) and **strong**.\r\n", MARKDOWN, 3),
    }


def test_outline():
    """Headings of both kinds, blocks of code, tables and links are counted; what stands in code is none of them."""
    assert open_markdown(GUIDE).shape() == {
        "headings": ["# Guide", "## Second", "## Third"],
        "code_blocks": 1,
        "tables": 1,
        "links": 1,
    }


def test_tables_are_rows(chat: Conversation):
    """Cells are text as written, an escaped bar is a bar, empty ones are null; SQL has the table."""
    view = open_markdown(GUIDE).part("table1")
    rows = [["bolt", "0012", "a | b"], ["nut", "7", None], ["short", None, None]]
    assert list(view.items(ItemRange(0, 3))) == rows
    blob = chat.attach(GUIDE)["blob"]
    query = f"select name, count, note from {blob}.table1"
    assert chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"] == rows


@pytest.mark.parametrize(
    ("content", "is_markdown"),
    [
        (GUIDE, True), (b"# Title\n\nA paragraph with `code` and a [link](http://x).\n", True),
        (b"#!/bin/sh\n# a comment\necho x\n", False), (b"# only a comment\n", False),
        (b"import os\n# Title\n\ndef f():\n    pass\nx = [a](b)\n", False), (b"plain prose.\nand more.\n", False),
    ],
)  # fmt: skip
def test_recognised(content, is_markdown):
    """Two kinds of marks; a comment or a rule alone is in any text."""
    assert (MarkdownReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_markdown


def test_hostile_texts_are_bounded():
    """Long lines of marks take linear time."""
    for line in (b"[" * 200_000, b"|" * 200_000, b"*" * 200_000, b"-" * 200_000, b"`" * 200_000, b"![](" * 50_000):
        view = open_markdown(b"# x\n\n" + line + b"\n| a |\n|---|\n" + line)
        view.shape()
        assert view.count == 6
