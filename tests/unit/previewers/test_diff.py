"""Diffs: lines as written, with what changes in each file."""

import pytest

from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.diff import DIFF, DiffReader

GIT = b"""commit 0123456789abcdef0123456789abcdef01234567
Author: A <a@b>

    Say why

diff --git a/one.py b/one.py
index 111..222 100644
--- a/one.py
+++ b/one.py
@@ -1,3 +1,4 @@ def f():
 same
--- not a header
+added
++++ also added
 same
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
\\ No newline at end of file
diff --git a/picture.png b/picture.png
index 1..2
Binary files a/picture.png and b/picture.png differ
"""
PLAIN = b"--- a.txt\t2024-01-01\n+++ b.txt\t2024-01-02\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n"


def open_diff(content: bytes):
    return DiffReader().open(BytesSource(content))


class TestDiffReader(ReaderContract):
    reader = DiffReader()
    examples = {
        "git": Example(GIT, DIFF, GIT.count(b"\n")),
        "plain": Example(PLAIN, DIFF, 6),
        "CRLF": Example(PLAIN.replace(b"\n", b"\r\n"), DIFF, 6),
    }


def test_changes_are_counted_in_hunks_only():
    """Lines that look like headers inside a hunk are changes; a deleted file goes by its old name."""
    assert open_diff(GIT).shape() == {
        "files": 3,
        "added": 2,
        "removed": 2,
        "hunks": 2,
        "changes": {
            "one.py": "+2 -1 in 1 hunk",
            "old.txt": "+0 -1 in 1 hunk",
            "picture.png": "+0 -0 in 0 hunks",
        },
    }


def test_a_file_is_a_part():
    """The lines of a file are a part that is a diff itself."""
    part = open_diff(GIT).part("old.txt")
    lines = list(part.items(ItemRange(0, part.count)))
    assert lines[0] == "diff --git a/old.txt b/old.txt"
    assert lines[-1] == "\\ No newline at end of file"
    assert open_diff(part.slice(ItemRange(0, part.count))[0]).shape()["removed"] == 1


def test_hunks_are_walked_to_their_counts():
    """A hunk ends when its counts are used up, whatever follows; a hunk that is cut ends with the text."""
    two = PLAIN + b"--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n"
    assert open_diff(two).shape()["files"] == 2
    assert open_diff(PLAIN[:-3]).shape()["added"] == 1


@pytest.mark.parametrize(
    ("content", "is_diff"),
    [(GIT, True), (PLAIN, True), (b"--- a title ---\n+++ b\nprose\n", False), (b"+1 -1\n@@ x @@\n", False),
     (b"# How to\n```\n" + PLAIN + b"```\n", False)],
)  # fmt: skip
def test_recognised(content, is_diff):
    """Headers and a hunk near the beginning, and not inside a block of code."""
    assert (DiffReader().sniff(take_sample(BytesSource(content), None)).level > 0) == is_diff
