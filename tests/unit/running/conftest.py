"""Cells for the tests: one runner for all tests that do not disturb it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from blobs.running import CellLimits, CellRunner, Job, Outcome, open_pool

MODULE = "tests.unit.running.tasks"
TASKS = {
    name: f"{MODULE}:{name}"
    for name in ("echo", "stream", "say", "fail", "end", "value", "remember", "draw", "warmed", "run_code")
}


def open_cells(**options: Any) -> CellRunner:
    """A runner of the test tasks, without libraries: it starts in a tenth of a second."""
    return open_pool(**{"tasks": TASKS, "preload": (), "cells_max": 2, **options})


@pytest.fixture(scope="session")
def cells() -> Iterator[CellRunner]:
    with open_cells() as runner:
        assert runner.tier == "A", runner.reasons
        yield runner


@pytest.fixture
def run(cells: CellRunner) -> Callable[..., Outcome]:
    """Run one task by name, with short limits."""

    def run_task(task: str, *, files: tuple = (), payload_to: Any = None, limits: dict | None = None, **arguments: Any):
        bounds = CellLimits(**{"wall_ms": 5_000, "memory_bytes": 256 << 20, **(limits or {})})
        return cells.run(Job(task, arguments, files, bounds), payload_to=payload_to)

    return run_task
