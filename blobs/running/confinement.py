"""The boundary: the steps that shut a worker in, in the one order in which they hold.

A mistake here is a breach. A worker runs a task only after every step has succeeded: there is no best effort, an
`OSError` from any of them fails the worker. Order matters where it says so.
"""

import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from blobs.domain.limits import GIB, MIB
from blobs.running import kernel, landlock, namespaces, seccomp
from blobs.running.plan import DESCRIPTORS_MAX, SCRATCH_BYTES, SCRATCH_FILES, THREADS_MAX, Plan
from blobs.running.runner import CellLimits
from blobs.running.syscall_table import Machine, this_machine

_BLOBS = "/blobs"
_LOOSE_ADDRESS_BYTES = 8 * GIB
"""Address space beyond data and files: glibc's arenas and mapped files take it without using memory."""
_UNKNOWN_DATA_BYTES, _UNKNOWN_ADDRESS_BYTES = 160 * MIB, 1 * GIB
"""Of a zygote that cannot look at itself: measured with everything preloaded, rounded up."""
_DATA_BYTES_MIN = 128 * MIB
"""What a call may have beside the libraries, if its own limit leaves less."""

_DUCKDB_READS = ("/proc/self/cgroup", "/proc/meminfo", "/proc/cpuinfo")
"""DuckDB takes a refusal of these for fatal, unlike their absence."""
_CGROUP_FILES = ("cpu.max", "memory.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes")


