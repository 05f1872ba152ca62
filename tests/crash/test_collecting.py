"""Collectors beside writers in several processes, and a collector that is killed."""

import json
import os
import random
import signal
import subprocess
import sys

from blobs.storage.blob_store import now_ms
from blobs.storage.collecting import Collector
from tests.crash.test_writers import REPOSITORY, check, start_writer
from tests.crash.writer import open_store


def test_processes_that_write_and_collect_lose_nothing(tmp_path):
    """Two processes of two writers and a collector each, without grace; 3 s, or BLOBS_RACE_SECONDS."""
    seconds = os.environ.get("BLOBS_RACE_SECONDS", "3")
    open_store(tmp_path)[0].close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.racer", str(tmp_path), seconds, str(number)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    found = [json.loads(each.communicate()[0]) for each in racers]
    assert [each.returncode for each in racers] == [0, 0]
    assert [each["lost"] for each in found] == [[], []]
    assert sum(each["named"] for each in found) > 20
    assert sum(each["removed"] for each in found) > 0


def test_killed_writers_and_collectors_lose_nothing(tmp_path):
    """Writers and a collector without grace are killed at random, 5 times or BLOBS_KILLS; what was named is whole."""
    open_store(tmp_path)[0].close()
    draw, acknowledged = random.Random(5), []
    for number in range(int(os.environ.get("BLOBS_KILLS", "5"))):
        with start_writer(tmp_path, f"writer {number}", 1000) as writer:
            collector = subprocess.Popen([sys.executable, "-m", "tests.crash.racer", str(tmp_path)], cwd=REPOSITORY)
            for _ in range(draw.randrange(5, 40)):
                acknowledged.append(writer.stdout.readline())
            for each in draw.sample([writer, collector], 2):
                each.send_signal(signal.SIGKILL)
            acknowledged += [each for each in writer.stdout if each.endswith("\n")]
            assert collector.wait() == -signal.SIGKILL
        assert writer.returncode == -signal.SIGKILL
    check(tmp_path, acknowledged)


def test_records_go_before_bytes(tmp_path, monkeypatch):
    """A collection takes the record out, then deletes the file, and only then forgets its key."""
    blobs, content, catalog = open_store(tmp_path)
    blobs.put("a", b"x" * 300_000, media_type="text/plain")
    steps = []
    for owner, name in ((catalog, "remove_unused"), (content, "delete"), (catalog, "empty_trash")):
        monkeypatch.setattr(owner, name, noting(steps, name, getattr(owner, name)))
    collector = Collector(content, catalog, grace_ms=0, clock=lambda: now_ms() + 1000)
    assert collector.collect().keys_freed == 1
    assert steps == ["remove_unused", "delete", "empty_trash"]
    blobs.close()


def noting(steps, name, call):
    """The call, which is noted once it is done."""

    def noted(*given, **named):
        answer = call(*given, **named)
        steps.append(name)
        return answer

    return noted
