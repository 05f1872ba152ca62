"""What attacks aim at: blobs in a folder, a host file, listeners, and this process."""

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blobs.running import CellFile, CellLimits, CellRunner, Job, Outcome, open_pool
from blobs.running.runner import Tier
from tests.security.cell.attacks import Attack

_CALLS = [
    "name_to_handle_at",
    "open_by_handle_at",
    "chown",
    "mount",
    "umount2",
    "open_tree",
    "pivot_root",
    "rt_sigqueueinfo",
    "ptrace",
    "process_vm_readv",
    "pidfd_open",
    "pidfd_getfd",
    "clone",
    "clone3",
    "memfd_create",
    "unshare",
    "setns",
    "capset",
    "prctl",
    "seccomp",
    "personality",
    "socket",
    "shmget",
    "shmctl",
    "msgget",
    "msgctl",
    "semget",
    "semctl",
    "mq_open",
    "mq_unlink",
    "io_uring_setup",
    "bpf",
    "userfaultfd",
    "perf_event_open",
    "keyctl",
    "inotify_init1",
    "fanotify_init",
    "vmsplice",
    "mprotect",
    "mlock",
    "landlock_create_ruleset",
    "iopl",
    "finit_module",
]


def numbers_by_name() -> dict[str, int]:
    """The system calls that attacks make, as libseccomp numbers them here."""
    import pyseccomp

    return {name: pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) for name in _CALLS}


@dataclass(frozen=True)
class Scene:
    """The files and names that attacks are told."""

    folder: Path
    blob: Path
    names: dict[str, Any]
    numbers: dict[str, int]

    def job(self, attack: Attack) -> Job:
        arguments = {"code": attack.code, "names": self.names, "numbers": self.numbers}
        limits = CellLimits(wall_ms=5_000, memory_bytes=256 << 20)
        return Job("attack", arguments, (CellFile("blob", self.blob),), limits)

    def evidence(self, cells: CellRunner, attack: Attack) -> str | None:
        """What the attack got hold of; None if it was stopped. A worker that died for it counts as a breach."""
        outcome: Outcome = cells.run(self.job(attack))
        if outcome.status != "ok":
            return f"the worker ended as {outcome.status}: {outcome.error}"
        found: str | None = outcome.value["evidence"]
        return found


@contextlib.contextmanager
def set_scene(folder: Path) -> Iterator[Scene]:
    """Lay out the targets: everything is readable by everybody, so that only the cell stands between."""
    store = folder / "store"
    store.mkdir(mode=0o755)
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
            yield Scene(store, files["blob"], names, numbers_by_name())
        finally:
            del os.environ["BLOBS_SECRET"]


def open_cells(tier: Tier) -> CellRunner:
    """Cells of one tier that run attacks; in the tier none they are trusted, for the negative controls."""
    return open_pool(
        tasks={"attack": "tests.security.cell.attack_task:run", "code": "tests.unit.running.tasks:run_code"},
        trusted_tasks=("attack",),
        preload=(),
        cells_max=1,
        tiers=(tier,),
    )
