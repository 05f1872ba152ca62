"""The plan of a pool: what its cells are made of. The host writes it, the launcher and the zygote read it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from blobs.domain.limits import MIB

SCRATCH_BYTES = 64 * MIB
SCRATCH_FILES = 4096
THREADS_MAX = 64
DESCRIPTORS_MAX = 256

CELL_USER = 61_713
"""The id that cells of a root host run as: in the range kept free for short-lived users, and nobody's."""
WORKER_USERS = range(61_714, 65_520)
"""Without namespaces each worker of a root host is one of these, at random: the kernel counts the threads of a user."""

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    # What a set prints must not depend on when the server started. Only its own cell could be slowed by collisions.
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "PATH": "",
    # One thread before the fork, or the child inherits locks that nobody holds.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    # Arrow's own pools reserve a gigabyte of address space, which would make RLIMIT_DATA meaningless.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "4",
    "MPLBACKEND": "Agg",
}
"""All of the environment that a cell has: nothing of the host's."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The kernel layers a cell is shut in with. Limits, closed descriptors and dropped capabilities always hold."""

    namespaces: bool
    landlock: bool
    seccomp: bool

    @property
    def is_sandbox(self) -> bool:
        """Whether these are enough for untrusted code: seccomp and one more."""
        return self.seccomp and (self.namespaces or self.landlock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one zygote is made of.

    `import_paths` is the cell's `sys.path`, `visible_paths` what it may read of the host; `tasks` maps a name to
    `module:function`.
    """

    layers: Layers
    import_paths: tuple[str, ...]
    visible_paths: tuple[str, ...]
    tasks: Mapping[str, str]
    preload: tuple[str, ...]

    @property
    def scratch(self) -> str:
        """The folder a cell may write to, where it has one: /tmp, unless libraries lie in it."""
        is_taken = any(path.startswith("/tmp/") for path in self.visible_paths)  # noqa: S108 (only compared)
        return "/scratch" if self.layers.namespaces and is_taken else "/tmp"  # noqa: S108 (the cell's own)

    def dump(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def load(cls, text: bytes) -> "Plan":
        """From `dump`."""
        document: dict[str, Any] = json.loads(text)
        return cls(
            layers=Layers(**document["layers"]),
            import_paths=tuple(document["import_paths"]),
            visible_paths=tuple(document["visible_paths"]),
            tasks=document["tasks"],
            preload=tuple(document["preload"]),
        )
