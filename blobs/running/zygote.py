"""The zygote: one process with everything loaded that forks a worker for each call. It reads nothing a worker says."""

import contextlib
import gc
import importlib
import io
import json
import os
import select
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from blobs.running import kernel, loop_wakeup, worker
from blobs.running.confinement import Confinement
from blobs.running.plan import Plan

MESSAGE_BYTES_MAX = 1 << 16


class Zygote:
    """Loads, then serves. In a pid namespace it is process 1: when it ends, the kernel ends every worker."""

    def __init__(self, plan: Plan, control: socket.socket, confinement: Confinement) -> None:
        self._plan = plan
        self._control = control
        self._confinement = confinement
        self._tasks: dict[str, worker.Task] = {}
        self._broken: dict[str, str] = {}
        self._missing: list[str] = []
        self._call_of: dict[int, tuple[int, int]] = {}
        """By pidfd: the process and the number the host gave it."""

    def load(self, processes: int) -> dict[str, Any]:
        """Import everything and freeze it; answers what the host should know.

        Raises `RuntimeError` if a library started a thread: a fork would copy locks that nobody will ever release.
        """
        for name in self._plan.preload:
            try:
                importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 (a library that cannot be had is reported, and missed by name)
                self._missing.append(f"{name}: {type(error).__name__}: {error}")
        self._load_tasks()
        loop_wakeup.install()
        _warm_up()
        self._confinement.measure(processes)
        _write_lines_at_once()
        # Without freezing, the first collection in a worker touches, so copies, every page: 50 ms a call.
        gc.collect()
        gc.disable()
        gc.freeze()
        _use_huge_pages(processes)
        if not kernel.is_single_threaded() and _thread_count() != 1:
            raise RuntimeError(f"a preloaded library started threads ({_thread_count()} in all)")
        return {
            "landlock_abi": self._confinement.abi,
            "user": os.getuid(),
            "held_bytes": self._confinement.held_bytes,
            "python": sys.version.split()[0],
            "libraries": _versions(self._plan.preload),
            "missing": self._missing,
            "broken": self._broken,
        }

    def _load_tasks(self) -> None:
        """Import the tasks, and let each module that has a `warm_up` load what its calls would load."""
        modules = {}
        for name, place in self._plan.tasks.items():
            try:
                module, _, function = place.partition(":")
                modules[module] = importlib.import_module(module)
                self._tasks[name] = getattr(modules[module], function)
            except Exception as error:  # noqa: BLE001 (only this task cannot run; the host says so when it is asked for)
                self._broken[name] = f"{place}: {type(error).__name__}: {error}"
        for name, loaded in modules.items():
            try:
                getattr(loaded, "warm_up", int)()
            except Exception as error:  # noqa: BLE001 (its calls still run, only slower)
                self._missing.append(f"{name}.warm_up: {type(error).__name__}: {error}")

    def serve(self) -> NoReturn:
        """Fork a worker for each request of the host, and tell it of each end, until it is gone."""
        own = os.pidfd_open(os.getpid()) if self._plan.layers.namespaces else -1
        ready = select.poll()
        ready.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in ready.poll():
                if descriptor == self._control.fileno():
                    ready.register(self._fork(own), select.POLLIN)
                else:
                    ready.unregister(descriptor)
                    self._reap(descriptor)

    def _fork(self, own: int) -> int:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES_MAX, 3)
        except ConnectionError:
            os._exit(0)
        if not message:
            os._exit(0)
        number = json.loads(message)["spawn"]
        if own >= 0:
            # The last unshare gave the next child a namespace of its own: go back first, or they would nest.
            kernel.enter_namespace(own, kernel.CLONE_NEWPID)
            kernel.unshare(kernel.CLONE_NEWPID)
        process = os.fork()
        if process == 0:
            try:
                job, printed, result = descriptors
                worker.work(self._confinement, self._tasks, (job, printed, result))
            finally:
                os._exit(120)
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(process)
        self._call_of[pidfd] = (process, number)
        self._tell({"spawned": number}, pidfd)
        return pidfd

    def _reap(self, pidfd: int) -> None:
        process, number = self._call_of.pop(pidfd)
        os.close(pidfd)
        _, status, usage = os.wait4(process, 0)
        cpu_ms = int(1000 * (usage.ru_utime + usage.ru_stime))
        self._tell({"ended": number, "status": status, "cpu_ms": cpu_ms, "peak_bytes": usage.ru_maxrss * 1024})

    def _tell(self, message: Mapping[str, Any], *descriptors: int) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
        except OSError:
            os._exit(0)


def run(plan: Plan, control: socket.socket, confinement: Confinement, processes: int) -> NoReturn:
    """Load and serve; a failure is told to the host in one message. `processes` is an open /proc; it is closed."""
    try:
        zygote = Zygote(plan, control, confinement)
        facts = zygote.load(processes)
        os.close(processes)
    except Exception as error:  # noqa: BLE001 (the host must hear of it, whatever it is)
        fail(control, error)
    control.send(json.dumps({"ready": facts}).encode())
    zygote.serve()


def fail(control: socket.socket, error: BaseException) -> NoReturn:
    """Tell the host why there will be no zygote, and end."""
    with contextlib.suppress(OSError):
        control.send(json.dumps({"fatal": str(error)[:4000] or type(error).__name__}).encode())
    os._exit(3)


def _warm_up() -> None:
    """Walk the paths that most calls take, so that workers need not fault them in and compile them again."""
    try:
        exec(compile("1 / 0", "warm-up", "exec"), {})  # noqa: S102 (our own two tokens)
    except ZeroDivisionError:
        traceback.format_exc()
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.read_csv(io.StringIO("a,b\n1,x\n2,y\n"))
        frame.groupby("b")["a"].sum().to_json()
        frame.to_string()
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.plot([1, 2])
        pyplot.savefig(io.BytesIO())
        pyplot.close("all")


def _use_huge_pages(processes: int) -> None:
    """Have memory lie in huge pages where that can be had: a fork, and the end of one, look at each page of a process.

    Measured: a third of the CPU time of a call that does nothing.
    """
    try:
        descriptor = os.open("self/maps", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except OSError:
        return
    size = kernel.HUGE_PAGE_BYTES
    with os.fdopen(descriptor) as maps:
        fields = [line.split() for line in maps]
    for span, access, _, _, inode, *_ in fields:
        if access != "rw-p" or inode != "0":
            continue
        start, stop = (int(each, 16) for each in span.split("-"))
        for at in range(-(-start // size) * size, stop - size + 1, size):
            with contextlib.suppress(OSError):  # nothing there is in use yet
                kernel.use_huge_pages(at, at + size)


def _write_lines_at_once() -> None:
    """What a task printed before it was killed should be there, in the order it was printed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _thread_count() -> int:
    try:
        return sum(1 for _ in os.scandir("/proc/self/task"))
    except OSError:
        return 2  # cannot be told: take it for too many


def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    loaded = {name.partition(".")[0] for name in modules} & sys.modules.keys()
    versions = {name: getattr(sys.modules[name], "__version__", "") for name in sorted(loaded)}
    return {name: version for name, version in versions.items() if isinstance(version, str) and version}