class Confinement:
    """What all workers of one zygote share: made once before the first fork, applied in each worker.

    Raises `OSError` or `RuntimeError` where a layer of the plan cannot be had at all.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layers = plan.layers
        self.abi = kernel.landlock_abi()
        self._machine = _machine_for(plan)
        least = landlock.ABI_MIN if self.layers.namespaces else landlock.ABI_MIN_ALONE
        if self.layers.landlock and self.abi < least:
            raise RuntimeError(f"Landlock version {least} is needed, the kernel has {self.abi or 'none'}")
        if self.layers.seccomp and not kernel.has_seccomp():
            raise RuntimeError("the kernel takes no seccomp filters")
        self._rules: list[landlock.Rule] = []
        self.held_bytes = _UNKNOWN_DATA_BYTES
        """What libraries hold in every worker, as RLIMIT_DATA counts it."""
        self._address_bytes = _UNKNOWN_ADDRESS_BYTES
        self._filter = b""
        self._has_own_account = self.layers.namespaces

    @property
    def descriptors(self) -> list[int]:
        """What `seal` needs open in the worker."""
        return [descriptor for descriptor, _ in self._rules]

    def measure(self, processes: int) -> None:
        """In the zygote, when everything is loaded: open what the rules name, see how much memory is in use.

        `processes` is an open /proc, the last that this process knows of.
        """
        if self.layers.landlock:
            self._rules = [
                landlock.reading_rule(path) for path in self.plan.visible_paths if not Path(path).is_symlink()
            ]
            for name in namespaces.DEVICES:
                device = os.open(f"/dev/{name}", os.O_PATH | os.O_CLOEXEC)
                self._rules.append((device, landlock.READ_AND_WRITE_FILE))
        sizes = _own_sizes(processes)
        self.held_bytes = sizes.get("VmData", _UNKNOWN_DATA_BYTES)
        self._address_bytes = sizes.get("VmSize", _UNKNOWN_ADDRESS_BYTES)

    def prepare(self) -> None:
        """In the worker, before there is a job: what takes long and depends on none.

        The control socket is closed by now. The worker is process 1 of its pid namespace where there are namespaces.
        """
        if self.layers.namespaces:
            kernel.unshare(kernel.CLONE_NEWNS)
            namespaces.mount_scratch(self.plan.scratch, size=SCRATCH_BYTES, files=SCRATCH_FILES)
            namespaces.mount_scratch(_BLOBS, size=64 << 10, files=256)
            os.chdir(self.plan.scratch)
        elif self.layers.is_sandbox:
            self._has_own_account = namespaces.take_account()
        if self._machine is not None:
            # Signals to process 1, or where there is no such namespace, to whatever number this one has.
            self._filter = seccomp.build_filter(
                self._machine, process_id=os.getpid(), allows_attributes=self.layers.namespaces
            )

    def seal(self, files: Sequence[tuple[str, int]], limits: CellLimits, *, keep: Sequence[int]) -> dict[str, str]:
        """Shut the worker in for good; answers the path of each file.

        `files` are names with the mounts (or, without namespaces, open files) that the host passed. Of the descriptors
        only 0, 1, 2, `keep` and open files stay.
        """
        paths, size, rules = self._bind(files)
        if self.layers.namespaces:
            # An account of its own for RLIMIT_NPROC, and no capability even over the zygote's namespaces. After mounts.
            kernel.unshare(kernel.CLONE_NEWUSER)
        self._limit(limits, file_bytes=size)
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        # After the change of credentials, which clears it: no worker outlives its zygote, also without a pid namespace.
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.layers.landlock:
            # After the mounts: it forbids changing them.
            landlock.restrict([*self._rules, *rules], abi=self.abi)
        kept = [*keep] if self.layers.namespaces else [*keep, *(descriptor for _, descriptor in files)]
        keep_descriptors(kept)
        if self.layers.seccomp:
            # Last: it forbids every step above.
            kernel.install_filter(self._filter)
        return paths

    def _bind(self, files: Sequence[tuple[str, int]]) -> tuple[dict[str, str], int, list[landlock.Rule]]:
        """Paths, bytes in all, and the rules that allow reading each."""
        if not self.layers.namespaces:
            return self._name_open(files)
        paths = {}
        size = 0
        rules = []
        for name, descriptor in files:
            place = f"{_BLOBS}/{name}"
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444))
            kernel.attach_mount(descriptor, place)
            opened = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            size += os.fstat(opened).st_size
            rules.append((opened, landlock.READ_FILE))
            paths[name] = place
        namespaces.make_read_only(_BLOBS)
        if self.layers.landlock:
            rules += [landlock.reading_rule(path) for path in ("/etc", _BLOBS)]
            scratch = os.open(self.plan.scratch, os.O_PATH | os.O_CLOEXEC)
            rules.append((scratch, landlock.SCRATCH))
        return paths, size, rules

    def _name_open(self, files: Sequence[tuple[str, int]]) -> tuple[dict[str, str], int, list[landlock.Rule]]:
        """As `_bind`, where nothing can be mounted: the path of a file is that of its own descriptor."""
        paths = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in files}
        size = sum(os.fstat(descriptor).st_size for _, descriptor in files)
        if not self.layers.landlock:
            return paths, size, []
        return paths, size, [*((descriptor, landlock.READ_FILE) for _, descriptor in files), *_host_rules()]

    def _limit(self, limits: CellLimits, *, file_bytes: int) -> None:
        seconds = -(-limits.wall_ms // 1000) * (os.cpu_count() or 1) + 1
        threads = THREADS_MAX if self._has_own_account else THREADS_MAX + _threads_of_user()
        for name, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, SCRATCH_BYTES),
            (resource.RLIMIT_NOFILE, DESCRIPTORS_MAX),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_RTPRIO, 0),
            (resource.RLIMIT_NICE, 0),
            (resource.RLIMIT_SIGPENDING, 64),
            (resource.RLIMIT_STACK, 8 << 20),
            (resource.RLIMIT_DATA, data_bytes_max(limits, self.held_bytes)),
            (resource.RLIMIT_AS, self._address_bytes + limits.memory_bytes + 2 * file_bytes + _LOOSE_ADDRESS_BYTES),
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_NPROC, threads),
        ):
            hard = resource.getrlimit(name)[1]
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(name, (least, least))


def data_bytes_max(limits: CellLimits, held_bytes: int) -> int:
    """The most private memory of a worker in all: the limit of the call, of which its libraries hold a part."""
    return max(limits.memory_bytes, held_bytes + _DATA_BYTES_MIN)


def keep_descriptors(kept: Sequence[int]) -> None:
    """Close every descriptor from 3 on but these."""
    first = 3
    for descriptor in sorted(each for each in kept if each >= 3):
        kernel.close_descriptors(first, descriptor - 1)
        first = descriptor + 1
    kernel.close_descriptors(first)


def _machine_for(plan: Plan) -> Machine | None:
    machine = this_machine()
    if machine is None and plan.layers.is_sandbox:
        raise RuntimeError(f"there is no table of system calls for {os.uname().machine}")
    return machine


def _host_rules() -> list[landlock.Rule]:
    """Without mounts the host's /proc and /sys are seen: allow the few files DuckDB must read to know its limits."""
    paths = [*_DUCKDB_READS, *_own_cgroup_files()]
    return [landlock.reading_rule(path) for path in paths if Path(path).exists()]


def _own_cgroup_files() -> list[str]:
    folders = {"/sys/fs/cgroup"}
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for _, controller, path in (line.split(":", 2) for line in lines):
        top = f"/sys/fs/cgroup/{controller}".rstrip("/")
        folders |= {top, f"{top}{path}".rstrip("/")}
    return [f"{folder}/{name}" for folder in sorted(folders) for name in _CGROUP_FILES]


def _own_sizes(processes: int) -> dict[str, int]:
    """VmData and VmSize of this process in bytes, as far as /proc tells."""
    try:
        descriptor = os.open("self/status", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except OSError:
        return {}
    with os.fdopen(descriptor) as status:
        lines = status.read().splitlines()
    fields = [line.split() for line in lines if line.startswith(("VmData:", "VmSize:"))]
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in fields}


def _threads_of_user() -> int:
    """Threads that this user runs on the host: they count against RLIMIT_NPROC of a worker that is the same user."""
    count = 0
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                status = Path(entry.path, "status").read_text()
                count += int(status.partition("Threads:")[2].split(maxsplit=1)[0])
        except (OSError, IndexError):
            continue  # it has ended meanwhile
    return count
