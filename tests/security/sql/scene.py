"""What hostile SQL aims at, and what counts as having got hold of it."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from blobs.domain import exact_json
from blobs.running import CellFile, CellLimits, CellRunner, Job, Outcome, open_pool
from blobs.running.runner import Tier

ROOT = Path(__file__).parents[3]
SECRET = "zq7f"
"""Part of every content, name and variable that is to stay unknown."""
ROWS = 5_000
OWN = ("/blobs/orders", *(f"/proc/self/fd/{number}" for number in range(3, 9)))
"""The paths that a table may have in a cell, and in a plain process."""


@dataclass(frozen=True)
class Scene:
    """A folder of files that are not the query's, and the one that is."""

    folder: Path
    table: Path

    def statements(self, sql: str) -> Iterable[str]:
        """The statement with the places filled in, once for every path that the table may have."""
        for own in OWN if "{own}" in sql else OWN[:1]:
            yield sql.format(folder=self.folder, name=self.folder.name, own=own)

    def state(self) -> dict[str, tuple[bytes, int, int]]:
        """Names, contents, modes and times of everything."""
        files = [self.table, *sorted(self.folder.rglob("*"))]
        return {
            str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mode, path.stat().st_mtime_ns)
            for path in files
        }

    def learned(self, shown: str, sql: str) -> list[str]:
        """What of the host is told, beyond what the statement said itself."""
        host = {
            SECRET,
            str(self.folder),
            self.folder.parent.name,
            str(ROOT),
            sys.prefix,
            sys.base_prefix,
            str(Path.home()),
        }
        return sorted(each for each in host if each in shown and each not in sql)


def set_scene(folder: Path) -> Scene:
    """Make the files, all of them readable by everybody: only the locks and the cell stand between."""
    aims = folder / "aims"
    aims.mkdir(parents=True)
    os.environ["SCENE_SECRET"] = f"variable {SECRET}"
    (aims / "canary.txt").write_text(f"canary {SECRET}")
    (aims / "secret.csv").write_text(f"name,value\nsecret,{SECRET}\n")
    (aims / "secret.json").write_text(json.dumps({"name": f"json {SECRET}"}))
    (aims / f"unlisted-{SECRET}.txt").write_text("x")
    (aims / "link").symlink_to(aims / "canary.txt")
    with duckdb.connect(str(aims / "secret.db")) as made:
        made.execute(f"create table t as select 'database {SECRET}' as s")
        made.execute(f"copy t to '{aims}/secret.parquet'")
        table = folder / "orders.parquet"
        made.execute(
            f"copy (select range as id, '00' || range as zip from range({ROWS})) to '{table}' (row_group_size 2048)"
        )
    return Scene(aims, table)


def open_cells(tier: Tier) -> CellRunner:
    """Cells that run the real task, as the service does."""
    return open_pool(
        tasks={"sql": "blobs.querying.sql_task:run"},
        trusted_tasks=("sql",),
        preload=("pyarrow", "pyarrow.parquet", "duckdb"),
        cells_max=1,
        tiers=(tier,),
    )


def ask(cells: CellRunner, scene: Scene, sql: str, *, wall_ms: int = 10_000, memory_bytes: int = 512 << 20) -> Outcome:
    """Ask over `blob1` as the service does, under the limits of the cell."""
    arguments: dict[str, Any] = {
        "sql": sql,
        "tables": {"blob1": "orders"},
        "rows_max": 10_000,
        "memory_bytes": memory_bytes // 2,
        "wall_ms": wall_ms,
        "result_bytes_max": 64 << 20,
    }
    limits = CellLimits(wall_ms=wall_ms, memory_bytes=memory_bytes, result_bytes=65 << 20)
    return cells.run(Job("sql", arguments, (CellFile("orders", scene.table),), limits))


def said(outcome: Outcome) -> str:
    """All that an outcome could tell a model."""
    return "\n".join(
        [
            exact_json.text(outcome.value),
            exact_json.text(dict(outcome.error or {})),
            outcome.printed,
            outcome.payload.decode(errors="replace"),
        ]
    )


def breach(scene: Scene, sql: str, run: Callable[[str], str]) -> str:
    """What `run` of the statement got hold of or changed; empty for nothing."""
    before = scene.state()
    found = scene.learned(run(sql), sql)
    if found:
        return f"told {found}"
    after = scene.state()
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return f"changed {changed}" if changed else ""
