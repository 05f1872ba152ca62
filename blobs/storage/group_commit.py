"""Many threads, one disk flush: whoever comes while a flush runs shares the next one."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

_GATHERED_S = 0.00005
"""As long as a thread takes that is woken to come with its next job, and a part of what a flush takes."""

Job = TypeVar("Job")
Answer = TypeVar("Answer")


class _Ticket(Generic[Job, Answer]):
    """One caller's job, and what came of it."""

    __slots__ = ("answer", "fault", "is_leader", "job", "woken")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.answer: Answer
        self.fault: BaseException | None = None
        self.is_leader = False
        self.woken = threading.Lock()  # a fifth of what an `Event` costs, and there is one for every put
        self.woken.acquire()


class GroupCommit(Generic[Job, Answer]):
    """Runs the jobs of many threads in batches, in the order they came.

    `run` gets a batch and answers one outcome a job, in order; an outcome that is an exception is raised to the caller
    of that job alone, and an exception from `run` itself to all of the batch. There is no thread of its own: the first
    caller leads, and hands the lead to the first who waits. `then` is a second step, which gets the batch and what
    `run` answered, and answers the outcomes in its place; the next batch runs meanwhile.
    """

    def __init__(
        self,
        run: Callable[[list[Job]], Sequence[Any]],
        *,
        jobs_max: int,
        then: Callable[[list[Job], Sequence[Any]], Sequence[Answer | Exception]] | None = None,
    ) -> None:
        self._run = run
        self._then = then
        self._jobs_max = jobs_max
        self._lock = threading.Lock()
        self._waiting: list[_Ticket[Job, Answer]] = []
        self._is_led = False
        self._last = 0

    def submit(self, job: Job) -> Answer:
        """Run the job, alone or in a batch, and answer its outcome once the whole batch is done."""
        ticket: _Ticket[Job, Answer] = _Ticket(job)
        with self._lock:
            self._waiting.append(ticket)
            ticket.is_leader, self._is_led = not self._is_led, True
        if not ticket.is_leader:
            self._wait(ticket)
        if ticket.is_leader:
            self._lead(ticket)
        if ticket.fault is not None:
            raise ticket.fault
        return ticket.answer

    def _wait(self, ticket: _Ticket[Job, Answer]) -> None:
        try:
            ticket.woken.acquire()
        except BaseException:  # an interrupt in this thread must not leave the others without a leader
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
            if ticket.is_leader:
                self._hand_on()
            raise

    def _gather(self) -> None:
        """Let those come who were in the last batch: they are awake now, and a flush for each would hold up all."""
        count = 0
        while count < min(len(self._waiting), self._last - 1):
            count = len(self._waiting)
            time.sleep(_GATHERED_S)

    def _lead(self, own: _Ticket[Job, Answer]) -> None:
        self._gather()
        with self._lock:
            batch, self._waiting = self._waiting[: self._jobs_max], self._waiting[self._jobs_max :]
        self._last = len(batch)
        jobs = [each.job for each in batch]
        try:
            try:
                outcomes = self._run(jobs)
            finally:
                self._hand_on()
            if self._then is not None:
                outcomes = self._then(jobs, outcomes)
            for each, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    each.fault = outcome
                else:
                    each.answer = outcome
        except BaseException as fault:  # noqa: BLE001  # whatever it is, everybody in the batch must hear of it
            for each in batch:
                each.fault = fault
        finally:
            for each in batch:
                if each is not own:
                    each.woken.release()

    def _hand_on(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting[0].is_leader = True
                self._waiting[0].woken.release()
            else:
                self._is_led = False
