"""The runner: what the rest of the service knows of the cell.

A `Runner` runs one `Job` in one throw-away process and answers an `Outcome`. How strongly that process is shut in is
the runner's `tier`; see `blobs.running.tiers`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from blobs.domain.errors import CallerError
from blobs.domain.limits import GIB, KIB, MIB

Tier = Literal["A", "B", "C", "none"]
Status = Literal["ok", "error", "timeout", "memory", "killed", "protocol"]

FILES_MAX = 128
"""Files in one job: they travel as descriptors in one message, of which the kernel takes 253."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}\Z")


@dataclass(frozen=True, slots=True)
class CellFile:
    """A host file that the job may read, and nothing beside it. It is seen read-only under its name.

    `name` consists of letters, digits and `_.-`; where mounts can be had the cell sees the file at `/blobs/<name>`. A
    task must use the path it is given in `files`. Raises `CallerError` for another name.
    """

    name: str
    path: Path

    def __post_init__(self) -> None:
        if not _NAME.match(self.name) or self.name in {".", ".."}:
            raise CallerError(f"{self.name!r} cannot be the name of a file in a cell: use letters, digits and '_.-'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLimits:
    """The most one call may take. All hold at once; the first that is reached ends the call.

    `memory_bytes` bounds the private memory of the process, what the preloaded libraries hold included, but leaves the
    call 128 MiB beside these. `result_bytes` bounds the payload and, if it is less than 4 MiB, the value;
    `printed_bytes` what is kept of stdout and stderr (the rest is counted and dropped).
    """

    wall_ms: int = 10_000
    memory_bytes: int = 1 * GIB
    result_bytes: int = 64 * MIB
    printed_bytes: int = 16 * KIB


@dataclass(frozen=True, slots=True)
class Job:
    """One call of one task. `arguments` is any JSON object; the task is named by the table given to the pool."""

    task: str
    arguments: Mapping[str, Any]
    files: tuple[CellFile, ...] = ()
    limits: CellLimits = field(default_factory=CellLimits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job. Nothing in it is trusted: it was checked for form and length, never for truth.

    `status` is `ok`, or says why there is no answer: `error` (the task raised), `timeout`, `memory`, `killed` (the
    process died: a crash in native code, a signal), `protocol` (it answered in a form or length that is refused).
    `value` is the task's JSON answer, numbers exact as of `exact_json`; `payload` the bytes it streamed, empty where
    they went to `payload_to`. `printed` is stdout and stderr as they were written, with a mark where it was cut.
    `error` holds `code`, `message` and `hint` whenever the status is not `ok`. `traceback` is for the host's log only,
    never for a model: it shows paths of the host's libraries.
    """

    status: Status
    value: Any = None
    payload: bytes = b""
    printed: str = ""
    wall_ms: float = 0.0
    error: Mapping[str, str] | None = None
    traceback: str = ""


class Runner(Protocol):
    """Runs jobs, each in a process of its own that is gone when the answer is."""

    @property
    def tier(self) -> str:
        """`A` namespaces, Landlock and seccomp; `B` no namespaces; `C` no Landlock; `none` a plain process."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why stronger tiers could not be had, one sentence each."""

    def run(self, job: Job, *, payload_to: BinaryIO | None = None) -> Outcome:
        """Run the job and answer within its `wall_ms` and a little.

        With `payload_to` the payload is written there as it comes; it may hold a part of it if the status is not `ok`.
        Raises `BusyError` when all cells stay taken, `SandboxError` when the task may not run in this tier or no cell
        can be had, `NotFoundError` when a file of the job is gone.
        """

    def describe(self) -> dict[str, Any]:
        """Tier, layers, reasons and libraries, for `blobs doctor`.

        `runs_untrusted` says whether there are cells, `stand_ins` which tasks something smaller does where not.
        """

    def close(self) -> None:
        """End every process. Running calls end as `killed`. Closing twice is no error."""
