"""Unified diffs: lines, with what changes in each file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Confidence, Part, Sample, View
from blobs.reading.source import Source
from previewers.json_sniff import utf8_head
from previewers.structured_text import LinesView, Structure, StructuredTextView, counted

DIFF = "text/x-diff"
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_COMBINED_HUNK = re.compile(r"@@@+ (?:-\d+(?:,\d+)? )+\+\d+(?:,\d+)? @@@+")
_GIT = re.compile(r"diff --(?:git (?:\"?a/)?.* (?:\"?b/)?(?P<git>.*?)\"?|(?:cc|combined) (?P<combined>.*))")
_HEADER = re.compile(r"^(?:diff --git \S|diff --(?:cc|combined) \S|--- \S.*\n\+\+\+ \S.*\n@@ -\d)", re.MULTILINE)
_HUNK_LINE = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_COMMIT = re.compile(r"(?:commit|From) [0-9a-f]{40}\b")
_BEFORE_LINES_MAX = 100
_HEADERS_OF_GIT = re.compile(
    r"^(?:index [0-9a-f]+\.\.|(?:new|deleted) file mode |similarity index |rename from |Binary )", re.M
)


@dataclass(slots=True)
class FileChange:
    """The changes of one file: where its lines begin and end, and how many lines and hunks there are."""

    path: str
    start: int
    stop: int = 0
    added: int = 0
    removed: int = 0
    hunks: int = 0


class DiffView(StructuredTextView):
    """The lines of a diff, as written.

    `shape` tells the files with the lines that are added and removed, counted within hunks only. The lines of each file
    are a part named by its path (the new one; of a file that is deleted the old one).
    """

    type: str = DIFF

    def examine(self) -> Structure:
        """Walk the hunks, line by line."""
        changes = list(file_changes(self.head_lines()))
        structure = Structure(notes=self.head_note)
        told: dict[str, str] = {}
        for change in changes:
            name = _free_name(change.path, told)
            hunks = "1 hunk" if change.hunks == 1 else f"{change.hunks} hunks"
            told[name] = f"+{change.added} -{change.removed} in {hunks}"
            span = ItemRange(change.start, change.stop)
            structure.add_part(Part(name, "lines", len(span)), partial(LinesView, self, span))
        structure.shape = {
            "files": len(changes),
            "added": sum(change.added for change in changes),
            "removed": sum(change.removed for change in changes),
            "hunks": sum(change.hunks for change in changes),
            "changes": counted(told, "files"),
        }
        return structure


class DiffReader:
    """Unified diffs, plain or by git, also behind the message of a commit."""

    name = "diff"
    media_types = (DIFF,)
    has_signature = False
    aliases = ("text/x-patch", "text/diff", "text/patch", "application/x-diff", "application/x-patch")
    is_light = True

    def sniff(self, sample: Sample) -> Confidence:
        """The header of a file's changes and a hunk, near the beginning and in no block of code."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace").replace("\r\n", "\n")
        found = _HEADER.search(head)
        if found is not None:
            before = head[: found.start()]
            has_change = _HUNK_LINE.search(head, found.start()) or _HEADERS_OF_GIT.search(head, found.start())
            if has_change and "```" not in before and before.count("\n") <= _BEFORE_LINES_MAX:
                return Confidence(60, DIFF)
        return Confidence(1, DIFF) if is_declared and head.strip() else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the diff; never refuses."""
        return DiffView(source)


def file_changes(lines: Iterable[tuple[int, str]]) -> Iterator[FileChange]:
    """The files that a diff changes, in order; `lines` come with their index."""
    walk = _Walk()
    for number, line in lines:
        yield from walk.take(number, line)
    yield from walk.end()


class _Walk:
    """The state between two lines of a diff."""

    def __init__(self) -> None:
        self._file: FileChange | None = None
        self._old_left = self._new_left = 0
        self._old_path = ""
        self._header_at = 0
        self._number = 0

    def take(self, number: int, line: str) -> Iterator[FileChange]:
        self._number = number + 1
        if (self._old_left > 0 or self._new_left > 0) and self._in_hunk(line):
            return
        self._old_left = self._new_left = 0
        if git := _GIT.fullmatch(line):
            yield from self._begin(number, git["git"] or git["combined"] or "")
        elif line.startswith("--- "):
            self._old_path, self._header_at = _path(line), number
        elif line.startswith("+++ ") and self._header_at == number - 1:
            path = _path(line)
            path = self._old_path if path == "/dev/null" else path
            if self._file is not None and not self._file.hunks and self._file.start < self._header_at:
                self._file.path = path  # the header of git stands before it
            else:
                yield from self._begin(self._header_at, path)
        elif _COMMIT.match(line):
            yield from self.end(number)
        elif self._file is not None and (hunk := _HUNK.match(line)):
            self._file.hunks += 1
            self._old_left, self._new_left = int(hunk[1] or 1), int(hunk[2] or 1)
        elif self._file is not None and _COMBINED_HUNK.match(line):
            self._file.hunks += 1

    def end(self, number: int | None = None) -> Iterator[FileChange]:
        if self._file is not None:
            self._file.stop = self._number if number is None else number
            yield self._file
        self._file = None

    def _begin(self, number: int, path: str) -> Iterator[FileChange]:
        yield from self.end(number)
        self._file = FileChange(path, number)

    def _in_hunk(self, line: str) -> bool:
        """Count a line of a hunk; false where it is none, as in a diff that somebody edited."""
        assert self._file is not None  # a hunk has a file
        sign = line[:1]
        if sign == "+":
            self._file.added += 1
            self._new_left -= 1
        elif sign == "-":
            self._file.removed += 1
            self._old_left -= 1
        elif sign in (" ", ""):
            self._old_left -= 1
            self._new_left -= 1
        return sign in ("+", "-", " ", "", "\\")


def _path(line: str) -> str:
    """The path of a header line, without its time and git's `a/` and `b/`."""
    path = line[4:].partition("\t")[0].strip().strip('"')
    return path[2:] if path[:2] in ("a/", "b/") else path


def _free_name(path: str, taken: dict[str, Any]) -> str:
    name, number = path or "?", 1
    while name in taken:
        number += 1
        name = f"{path}#{number}"
    return name
