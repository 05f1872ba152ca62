"""The table: its rows are functions that prepare the work and the same work by a peer."""

from collections.abc import Callable

from tests.benchmarks.bench import Bench, Pair, Row

KIB, MB, GB = 1024, 10**6, 10**9
ROWS: list[Row] = []


def row(
    name: str, *, beside: str, bar: str, most: float, by: str = "wall", sizes: tuple[int, ...] | None = None
) -> Callable[[Callable[[Bench], Pair]], Callable[[Bench], Pair]]:
    """Enter a function into the table; `sizes` are the sizes of a run for which it is measured, all without."""

    def enter(prepare: Callable[[Bench], Pair]) -> Callable[[Bench], Pair]:
        ROWS.append(Row(name, beside, bar, most, by, sizes, prepare))
        return prepare

    return enter
