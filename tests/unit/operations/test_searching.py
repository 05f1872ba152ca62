"""What a search costs is told by the bytes it looks at, not by how many of them match."""

import sys
import time
from typing import Any

import pytest

from blobs.operations.search import search
from blobs.operations.tools import SearchCall
from blobs.reading.source import BytesSource
from previewers.text import TextReader

SIZE_BYTES = 8_000_000
LINE = b"%08d a line as logs have them, %s\n"
LINE_BYTES = len(LINE % (0, b"good"))


def log(bad_every: int) -> BytesSource:
    lines = (LINE % (each, b"baad" if each % bad_every == 0 else b"good") for each in range(SIZE_BYTES // LINE_BYTES))
    return BytesSource(b"".join(lines))


@pytest.mark.parametrize("ignore_case", [False, True])
def test_matches_are_counted_without_a_step_for_each(*, ignore_case: bool) -> None:
    """That every second line matches takes hardly more calls than that every thousandth does."""
    calls = SearchCall(blob="blob1", pattern="baad", ignore_case=ignore_case)
    steps = {every: counted(log(every), calls) for every in (2, 1000)}
    lines = SIZE_BYTES // LINE_BYTES
    assert steps[2][0] == (lines + 1) // 2
    assert steps[1000][0] == -(-lines // 1000)
    assert steps[2][1] < 2 * steps[1000][1] < lines // 2


def counted(source: BytesSource, call: SearchCall) -> tuple[int, int]:
    """How many lines match, and by how many calls of functions that was found out."""
    view = TextReader().open(source)
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        data = search(view, call, bytes_max=32_768, deadline=time.monotonic() + 60, source_bytes=source.size)
    finally:
        sys.setprofile(None)
    return data["found"], calls
