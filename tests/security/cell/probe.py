"""Run the corpus on this host as this user, and say in JSON what tier was had and which attacks succeeded.

`python -m tests.security.cell.probe TIER,TIER… FOLDER`; run by the tests of tiers in pretended surroundings.
"""

import json
import os
import sys
from pathlib import Path

from blobs.domain.errors import SandboxError
from blobs.running import CellFile, CellLimits, Job, open_pool
from tests.security.cell.attacks import ATTACKS
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
                attack.name: evidence for attack in ATTACKS if (evidence := scene.evidence(cells, attack)) is not None
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
