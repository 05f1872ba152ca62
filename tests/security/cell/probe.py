"""Run the corpus on this host as this user, and say in JSON what tier was had and which attacks succeeded.

`python -m tests.security.cell.probe TIER,TIER… FOLDER STEP` runs every STEP-th attack, and the bombs of memory and
number; run by the tests of tiers in pretended surroundings.
"""

import io
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blobs.domain.errors import SandboxError
from blobs.running import CellFile, CellLimits, CellRunner, Job, Outcome, open_pool
from tests.security.cell.bombs import COUNTS, MEMORY
from tests.security.cell.corpus import ATTACKS
from tests.security.cell.scene import set_scene

CODE = """
import asyncio, threading, json
text = open(files["blob"]).read()
again = open(files["blob"]).read()
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
reply.write(text.encode())
import duckdb, pandas
assert duckdb.sql(f"select count(*) from read_csv('{files['blob']}', header=false)").fetchall() == [(1,)]
assert len(pandas.read_csv(files["blob"], header=None)) == 1
result = [text == again, asyncio.run(asyncio.sleep(0, "slept")), len(bytearray(10 << 20))]
try: bytearray(1 << 30)
except MemoryError: result.append("bounded")
"""


def unbounded(cells: CellRunner) -> list[str]:
    """The bombs that got more than they may have."""
    limits = CellLimits(wall_ms=8_000, memory_bytes=1 << 28)

    def run(code: str) -> Outcome:
        return cells.run(Job("code", {"code": code}, limits=limits))

    had = [name for name, code in MEMORY.items() if run(f"{code}\nresult = 'had'").value == "had"]
    return had + [name for name, (code, most) in COUNTS.items() if (run(code).value or 0) > most]


class Heard(io.BytesIO):
    """Tells when the first bytes of a payload are there."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()

    def write(self, chunk: Any, /) -> int:
        self.event.set()
        return super().write(chunk)


def account(cells: CellRunner, tasks: Mapping[str, str]) -> list[int]:
    """While a cell of another pool has all the threads it gets: how many one of these gets, and its limit of them."""
    count = COUNTS["threads"][0]
    # Longer than the test waits: the other cell has to end with its pool.
    limits = CellLimits(wall_ms=600_000, memory_bytes=1 << 28)
    heard = Heard()
    holding = Job("code", {"code": f"{count}\nreply.write(b'held')\nwhile True: time.sleep(1)"}, limits=limits)
    counting = f"{count}\nimport resource\nresult = [result, resource.getrlimit(resource.RLIMIT_NPROC)[0]]"
    with open_pool(tasks=tasks, trusted_tasks=(), preload=(), cells_max=1, tiers=(cells.tier,)) as other:
        held = threading.Thread(target=lambda: other.run(holding, payload_to=heard))
        held.start()
        assert heard.event.wait(30)
        found: list[int] = cells.run(Job("code", {"code": counting}, limits=limits)).value
        assert held.is_alive()
    held.join()
    return found


def main() -> None:
    tiers = tuple(sys.argv[1].split(","))
    tasks = {"attack": "tests.security.cell.attack_task:run", "code": "tests.unit.running.tasks:run_code"}
    found: dict[str, object] = {"user": os.getuid()}
    with (
        set_scene(Path(sys.argv[2])) as scene,
        open_pool(
            tasks=tasks, trusted_tasks=("attack",), preload=("pandas", "duckdb"), cells_max=1, tiers=tiers
        ) as cells,
    ):
        found |= cells.describe()
        private = scene.folder.parent / "private"
        private.write_text("private")
        private.chmod(0o600)
        try:
            job = Job(
                "code", {"code": CODE}, (CellFile("blob", private),), CellLimits(wall_ms=8_000, memory_bytes=320 << 20)
            )
            outcome = cells.run(job)
            found["work"] = [outcome.status, outcome.value, outcome.payload.decode()]
        except SandboxError as error:
            found["refused"] = str(error)
        if cells.describe()["runs_untrusted"]:
            found["succeeded"] = {
                attack.name: evidence
                for attack in ATTACKS[:: int(sys.argv[3])]
                if (evidence := scene.evidence(cells, attack)) is not None
            }
            found["unbounded"] = unbounded(cells)
            found["account"] = account(cells, tasks)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
