"""The pool: places, replacement, and that nothing stays behind."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blobs.domain.errors import BusyError, SandboxError
from blobs.running import CellFile, CellLimits, Job
from tests.unit.running.conftest import open_cells
from tests.unit.running.processes import descendants, is_running, wait_until

ECHO = Job("echo", {})


def sleep_job(wall_ms: int) -> Job:
    return Job("end", {"how": "sleep"}, limits=CellLimits(wall_ms=wall_ms))


def what_is_there() -> tuple[int, int, int, int]:
    """Descriptors, processes below this one, mounts, threads."""
    mounts = Path("/proc/self/mounts").read_text().count("\n")
    return sum(1 for _ in os.scandir("/proc/self/fd")), len(descendants(os.getpid())), mounts, threading.active_count()


def settled() -> tuple[int, int, int, int]:
    """What is there once calls before have been cleared away."""
    seen = [what_is_there()]
    while len(seen) < 4 or len({*seen[-4:]}) > 1:
        time.sleep(0.2)
        seen.append(what_is_there())
    return seen[-1]


def test_five_hundred_calls_leave_nothing(tmp_path, monkeypatch):
    """No process, mount, descriptor, thread or file more than before, whatever became of the calls."""
    path = tmp_path / "blob"
    path.write_text("x")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    jobs = [
        Job("echo", {}, (CellFile("a", path),)),
        Job("fail", {"kind": "value"}),
        Job("end", {"how": "exit"}),
        Job("stream", {"count": 2, "size": 100_000}, limits=CellLimits(result_bytes=150_000)),
    ]
    with open_cells() as runner:
        assert runner.run(ECHO).status == "ok"
        before = settled()
        for index in range(500):
            runner.run(jobs[index % 4])
        assert wait_until(lambda: what_is_there() == before), (before, what_is_there())
    assert [*temporary.iterdir()] == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["blob", "temporary"]


def test_a_closed_pool_leaves_nothing():
    """After close() every process is gone and every descriptor closed; running calls end as killed."""
    before = settled()
    runner = open_cells()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run, sleep_job(30_000))
        assert wait_until(lambda: runner._pool is not None and runner._pool._running_count == 1)
        time.sleep(0.1)
        runner.close()
        assert running.result(10).status == "killed"
    runner.close()
    assert wait_until(lambda: what_is_there() == before), (before, what_is_there())
    with pytest.raises(SandboxError, match="closed"):
        runner.run(ECHO)


def test_a_killed_host_leaves_nothing(tmp_path):
    """The kernel ends launcher, zygote and workers when their host is gone, also in the middle of a call.

    With them go their mounts; no file is left either.
    """
    before = Path("/proc/self/mounts").read_text()
    program = (
        "import threading, time\n"
        "from tests.unit.running.test_pool import open_cells, sleep_job, ECHO\n"
        "runner = open_cells()\n"
        "runner.run(ECHO)\n"
        "threading.Thread(target=runner.run, args=(sleep_job(60_000),)).start()\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "ready\n"
        # launcher, zygote, a worker at work, a worker that waits
        assert wait_until(lambda: len(descendants(host.pid)) >= 4)
        below = descendants(host.pid)
    finally:
        host.kill()
        host.communicate()
    assert wait_until(lambda: not any(is_running(each) for each in below))
    assert Path("/proc/self/mounts").read_text() == before
    assert [*tmp_path.iterdir()] == []


def test_more_calls_than_places_wait_and_then_are_told_to_come_again():
    """A call that finds no place in time is turned away with the time to wait, and may be tried again."""
    with open_cells(cells_max=1, wait_ms_max=300) as runner, ThreadPoolExecutor(1) as threads:
        runner.run(ECHO)
        running = threads.submit(runner.run, sleep_job(2_000))
        assert wait_until(lambda: runner._pool._running_count == 1)
        with pytest.raises(BusyError, match=r"Try again in 1 s\.") as busy:
            runner.run(ECHO)
        assert busy.value.is_retryable
        assert running.result(10).status == "timeout"
        assert runner.run(ECHO).status == "ok"


def test_places_go_to_calls_in_the_order_in_which_they_came():
    """One place, five that wait: the first to come is the first to be served, and a newcomer does not pass them."""
    served: list[int] = []
    with open_cells(cells_max=1) as runner, ThreadPoolExecutor(6) as threads:
        runner.run(ECHO)
        running = threads.submit(runner.run, sleep_job(1_500))
        assert wait_until(lambda: runner._pool._running_count == 1)
        for index in range(5):
            call = threads.submit(runner.run, Job("echo", {"index": index}))
            call.add_done_callback(lambda done: served.append(done.result().value["arguments"]["index"]))
            assert wait_until(lambda count=index + 1: len(runner._pool._waiting) == count)
        assert running.result(10).status == "timeout"
    assert served == [0, 1, 2, 3, 4]


def test_more_than_can_wait_are_turned_away_at_once():
    """There is no pile-up: the line has an end."""
    with open_cells(cells_max=1) as runner, ThreadPoolExecutor(9) as threads:
        runner.run(ECHO)
        running = threads.submit(runner.run, sleep_job(3_000))
        assert wait_until(lambda: runner._pool._running_count == 1)
        waiting = [threads.submit(runner.run, ECHO) for _ in range(8)]
        assert wait_until(lambda: len(runner._pool._waiting) == 8)
        with pytest.raises(BusyError, match=r"Try again in 10 s\."):
            runner.run(ECHO)
        assert running.result(10).status == "timeout"
        assert [each.result(10).status for each in waiting] == ["ok"] * 8


def test_calls_of_many_threads_each_get_their_own_answer():
    """More callers than cells: all are served, none gets another's answer."""
    with open_cells() as runner, ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda index: runner.run(Job("echo", {"index": index})), range(80)))
    assert [outcome.value["arguments"]["index"] for outcome in outcomes] == list(range(80))


