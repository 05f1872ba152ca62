"""Collectors beside writers in several processes, and a collector that is killed."""

import json
import os
import subprocess
import sys

from tests.crash.test_writers import REPOSITORY
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
