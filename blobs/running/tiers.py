"""Tiers: the strongest cell that this host can give, proven before it is used.

| tier | layers | what it needs |
|---|---|---|
| A | namespaces, Landlock, seccomp | user namespaces, or root |
| B | Landlock, seccomp | Landlock 3 (Linux 6.2); works in an ordinary container |
| C | namespaces, seccomp | as A, without Landlock |
| none | limits of memory, time and files only | trusted tasks and stand-ins run, others are refused |

A tier counts only if a self-test inside a real worker finds it closed. There is no tier in between.
"""

import os
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from blobs.domain.errors import BlobsError, SandboxError
from blobs.running import libraries
from blobs.running.plan import Layers, Plan
from blobs.running.pool import CALLS_PER_ZYGOTE, WAIT_MS_MAX, ZYGOTE_S_MAX, CellPool
from blobs.running.runner import CellFile, CellLimits, Job, Outcome, Tier
from blobs.running.selftest import MEMORY_BYTES

TIERS: Mapping[Tier, Layers] = {
    "A": Layers(namespaces=True, landlock=True, seccomp=True),
    "B": Layers(namespaces=False, landlock=True, seccomp=True),
    "C": Layers(namespaces=True, landlock=False, seccomp=True),
    "none": Layers(namespaces=False, landlock=False, seccomp=False),
}
_SELF_TEST = "self-test"
_SELF_TEST_LIMITS = CellLimits(wall_ms=20_000, memory_bytes=MEMORY_BYTES)


def open_pool(  # noqa: PLR0913  # all but the tasks have defaults
    *,
    tasks: Mapping[str, str],
    trusted_tasks: Collection[str] = (),
    stand_ins: Mapping[str, str] | None = None,
    preload: Sequence[str] | None = None,
    visible: Sequence[Path] = (),
    cells_max: int | None = None,
    tiers: Sequence[Tier] = ("A", "B", "C", "none"),
    wait_ms_max: int = WAIT_MS_MAX,
    calls_per_zygote: int = CALLS_PER_ZYGOTE,
    zygote_s_max: float = ZYGOTE_S_MAX,
) -> "CellRunner":
    """A runner for these tasks; it starts when it is first asked for something, or at `start()`.

    `tasks` maps a name to `module:function`, a function `run(arguments, files, reply)` that answers JSON; its module
    may have a `warm_up()`, called once before the first fork, to load what every call would load. `preload` names
    modules to import beforehand (none: the libraries of `blobs.running.libraries`); one that is missing is reported by
    `describe()`. `visible` are further folders or files that cells may read. `trusted_tasks` run in a plain process
    where there is no cell; others do not, but for those with a stand-in: `stand_ins` maps them to `module:function`,
    what runs in their place there and is safe without a cell. `cells_max` calls run at once (none: one per core).
    `tiers` are tried in their order.
    """
    preload = libraries.preloaded() if preload is None else preload
    modules = ["blobs", "previewers", *preload, *(place.partition(":")[0] for place in tasks.values())]
    plan = Plan(
        layers=TIERS["A"],
        import_paths=libraries.import_paths(),
        visible_paths=libraries.visible_paths(modules, visible),
        tasks={**tasks, _SELF_TEST: "blobs.running.selftest:run"},
        preload=tuple(preload),
    )
    return CellRunner(
        plan,
        trusted_tasks=frozenset(trusted_tasks),
        stand_ins=dict(stand_ins or {}),
        tiers=tuple(tiers),
        cells_max=cells_max or os.cpu_count() or 1,
        wait_ms_max=wait_ms_max,
        calls_per_zygote=calls_per_zygote,
        zygote_s_max=zygote_s_max,
    )