def test_a_dead_zygote_is_replaced():
    """Calls that come after its death wait for the successor."""
    others = descendants(os.getpid())
    with open_cells() as runner:
        runner.run(ECHO)
        first = runner._pool._zygote
        for process in descendants(os.getpid()) - others:
            if is_running(process):
                os.kill(process, signal.SIGKILL)
        assert wait_until(lambda: not first.is_alive)
        assert runner.run(ECHO).status == "ok"
        assert runner._pool._zygote is not first


def test_a_dead_idle_worker_costs_nothing():
    """Another takes its place without the caller's notice: nothing of the task had run."""
    with open_cells() as runner:
        runner.run(ECHO)
        assert wait_until(lambda: len(runner._pool._idle) == 2)
        for worker in list(runner._pool._idle):
            worker.kill()
        assert [runner.run(ECHO).status for _ in range(4)] == ["ok"] * 4


def test_a_zygote_is_replaced_after_its_calls():
    """Its address layout is shared by all its workers, so it does not live for ever; no call fails meanwhile."""
    others = descendants(os.getpid())
    with open_cells(calls_per_zygote=5) as runner:
        runner.run(ECHO)
        first = runner._pool._zygote
        assert wait_until(lambda: runner.run(ECHO).status == "ok" and runner._pool._zygote is not first)
        assert wait_until(lambda: not first.is_alive)
        assert all(runner.run(ECHO).status == "ok" for _ in range(5))
        assert wait_until(lambda: len(descendants(os.getpid()) - others) <= 8)


def test_a_zygote_is_replaced_after_its_time():
    """However few its calls."""
    with open_cells(zygote_s_max=0.5) as runner:
        runner.run(ECHO)
        first = runner._pool._zygote
        assert runner.run(ECHO).status == "ok"
        time.sleep(0.6)
        assert wait_until(lambda: runner.run(ECHO).status == "ok" and runner._pool._zygote is not first)
        assert wait_until(lambda: not first.is_alive)


def test_a_task_that_cannot_be_loaded_is_refused_by_itself():
    """The other tasks of the table run."""
    with open_cells(tasks={"echo": "tests.unit.running.tasks:echo", "gone": "tests.unit.running.none:run"}) as runner:
        assert runner.run(ECHO).status == "ok"
        with pytest.raises(SandboxError, match="gone could not be loaded"):
            runner.run(Job("gone", {}))
        assert "ModuleNotFoundError" in runner.describe()["broken"]["gone"]


def test_starting_does_not_wait():
    """start() returns while the zygote is still loading; the first question waits."""
    runner = open_cells(preload=("pandas",))
    try:
        runner.start()
        assert runner._starting is not None
        assert runner._starting.is_alive()
        assert runner.tier == "A"
        assert runner.describe()["libraries"].keys() == {"pandas"}
    finally:
        runner.close()


def test_without_a_cell_untrusted_tasks_are_refused_and_trusted_ones_run(tmp_path):
    """The tier none is a plain process: what a model writes does not run there, and the reason is said."""
    path = tmp_path / "blob"
    path.write_text("x")
    with open_cells(tiers=("none",), trusted_tasks=("echo", "fail")) as runner:
        assert runner.tier == "none"
        assert runner.run(Job("echo", {}, (CellFile("a", path),))).value["files"] == {"a": "x"}
        assert runner.run(Job("fail", {"kind": "memory"})).status == "memory"
        with pytest.raises(SandboxError, match="run_code is not run here"):
            runner.run(Job("run_code", {"code": "1"}))
        assert runner.describe()["runs_untrusted"] is False


def test_a_pool_without_any_tier_says_so():
    """No tier, no trusted task: every call is refused."""
    with open_cells(tiers=()) as runner, pytest.raises(SandboxError, match="No cell can be had here"):
        runner.run(ECHO)
