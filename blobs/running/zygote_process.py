"""The host's end of a zygote: starts the process, asks for workers, binds files, and ends it.

The host never forks itself, only executes; it has threads and secrets. Control messages come from the zygote, which no
worker can reach, so they are trusted.
"""

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from blobs.domain.errors import NotFoundError, SandboxError
from blobs.running import launcher
from blobs.running.plan import ENVIRONMENT, Plan
from blobs.running.zygote import MESSAGE_BYTES_MAX

PIPE_BYTES = 1 << 20
"""Of the result pipe: with the usual 64 KiB a result of 1 MB costs twice the time (measured)."""
_F_SETPIPE_SZ = 1031
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_END_WAIT_S = 5.0
_START_S_MAX = 120.0
"""Importing everything takes half a second; on a loaded machine with a cold disk a hundred times that."""


@dataclass(eq=False, slots=True)
class Worker:
    """The host's end of one worker: waiting, at work, or gone. Every descriptor is closed by `end`."""

    zygote: "ZygoteProcess"
    number: int
    job: socket.socket
    printed: int
    result: int
    pidfd: int = -1
    memory: int = -1
    """Its /proc/PID/statm, if the host may read it."""
    ended: threading.Event = field(default_factory=threading.Event)
    status: int = 0
    """As of wait(2), once `ended` is set."""
    cpu_ms: int = 0
    peak_bytes: int = 0
    """The most memory that was resident at once, what is shared with the zygote included."""

    def kill(self) -> None:
        """End the process, and all in its pid namespace with it."""
        with contextlib.suppress(ProcessLookupError):
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def resident_bytes(self) -> int:
        """Private memory that it has right now; 0 where that cannot be told."""
        try:
            pages = os.pread(self.memory, 100, 0).split()
            return (int(pages[1]) - int(pages[2])) * _PAGE_BYTES
        except (OSError, IndexError):
            return 0

    def end(self) -> None:
        """Kill the process and close everything. The zygote reaps it."""
        self.kill()
        self.job.close()
        descriptors = (self.printed, self.result, self.pidfd, self.memory)
        self.printed = self.result = self.pidfd = self.memory = -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)


