"""What the turn loop does again and again, counted: calls of functions, SQL, flushes and memory, which no clock blurs.

Each bound is about one and a half of what was counted when it was written, so that work that doubles fails. Whoever
makes a path cheaper lowers its bound.
"""

import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from blobs import Blobs, Conversation
from blobs.storage.sqlite_session import SqliteSession
from blobs.storage.stored_blob import StoredBlob

LINES = 20_000
RESULT = {"rows": [{"id": i, "name": f"name {i}", "amount": i * 1.25, "tags": ["x", "y"]} for i in range(620)]}
"""About 40 KB as JSON."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one run of the work."""

    calls: int
    """Of functions, Python's and C's, in the caller's thread."""
    statements: int
    commits: int
    flushes: int
    """Of files by this process; a commit flushes once more."""
    read_bytes: int
    """Of blobs."""
    peak_bytes: int
    """Of memory that Python gave out meanwhile."""


class Counter:
    """Counts what happens below a call, by the hooks that the interpreter, SQLite and the system offer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.flushes = self.read_bytes = self._calls = 0
        connect, read = SqliteSession._connect, StoredBlob.read

        def traced(session: SqliteSession) -> Any:
            connection = connect(session)
            connection.set_trace_callback(self.statements.append)
            return connection

        def counted(blob: StoredBlob, start: int, stop: int) -> bytes:
            piece = read(blob, start, stop)
            self.read_bytes += len(piece)
            return piece

        monkeypatch.setattr(SqliteSession, "_connect", traced)
        monkeypatch.setattr(StoredBlob, "read", counted)
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._flushing(getattr(os, name)))

    def _flushing(self, flush: Callable[[int], None]) -> Callable[[int], None]:
        def counted(file: int) -> None:
            self.flushes += 1
            flush(file)

        return counted

    def _count(self, frame: Any, event: str, argument: Any) -> None:
        self._calls += event in ("call", "c_call")

    def counts(self, work: Callable[[], Any]) -> Counts:
        """Of the work, when it has been done before."""
        work()
        self.statements.clear()
        self.flushes = self.read_bytes = self._calls = 0
        sys.setprofile(self._count)
        try:
            work()
        finally:
            sys.setprofile(None)
        calls, statements, flushes, read_bytes = self._calls, len(self.statements), self.flushes, self.read_bytes
        commits = sum(each.lower().startswith("commit") for each in self.statements)
        return Counts(calls, statements, commits, flushes, read_bytes, _peak_bytes(work))


def _peak_bytes(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch)


@pytest.fixture
def kept(counter: Counter, tmp_path: Path) -> Iterator[Conversation]:
    """A conversation on the disk, in which blob1 is a log of 0.8 MB."""
    with Blobs.open(tmp_path / "store") as blobs:
        chat = blobs.conversation()
        chat.attach(
            "".join(f"{i:09d} INFO a line as logs have them\n" for i in range(LINES)).encode(), type="text/plain"
        )
        yield chat


def offloads(chat: Conversation) -> Callable[[], Any]:
    numbers = iter(range(10**6))

    def work() -> None:
        with chat.turn() as turn:
            assert "blob" in turn.offload({**RESULT, "number": next(numbers)})

    return work


def small_turns(chat: Conversation) -> Callable[[], Any]:
    numbers = iter(range(10**6))

    def work() -> None:
        with chat.turn() as turn:
            turn.offload({"number": next(numbers)})

    return work


def reads(chat: Conversation) -> Callable[[], Any]:
    return lambda: chat.call("blob_read", {"blob": "blob1", "start": LINES // 2, "count": 50})


def searches(chat: Conversation) -> Callable[[], Any]:
    return lambda: chat.call("blob_search", {"blob": "blob1", "pattern": "INFO", "limit": 5})


def describes(chat: Conversation) -> Callable[[], Any]:
    return lambda: chat.describe("blob1")


def bounds_missed(found: Counts, most: Counts) -> dict[str, tuple[int, int]]:
    """By name, what was counted and what may be."""
    pairs = zip(fields(Counts), astuple(found), astuple(most), strict=True)
    return {each.name: (had, may) for each, had, may in pairs if had > may}


MOST = {
    offloads: Counts(calls=40_000, statements=36, commits=1, flushes=1, read_bytes=0, peak_bytes=1_120_000),
    small_turns: Counts(calls=700, statements=21, commits=1, flushes=1, read_bytes=0, peak_bytes=20_000),
    reads: Counts(calls=3_000, statements=12, commits=0, flushes=0, read_bytes=64_000, peak_bytes=480_000),
    searches: Counts(calls=5_200, statements=12, commits=0, flushes=0, read_bytes=800_000, peak_bytes=2_200_000),
    describes: Counts(calls=600, statements=4, commits=0, flushes=0, read_bytes=0, peak_bytes=8_200),
}


@pytest.mark.parametrize("path", MOST, ids=lambda path: path.__name__)
def test_hot_paths_do_no_more_than_they_did(kept: Conversation, counter: Counter, path: Any) -> None:
    """A 40 KB result as a handle, a turn, a handle again, 50 lines, a search with a limit: each within its bounds."""
    assert bounds_missed(counter.counts(path(kept)), MOST[path]) == {}


def test_a_turn_costs_the_same_however_many_went_before(kept: Conversation, counter: Counter) -> None:
    """The hundredth turn of a conversation runs the statements and calls of the tenth."""
    work = small_turns(kept)
    for _ in range(10):
        work()
    tenth = counter.counts(work)
    for _ in range(90):
        work()
    hundredth = counter.counts(work)
    assert hundredth.statements == tenth.statements
    assert hundredth.calls <= tenth.calls * 1.1


def test_the_bounds_see_work_that_is_done_twice(kept: Conversation, counter: Counter) -> None:
    """Negative control: any of these paths taken twice is over a bound."""
    for path, most in MOST.items():
        work = path(kept)
        assert bounds_missed(counter.counts(lambda work=work: (work(), work())), most)
