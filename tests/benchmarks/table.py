"""The table: its rows are functions that prepare the work and the same work by a peer."""

from collections.abc import Callable
from typing import Any

from tests.benchmarks.bench import Bench, Pair, Row

KIB, MB, GB = 1024, 10**6, 10**9
ROWS: list[Row] = []


def row(name: str, **more: Any) -> Callable[[Callable[[Bench], Pair]], Callable[[Bench], Pair]]:
    """Enter a function into the table; `more` are the fields of `Row`."""

    def enter(prepare: Callable[[Bench], Pair]) -> Callable[[Bench], Pair]:
        ROWS.append(Row(name=name, prepare=prepare, **more))
        return prepare

    return enter