class ZygoteProcess:
    """A running zygote. Raises `SandboxError` from the constructor where it cannot be had, with the reason.

    `on_worker` is called from a thread of this object with each worker that is ready for a job, `on_end` once when the
    zygote is gone.
    """

    def __init__(
        self, plan: Plan, *, on_worker: Callable[[Worker], None], on_end: Callable[["ZygoteProcess"], None]
    ) -> None:
        self.plan = plan
        self.spawned_count = 0
        self._started_at = time.monotonic()
        self._on_worker = on_worker
        self._on_end = on_end
        self._lock = threading.Lock()
        self._binding_lock = threading.Lock()
        self._workers: dict[int, Worker] = {}
        self._is_closed = False
        self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._binding, binding = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryFile() as noise:
            self._process = _execute(plan, control, binding, noise)
            control.close()
            binding.close()
            try:
                self.facts = self._greet(plan, noise)
            except SandboxError:
                self._finish()
                raise
        self._reader = threading.Thread(target=self._read, name="blobs-zygote", daemon=True)
        self._reader.start()

    @property
    def age_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._started_at

    @property
    def is_alive(self) -> bool:
        """Whether workers can be had from it."""
        return not self._is_closed

    def request_worker(self) -> None:
        """Ask for one more worker, which arrives at `on_worker`. Does not wait. Raises `SandboxError` without one."""
        job, job_there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        printed, printed_there = os.pipe2(os.O_CLOEXEC)
        result, result_there = os.pipe2(os.O_CLOEXEC)
        for descriptor in (printed, result):
            os.set_blocking(descriptor, False)
        with contextlib.suppress(OSError):  # over the user's share of pipe memory: slower, no more
            fcntl.fcntl(result, _F_SETPIPE_SZ, PIPE_BYTES)
        with self._lock:
            self.spawned_count += 1
            worker = Worker(self, self.spawned_count, job, printed, result)
            self._workers[worker.number] = worker
        try:
            message = json.dumps({"spawn": worker.number}).encode()
            socket.send_fds(self._control, [message], [job_there.fileno(), printed_there, result_there])
        except OSError as error:
            self._workers.pop(worker.number, None)
            worker.end()
            raise SandboxError(f"The cell's server is gone: {error.strerror}.") from None
        finally:
            job_there.close()
            os.close(printed_there)
            os.close(result_there)

    def bind(self, paths: Sequence[Path]) -> list[int]:
        """A read-only mount of each file, as descriptors to pass to a worker.

        Raises `NotFoundError` for a file that is not there, `PermissionError` with its path in `filename` where the
        cell's user could not read it, `SandboxError` for anything else.
        """
        if not paths:
            return []
        request = json.dumps([os.path.abspath(path) for path in paths]).encode()  # noqa: PTH100 (links must stay links)
        try:
            with self._binding_lock:
                self._binding.send(request)
                answer, descriptors, _, _ = socket.recv_fds(self._binding, MESSAGE_BYTES_MAX, len(paths))
        except OSError as error:
            raise SandboxError(f"The cell's binder is gone: {error.strerror}.") from None
        if not answer:
            raise SandboxError("The cell's binder is gone.")
        for each in json.loads(answer):
            if each["number"] == errno.EACCES:
                raise PermissionError(errno.EACCES, each["problem"], each["path"])
            if each["number"] == errno.ENOENT:
                raise NotFoundError(f"The file {Path(each['path']).name} is gone.")
            raise SandboxError(f"The file {Path(each['path']).name} cannot be given to a cell: {each['problem']}.")
        return descriptors

    def close(self) -> None:
        """End the zygote and every worker of it. Closing twice is no error."""
        for connection in (self._control, self._binding):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._reader:
            self._reader.join(_END_WAIT_S)

    def _greet(self, plan: Plan, noise: IO[bytes]) -> dict[str, Any]:
        """Send the plan and wait until everything is loaded."""
        try:
            self._control.send(plan.dump())
            self._control.settimeout(_START_S_MAX)
            answer = json.loads(self._control.recv(MESSAGE_BYTES_MAX) or b"{}")
            self._control.settimeout(None)
        except (OSError, ValueError) as error:
            answer = {"fatal": str(error)}
        if "ready" in answer:
            facts: dict[str, Any] = answer["ready"]
            return facts
        noise.seek(0)
        said = noise.read()[-2000:].decode(errors="replace").strip().splitlines()
        raise SandboxError(
            answer.get("fatal") or "the server ended at start: " + (said[-1] if said else "no reason given")
        )

    def _read(self) -> None:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES_MAX, 1)
            except OSError:
                break
            if not message:
                break
            self._take(json.loads(message), descriptors)
        self._finish()
        self._on_end(self)

    def _take(self, message: dict[str, Any], descriptors: list[int]) -> None:
        if "spawned" in message:
            worker = self._workers[message["spawned"]]
            worker.pidfd = descriptors[0]
            worker.memory = _open_memory(worker.pidfd)
            self._on_worker(worker)
        else:
            worker = self._workers.pop(message["ended"])
            worker.status = message["status"]
            worker.cpu_ms, worker.peak_bytes = message["cpu_ms"], message["peak_bytes"]
            worker.ended.set()

    def _finish(self) -> None:
        """Reap the process, and let go of what waits for it."""
        self._is_closed = True
        self._control.close()
        self._binding.close()
        try:
            self._process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for worker in list(self._workers.values()):
            worker.ended.set()
            if worker.pidfd < 0:
                worker.end()  # nobody was given it yet
        self._workers.clear()


def _open_memory(pidfd: int) -> int:
    """The file that counts the pages of this very process, also when its number is another's; -1 for none."""
    try:
        facts = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
        process = int(facts.partition("Pid:")[2].split(maxsplit=1)[0])
        return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, IndexError, ValueError):
        return -1


def _execute(plan: Plan, control: socket.socket, binding: socket.socket, noise: IO[bytes]) -> subprocess.Popen[bytes]:
    passed = (control.fileno(), binding.fileno())
    arguments = [sys.executable, "-s", "-P", "-B", "-c", launcher.START, *map(str, passed), *plan.import_paths]
    return subprocess.Popen(  # noqa: S603 (our own interpreter, our own program)
        arguments,
        env={**ENVIRONMENT, "HOME": plan.scratch, "TMPDIR": plan.scratch},
        pass_fds=passed,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=noise,
        cwd="/",
        start_new_session=True,
    )
