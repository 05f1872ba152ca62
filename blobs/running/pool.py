"""The pool: workers that wait, one for each call, and a zygote that makes more."""

import math
import threading
import time
from collections import Counter, deque
from typing import Any, BinaryIO

from blobs.domain.errors import BusyError, CallerError, SandboxError
from blobs.running.call import Call, WorkerFailedError, encode_job
from blobs.running.cell_files import opened_files
from blobs.running.plan import Plan
from blobs.running.runner import FILES_MAX, Job, Outcome
from blobs.running.zygote_process import Worker, ZygoteProcess

CALLS_PER_ZYGOTE = 1_000
"""All workers of a zygote share its address layout: after so many calls a new one takes over."""
ZYGOTE_S_MAX = 600.0
"""And after so long: whatever may have leaked from one call to the next is gone then."""
WAIT_MS_MAX = 10_000
"""How long a call waits for a free cell before it is told to come again."""
WAITING_PER_CELL = 8
"""Calls that may wait for each cell; one more is turned away at once."""
_ATTEMPTS = 3
_RESTART_PAUSE_S = 0.5
_WORKER_WAIT_S = 15.0
"""For a worker, once there is a place: milliseconds as a rule, seconds while a zygote is replaced on a busy machine."""


class CellPool:
    """Workers of one plan. Safe for many threads.

    At most `cells_max` calls run at once, and as many idle workers are kept. A zygote that died, and one that has
    served its calls, is replaced in the background; calls meanwhile wait. Raises `SandboxError` where there is no first
    zygote.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        cells_max: int,
        wait_ms_max: int = WAIT_MS_MAX,
        calls_per_zygote: int = CALLS_PER_ZYGOTE,
        zygote_s_max: float = ZYGOTE_S_MAX,
    ) -> None:
        self.plan = plan
        self._cells_max = cells_max
        self._wait_ms_max = wait_ms_max
        self._calls_per_zygote = calls_per_zygote
        self._zygote_s_max = zygote_s_max
        self._changed = threading.Condition()
        self._idle: deque[Worker] = deque()
        self._taken: Counter[ZygoteProcess] = Counter()
        """Workers at work, by zygote: an old one is closed when its last is done."""
        self._running_count = 0
        self._waiting: deque[object] = deque()
        self._is_closed = False
        self._replacing: threading.Thread | None = None
        self._problem = ""
        self._zygote = self._start_zygote()
        self._ask_for_workers(self._zygote, cells_max)

    @property
    def facts(self) -> dict[str, Any]:
        """What the zygote found at its start: Landlock's version, libraries, what could not be imported."""
        return self._zygote.facts

    def run(self, job: Job, payload_to: BinaryIO | None = None) -> Outcome:
        """As `Runner.run`."""
        if len(job.files) > FILES_MAX or len({file.name for file in job.files}) < len(job.files):
            raise CallerError(f"A job may have at most {FILES_MAX} files, each of another name.")
        text = encode_job(job)
        self._enter()
        try:
            problem = ""
            for _ in range(_ATTEMPTS):
                try:
                    return self._call(self._take_idle(), job, text, payload_to)
                except WorkerFailedError as error:
                    problem = str(error)  # nothing of the task ran: another worker may be luckier
            raise SandboxError(f"The cell could not be set up: {problem}.")
        finally:
            self._leave()

    def close(self) -> None:
        """End every process. Running calls end as killed. Closing twice is no error."""
        with self._changed:
            self._is_closed = True
            zygotes = {self._zygote, *self._taken}
            self._changed.notify_all()
        self._end_idle()
        for zygote in zygotes:
            zygote.close()
        if self._replacing is not None:
            self._replacing.join()

    def _call(self, worker: Worker, job: Job, text: bytes, payload_to: BinaryIO | None) -> Outcome:
        was_used = False
        try:
            with opened_files(worker.zygote, job.files) as descriptors:
                was_used = True
                call = Call(worker, job, text, descriptors=descriptors, payload_to=payload_to)
                call.send()
                self._ask_for_workers(worker.zygote, 1)  # while the call runs
                return call.finish()
        finally:
            if was_used:
                worker.end()
            else:
                self._add_idle(worker)
            self._put_away(worker.zygote)

    def _enter(self) -> None:
        """Take one of the places. Raises `BusyError` when none comes free, or too many wait already."""
        with self._changed:
            if self._running_count >= self._cells_max or self._waiting:
                self._wait_for_place()
            if self._is_closed:
                raise SandboxError("The cells are closed.")
            self._running_count += 1

    def _wait_for_place(self) -> None:
        """Places go to calls in the order in which they came."""
        if len(self._waiting) >= WAITING_PER_CELL * self._cells_max:
            raise self._busy()
        own = object()
        self._waiting.append(own)
        try:
            if not self._changed.wait_for(
                lambda: self._is_closed or (self._waiting[0] is own and self._running_count < self._cells_max),
                self._wait_ms_max / 1000,
            ):
                raise self._busy()
        finally:
            self._waiting.remove(own)
            self._changed.notify_all()

    def _busy(self) -> BusyError:
        seconds = math.ceil(self._wait_ms_max / 1000)
        busy = BusyError("All cells are busy.", hint=f"Try again in {seconds} s.")
        busy.retry_s = seconds
        return busy

    def _leave(self) -> None:
        with self._changed:
            self._running_count -= 1
            self._changed.notify_all()

    def _take_idle(self) -> Worker:
        deadline = time.monotonic() + _WORKER_WAIT_S
        if not self._zygote.is_alive:
            self._replace(self._zygote)
        with self._changed:
            while not self._is_closed:
                if self._idle:
                    worker = self._idle.popleft()
                    self._taken[worker.zygote] += 1
                    return worker
                if not self._changed.wait(max(deadline - time.monotonic(), 0)):
                    raise SandboxError(f"No cell can be had at the moment. {self._problem}".strip())
            raise SandboxError("The cells are closed.")

    def _put_away(self, zygote: ZygoteProcess) -> None:
        """A worker of this zygote is done: the zygote too, if it is an old one."""
        with self._changed:
            self._taken[zygote] -= 1
            is_last = not self._taken[zygote]
            if is_last:
                del self._taken[zygote]
        if is_last and zygote is not self._zygote:
            zygote.close()

    def _ask_for_workers(self, zygote: ZygoteProcess, count: int) -> None:
        """Keep as many idle workers as there may be calls; see to it that the zygote is replaced in time."""
        if zygote is not self._zygote:
            return  # its successor has its own
        try:
            for _ in range(count):
                zygote.request_worker()
        except SandboxError as error:
            self._problem = str(error)
        is_used_up = zygote.spawned_count > self._calls_per_zygote + self._cells_max
        if not zygote.is_alive or is_used_up or zygote.age_s > self._zygote_s_max:
            self._replace(zygote)

    def _add_idle(self, worker: Worker) -> None:
        """Called by the zygote's thread."""
        with self._changed:
            if not self._is_closed and worker.zygote is self._zygote:
                self._idle.append(worker)
                self._changed.notify_all()
                return
        worker.end()

    def _end_idle(self, zygote: ZygoteProcess | None = None) -> None:
        with self._changed:
            ended = [worker for worker in self._idle if zygote in (None, worker.zygote)]
            self._idle = deque(worker for worker in self._idle if worker not in ended)
        for worker in ended:
            worker.end()

    def _start_zygote(self) -> ZygoteProcess:
        return ZygoteProcess(self.plan, on_worker=self._add_idle, on_end=self._replace)

    def _replace(self, zygote: ZygoteProcess) -> None:
        """Start a successor in the background, unless one is on its way. Called from any thread."""
        with self._changed:
            is_current = getattr(self, "_zygote", None) is zygote  # none yet if the first ends at once
            if self._is_closed or not is_current or (self._replacing and self._replacing.is_alive()):
                return
            self._replacing = threading.Thread(target=self._start_successor, args=(zygote,), daemon=True)
            self._replacing.start()

    def _start_successor(self, old: ZygoteProcess) -> None:
        if not old.is_alive:
            self._end_idle(old)
        successor = None
        while successor is None and not self._is_closed:
            try:
                successor = self._start_zygote()
            except SandboxError as error:
                self._problem = str(error)
                time.sleep(_RESTART_PAUSE_S)
        with self._changed:
            is_wanted = successor is not None and not self._is_closed
            if is_wanted and successor is not None:
                self._zygote = successor
            is_unused = old not in self._taken
        if successor is None:
            return
        if not is_wanted:
            successor.close()
            return
        self._ask_for_workers(successor, self._cells_max)
        self._end_idle(old)
        if is_unused:
            old.close()
