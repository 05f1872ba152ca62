"""A real `blobs serve` in a process of its own, for tests."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.unit.running.processes import descendants

_AT_WORK_BYTES = 500_000_000

AT_WORK = f"x = bytes(range(256)) * {_AT_WORK_BYTES // 256}\n"
"""Begins a program that can be seen at work from outside of its cell: by what it holds."""


class Server:
    """Started by its making; `stop` ends it by SIGTERM and answers its exit code."""

    def __init__(self, folder: Path, *flags: str, environ: Mapping[str, str] | None = None, key: str | None = None):
        self.log = folder / "log"
        self.store = folder / "store"
        command = [sys.executable, "-m", "blobs.cli", "serve", "--port", "0", "--store", str(self.store), *flags]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env={**inherited, **(environ or {})}
            )
        assert self.process.stdout is not None
        said = self.process.stdout.readline().decode()
        found = re.search(r"http://[^ ]+", said)
        assert found, f"{said!r} {self.log.read_text()}"
        self.url = found.group()
        self.port = int(self.url.rsplit(":", 1)[1])
        self._await_ready()
        self.http = self.client(key)

    def client(self, key: str | None = None) -> httpx.Client:
        """A client of this server, with a key or without."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def stop(self) -> int:
        """End it as an operator does."""
        self.http.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()
            if self.process.stdout is not None:
                self.process.stdout.close()

    def memory_bytes(self) -> int:
        """What the server process holds resident now."""
        return _resident_bytes(self.process.pid)

    def await_work(self) -> None:
        """Wait until a cell is at work on a program that begins with `AT_WORK`."""
        deadline = time.monotonic() + 60
        while all(_resident_bytes(each) < _AT_WORK_BYTES for each in descendants(self.process.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)


def _resident_bytes(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:  # it has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