class CellRunner:
    """A `Runner` that finds its tier at the first use. Safe for many threads."""

    def __init__(
        self,
        plan: Plan,
        *,
        trusted_tasks: frozenset[str],
        stand_ins: Mapping[str, str],
        tiers: tuple[Tier, ...],
        cells_max: int,
        wait_ms_max: int,
        calls_per_zygote: int,
        zygote_s_max: float,
    ) -> None:
        self._plan = plan
        self._trusted = trusted_tasks
        self._stand_ins = stand_ins
        self._tiers = tiers
        self._cells_max = cells_max
        self._wait_ms_max = wait_ms_max
        self._calls_per_zygote = calls_per_zygote
        self._zygote_s_max = zygote_s_max
        self._lock = threading.Lock()
        self._starting: threading.Thread | None = None
        self._tier: Tier = "none"
        self._reasons: list[str] = []
        self._pool: CellPool | None = None
        self._is_closed = False

    def start(self) -> None:
        """Begin to start, and do not wait for it. Starting again is no error."""
        with self._lock:
            if self._starting is None and not self._is_closed:
                self._starting = threading.Thread(target=self._find_tier, name="blobs-cells", daemon=True)
                self._starting.start()

    @property
    def tier(self) -> str:
        """As `Runner.tier`; waits for the start."""
        self._started()
        return self._tier

    @property
    def reasons(self) -> tuple[str, ...]:
        """As `Runner.reasons`; waits for the start."""
        self._started()
        return tuple(self._reasons)

    def run(self, job: Job, *, payload_to: BinaryIO | None = None) -> Outcome:
        """As `Runner.run`."""
        pool = self._started()
        if pool is None:
            raise SandboxError(f"No cell can be had here. {self._why()}")
        if self._tier == "none" and job.task not in self._without_cell():
            raise SandboxError(
                f"{job.task} is not run here, because this host gives no sandbox for it. {self._why()}",
                hint="Run `blobs doctor` on the host for what is missing.",
            )
        broken = pool.facts["broken"]
        if job.task in broken:
            raise SandboxError(f"The task {job.task} could not be loaded: {broken[job.task]}.")
        if job.task not in self._plan.tasks:
            raise SandboxError(f"There is no task {job.task}.")
        return pool.run(job, payload_to)

    def describe(self) -> dict[str, Any]:
        """Tier, layers, reasons and libraries, as JSON; waits for the start."""
        pool = self._started()
        layers = TIERS[self._tier]
        names = [name for name in ("namespaces", "landlock", "seccomp") if pool is not None and getattr(layers, name)]
        facts = {} if pool is None else pool.facts
        return {
            "tier": self._tier,
            "layers": names,
            "reasons": list(self._reasons),
            "runs_untrusted": pool is not None and layers.is_sandbox,
            "stand_ins": [] if layers.is_sandbox else sorted(self._stand_ins.keys() - facts.get("broken", {}).keys()),
            "landlock_abi": facts.get("landlock_abi", 0),
            "cells_max": self._cells_max,
            "python": facts.get("python", ""),
            "libraries": facts.get("libraries", {}),
            "missing": facts.get("missing", []),
            "broken": facts.get("broken", {}),
        }

    def close(self) -> None:
        """As `Runner.close`."""
        with self._lock:
            self._is_closed = True
        if self._starting is not None:
            self._starting.join()
        if self._pool is not None:
            self._pool.close()

    def __enter__(self) -> "CellRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> CellPool | None:
        self.start()
        if self._starting is None:
            raise SandboxError("The cells are closed.")
        self._starting.join()
        return self._pool

    def _why(self) -> str:
        return " ".join(self._reasons)

    def _find_tier(self) -> None:
        """Try the tiers in order; keep the first whose self-test passes. In the thread of `start`."""
        for tier in self._tiers:
            layers = TIERS[tier]
            tasks = self._plan.tasks if layers.is_sandbox else self._without_cell()
            if self._is_closed or not tasks:
                return
            optional = () if layers.namespaces else libraries.OPTIONAL
            preload = tuple(name for name in self._plan.preload if name not in optional)
            plan = replace(self._plan, layers=layers, tasks=tasks, preload=preload)
            try:
                pool = CellPool(
                    plan,
                    cells_max=self._cells_max,
                    wait_ms_max=self._wait_ms_max,
                    calls_per_zygote=self._calls_per_zygote,
                    zygote_s_max=self._zygote_s_max,
                )
            except (BlobsError, OSError) as error:
                self._reasons.append(f"Tier {tier}: {error}.")
                continue
            problem = self_test_problem(pool) if layers.is_sandbox else ""
            if not problem:
                self._tier, self._pool = tier, pool
                return
            pool.close()
            self._reasons.append(f"Tier {tier}: {problem}.")

    def _without_cell(self) -> dict[str, str]:
        """What runs where there is no cell."""
        return {name: place for name, place in self._plan.tasks.items() if name in self._trusted} | {**self._stand_ins}


def self_test_problem(pool: CellPool) -> str:
    """Why this pool's workers are no sandbox; empty if they are."""
    with tempfile.TemporaryDirectory(prefix="blobs-self-test-") as folder:
        Path(folder).chmod(0o755)
        files = {name: Path(folder, name) for name in ("canary", "stranger", "given")}
        for name, path in files.items():
            path.write_text(name)
            path.chmod(0o644)
        arguments = {
            "canary": str(files["canary"]),
            "stranger": str(files["stranger"]),
            "folder": folder,
            "process": os.getpid(),
        }
        job = Job(_SELF_TEST, arguments, (CellFile("given", files["given"]),), _SELF_TEST_LIMITS)
        try:
            outcome = pool.run(job)
        except (BlobsError, OSError) as error:
            return str(error)
    if outcome.status != "ok":
        said = outcome.traceback or (outcome.error or {}).get("message", "")
        return f"the self-test ended as {outcome.status}: {said}"
    return f"a cell could {', '.join(outcome.value)}" if outcome.value else ""
