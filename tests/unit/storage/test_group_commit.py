"""Batches of many threads."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from blobs.storage import group_commit
from blobs.storage.group_commit import GroupCommit


class Flushes:
    """A run that waits to be let go and remembers its batches."""

    def __init__(self):
        self.batches = []
        self.begun = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)

    def run(self, jobs):
        self.batches.append(list(jobs))
        self.begun.release()
        self.gate.acquire()
        return [job * 10 for job in jobs]


def submit_while_running(group: GroupCommit, flushes: Flushes, pool: ThreadPoolExecutor, jobs) -> list[Future]:
    """Submit job 0, and the others in order while its run is held up."""
    futures = [pool.submit(group.submit, 0)]
    flushes.begun.acquire()
    for count, job in enumerate(jobs, start=1):
        futures.append(pool.submit(group.submit, job))
        while len(group._waiting) < count:
            pass
    return futures


def test_jobs_that_come_during_a_run_share_the_next_one():
    """Nine jobs make two runs, in the order they came, and each caller gets its own answer."""
    flushes = Flushes()
    group = GroupCommit(flushes.run, jobs_max=100)
    with ThreadPoolExecutor(9) as pool:
        futures = submit_while_running(group, flushes, pool, range(1, 9))
        flushes.gate.release(2)
        assert [each.result() for each in futures] == [0, 10, 20, 30, 40, 50, 60, 70, 80]
    assert flushes.batches == [[0], [1, 2, 3, 4, 5, 6, 7, 8]]


def test_a_batch_has_a_most():
    """More jobs than one batch takes go on in the next."""
    flushes = Flushes()
    group = GroupCommit(flushes.run, jobs_max=3)
    with ThreadPoolExecutor(9) as pool:
        futures = submit_while_running(group, flushes, pool, range(1, 8))
        flushes.gate.release(4)
        assert [each.result() for each in futures] == [0, 10, 20, 30, 40, 50, 60, 70]
    assert flushes.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_an_outcome_that_is_an_error_is_its_callers_alone():
    """One bad job does not fail the others of its batch."""
    group = GroupCommit(lambda jobs: [ValueError("bad") if job == 1 else job for job in jobs], jobs_max=10)
    assert group.submit(0) == 0
    with pytest.raises(ValueError, match="bad"):
        group.submit(1)


def test_a_run_that_fails_fails_everybody_in_it_and_nobody_after():
    """All callers of a failed batch hear of it; the next batch is run."""
    flushes = Flushes()

    def run(jobs):
        answers = flushes.run(jobs)
        if 1 in jobs:
            raise OSError("no flush")
        return answers

    group = GroupCommit(run, jobs_max=100)
    with ThreadPoolExecutor(4) as pool:
        first, *others = submit_while_running(group, flushes, pool, [1, 2, 3])
        flushes.gate.release(3)
        assert first.result() == 0
        for each in others:
            with pytest.raises(OSError, match="no flush"):
                each.result()
    assert group.submit(7) == 70


def test_the_next_batch_runs_while_the_second_step_of_the_last_one_goes_on():
    """The second step answers the callers; whoever comes while it runs need not wait for it to begin the first."""
    ended, first_ran = [], threading.Event()
    second = Flushes()

    def run(jobs):
        first_ran.set()
        return [job + 1 for job in jobs]

    def then(jobs, answers):
        second.run(jobs)
        ended.append(list(jobs))
        return [ValueError("odd") if answer % 2 else answer * 10 for answer in answers]

    group = GroupCommit(run, then=then, jobs_max=100)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(group.submit, 1)
        second.begun.acquire()
        first_ran.clear()
        late = pool.submit(group.submit, 2)
        assert first_ran.wait(20)
        assert ended == []
        second.gate.release(2)
        assert slow.result() == 20
        with pytest.raises(ValueError, match="odd"):
            late.result()


def test_an_interrupted_waiter_hands_the_lead_on(monkeypatch):
    """A thread that is interrupted when its turn to lead has come does not leave the others waiting."""
    flushes = Flushes()
    group = GroupCommit(flushes.run, jobs_max=100)

    class InterruptedTicket(group_commit._Ticket):
        def __init__(self, job):
            super().__init__(job)
            self.woken = self

        def release(self):
            pass

        def acquire(self):
            while not self.is_leader:
                pass
            raise KeyboardInterrupt

    def submit_interrupted():
        with pytest.raises(KeyboardInterrupt):
            group.submit(1)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(group.submit, 0)
        flushes.begun.acquire()
        with monkeypatch.context() as patch:
            patch.setattr(group_commit, "_Ticket", InterruptedTicket)
            interrupted = pool.submit(submit_interrupted)
            while len(group._waiting) < 1:
                pass
        last = pool.submit(group.submit, 2)
        while len(group._waiting) < 2:
            pass
        flushes.gate.release(2)
        assert (first.result(), last.result(), interrupted.result()) == (0, 20, None)
    assert flushes.batches == [[0], [2]]
