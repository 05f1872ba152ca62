"""Tables as Parquet files, and a child process that runs tasks."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blobs.querying.columnar import write_parquet
from blobs.reading.reader import Table
from tests.unit.querying.child import Child


@pytest.fixture(scope="session")
def child() -> Iterator[Child]:
    """One process for all tests of this folder: starting it costs more than most calls."""
    running = Child()
    yield running
    running.close()


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., Path]:
    """Writes a table of rows as Parquet and answers the file."""

    def write(name: str, columns: list[str], rows: list[list[Any]], *, is_text: bool = False) -> Path:
        target = io.BytesIO()
        write_parquet(Table(columns, rows=lambda: iter(rows), is_text=is_text), target)
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(target.getvalue())
        return path

    return write
