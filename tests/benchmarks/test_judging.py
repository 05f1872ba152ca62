"""The verdicts of the table: at the size of a bar, with memory, and where a peer gave up."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import report
from tests.benchmarks.bench import Bench, GaveUpError, Pair, Row
from tests.benchmarks.judging import judged

MB = 10**6


def quick() -> None:
    """Less work than `slow`."""


def slow() -> None:
    time.sleep(0.05)


def gives_up() -> None:
    slow()
    raise GaveUpError("no memory")


def verdict(folder: Path, pair: Pair, *, size: int = MB, **more: Any) -> dict[str, Any]:
    row = Row(
        **{"name": "work", "beside": "a peer", "bar": "≤ 1×", "most": 1.0, "at": MB, **more}, prepare=lambda _: pair
    )
    return judged(row, Bench(folder, folder, size))


def test_a_bar_is_met_or_missed_at_its_size(tmp_path: Path) -> None:
    """At another size the ratio stands without a verdict."""
    assert verdict(tmp_path, Pair(quick, slow))["is_met"] is True
    assert verdict(tmp_path, Pair(slow, quick))["is_met"] is False
    other = verdict(tmp_path, Pair(slow, quick), size=2 * MB)
    assert (other["is_met"], other["ratio"] > 1) == (None, True)
    assert verdict(tmp_path, Pair(slow, quick), size=2 * MB, at=0)["is_met"] is False


def test_memory_is_a_bar_of_every_row(tmp_path: Path) -> None:
    """A server that grows by 200 MB is missed at any size, and the table says by what."""
    found = verdict(tmp_path, Pair(lambda: bytearray(b"x") * (200 * MB), slow, repeat=2), size=2 * MB)
    assert (found["is_met"], found["missed"]) == (False, ["memory of the server"])
    assert "NO: memory of the server" in report.line(found)


def test_what_else_is_missed_is_said(tmp_path: Path) -> None:
    """A row may have more bars than its ratio."""
    found = verdict(tmp_path, Pair(quick, slow, misses=("error at p95",)))
    assert (found["is_met"], found["missed"]) == (False, ["error at p95"])


def test_a_peer_that_gives_up_bounds_the_ratio(tmp_path: Path) -> None:
    """Faster than the attempt is faster than the work; slower than it says nothing."""
    found = verdict(tmp_path, Pair(quick, gives_up))
    assert found["is_met"] is True
    assert "< 1/" in report.line(found)
    assert "no memory" in report.line(found)
    slower = verdict(tmp_path, Pair(lambda: time.sleep(0.2), gives_up))
    assert slower["is_met"] is None


def test_a_row_that_fails_says_so(tmp_path: Path) -> None:
    """And has no verdict."""

    def fails() -> None:
        raise ValueError("out of luck")

    found = verdict(tmp_path, Pair(fails, quick))
    assert "ValueError: out of luck" in report.line(found)
    assert "is_met" not in found


@pytest.mark.parametrize(("limit", "is_met"), [(0.01, True), (0.000001, False)])
def test_a_bar_may_be_a_time(tmp_path: Path, limit: float, is_met: bool) -> None:
    """Seconds in place of a peer."""
    assert verdict(tmp_path, Pair(lambda: time.sleep(0.001), limit))["is_met"] is is_met


def test_rows_are_added_to_a_table_by_work_size_and_peer(tmp_path: Path) -> None:
    """A row measured anew replaces its earlier self; the others stay, by size."""
    first = [verdict(tmp_path, Pair(slow, quick), size=size) for size in (MB, 2 * MB)]
    table = tmp_path / "table"
    report.write(table, {"machine": {}, "seed": 1, "sizes": [], "rows": first})
    anew = {"machine": {}, "seed": 1, "sizes": [], "rows": [verdict(tmp_path, Pair(quick, slow))]}
    rows = report.with_rows_of(anew, table.with_suffix(".json"))["rows"]
    assert [(each["size"], each["is_met"]) for each in rows] == [(MB, True), (2 * MB, None)]
