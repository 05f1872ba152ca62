"""The runner's contract, kept by the full cell and by the plain process."""

from collections.abc import Iterator

import pytest

from blobs.running import CellRunner, open_pool
from blobs.testing.runner import TASKS, RunnerContract


class TestFullCell(RunnerContract):
    @pytest.fixture
    def runner(self) -> Iterator[CellRunner]:
        with open_pool(tasks=TASKS, preload=(), tiers=("A",)) as runner:
            yield runner


class TestPlainProcess(RunnerContract):
    @pytest.fixture
    def runner(self) -> Iterator[CellRunner]:
        with open_pool(tasks=TASKS, trusted_tasks=TASKS.keys(), preload=(), tiers=("none",)) as runner:
            yield runner
