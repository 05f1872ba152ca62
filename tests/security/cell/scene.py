"""What attacks aim at: blobs in a folder, a host file, listeners, and this process."""

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blobs.running import CellFile, CellLimits, CellRunner, Job, Outcome, open_pool
from blobs.running.runner import Tier
from tests.security.cell.attack import Attack
from tests.security.cell.corpus import ATTACKS

_CALL = re.compile(r"call\('(\w+)'")


def numbers_by_name() -> dict[str, int]:
    """The system calls that attacks make, as libseccomp numbers them here."""
    import pyseccomp

    names = {name for attack in ATTACKS for name in _CALL.findall(attack.before + attack.code)}
    return {name: pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) for name in names}


@dataclass(frozen=True)
class Scene:
    """The files and names that attacks are told."""

    folder: Path
    blob: Path
    work: Path
    """Where negative controls may write."""
    names: dict[str, Any]
    numbers: dict[str, int]

    def job(self, code: str) -> Job:
        arguments = {"code": code, "names": self.names, "numbers": self.numbers}
        limits = CellLimits(wall_ms=5_000, memory_bytes=256 << 20)
        return Job("attack", arguments, (CellFile("blob", self.blob),), limits)

    def evidence(self, cells: CellRunner, attack: Attack) -> str | None:
        """What the attack got hold of; None if it was stopped. A worker that died for it counts as a breach."""
        calls = [attack.before, attack.code] if attack.before else [attack.code]
        outcome: Outcome
        for code in calls:
            outcome = cells.run(self.job(code))
            if outcome.status != "ok":
                return f"the worker ended as {outcome.status}: {outcome.error}"
        found: str | None = outcome.value["evidence"]
        return found

    def evidence_outside(self, no_cells: CellRunner, attack: Attack) -> str | None:
        """The same in a plain process, in one call: there the second is as good as the next."""
        code = f"os.chdir({str(self.work)!r})\n{attack.before}\n{attack.code}"
        return self.evidence(no_cells, replace(attack, before="", code=code))


@contextlib.contextmanager
def set_scene(folder: Path) -> Iterator[Scene]:
    """Lay out the targets: everything is readable by everybody, so that only the cell stands between."""
    store = folder / "store"
    store.mkdir(mode=0o755)
    work = folder / "controls"
    work.mkdir()
    os.environ["BLOBS_SECRET"] = "secret"
    files = {name: store / name for name in ("canary", "stranger", "blob")}
    for name, path in files.items():
        path.write_text(f"content of {name}")
        path.chmod(0o644)
    abstract = f"blobs-attack-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as by_path,
        socket.socket(socket.AF_UNIX) as by_name,
    ):
        by_path.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        by_path.listen()
        by_name.bind(f"\0{abstract}")
        by_name.listen()
        names = {
            "CANARY": str(files["canary"]),
            "STRANGER": str(files["stranger"]),
            "FOLDER": str(store),
            "HOST": os.getpid(),
            "PORT": server.getsockname()[1],
            "SOCKET": str(folder / "socket"),
            "ABSTRACT": abstract,
        }
        try:
            yield Scene(store, files["blob"], work, names, numbers_by_name())
        finally:
            del os.environ["BLOBS_SECRET"]


def open_cells(tier: Tier) -> CellRunner:
    """Cells of one tier that run attacks; in the tier none they are trusted, for the negative controls."""
    return open_pool(
        tasks={"attack": "tests.security.cell.attack_task:run", "code": "tests.unit.running.tasks:run_code"},
        trusted_tasks=("attack",),
        preload=("duckdb", "lxml.etree"),
        cells_max=1,
        tiers=(tier,),
    )
