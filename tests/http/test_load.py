"""Many clients at once while workers are killed: what was acknowledged is there, and nobody sees a fault.

`BLOBS_LOAD_REQUESTS` is how many requests each of the 16 clients makes (40); the long run is 2000.
"""

import hashlib
import os
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from tests.http.server import Server

CLIENTS = 16
REQUESTS = int(os.environ.get("BLOBS_LOAD_REQUESTS", "40"))
KILLS = 3
TRIES_MAX = 200


@dataclass
class Client:
    """One runtime with a conversation of its own; it remembers what it was promised."""

    server: Server
    number: int
    blobs: dict[str, bytes] = field(default_factory=dict)
    turns: dict[int, tuple[dict[str, Any], bytes]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    fault: str = ""

    def run(self) -> None:
        """Mixed requests from a seed: uploads, turns, reads, tool calls, dumps."""
        random = Random(self.number)
        with self.server.client() as http:
            self._http = http
            self._send("POST", "/v1/conversations", json={"id": f"load-{self.number}"})
            for _ in range(REQUESTS):
                random.choice([self._upload, self._turn, self._turn, self._read, self._tool, self._dump])(random)

    @property
    def path(self) -> str:
        return f"/v1/conversations/load-{self.number}"

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A request as often as it takes: a worker that was killed answers nothing, a busy one says when to return."""
        for _ in range(TRIES_MAX):
            try:
                answer = self._http.request(method, path, **more)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            self.statuses[answer.status_code] += 1
            if answer.status_code != 429:
                return answer
            time.sleep(0.1)
        raise AssertionError(f"{method} {path}: no answer")

    def _upload(self, random: Random) -> None:
        content = random.randbytes(random.choice([10, 1000, 40_000, 400_000]))
        made = self._send("POST", "/v1/blobs", content=content)
        assert made.status_code == 201, made.text
        self.blobs[made.json()["$blob"]] = content

    def _turn(self, random: Random) -> None:
        number = len(self.turns) + 1
        rows = [{"id": random.getrandbits(60), "name": "row"} for _ in range(random.choice([2, 1500]))]
        body = {"calls": [{"id": f"call-{number}", "tool": "list", "result": rows}]}
        made = self._send("PUT", f"{self.path}/turns/{number}", json=body)
        assert made.status_code == 200, made.text
        self.turns[number] = (body, made.content)

    def _read(self, random: Random) -> None:
        if self.blobs:
            digest = random.choice(list(self.blobs))
            assert self._send("GET", f"/v1/blobs/{digest}").content == self.blobs[digest]

    def _tool(self, _: Random) -> None:
        answer = self._send("POST", f"{self.path}/tools/blob_read", json={"blob": "blob1", "count": 1})
        assert answer.status_code == 200, answer.text

    def _dump(self, _: Random) -> None:
        assert len(self._send("GET", self.path).json()["turns"]) == len(self.turns)


def workers(server: Server) -> list[int]:
    """The processes that answer, without the one that watches them and what they started."""
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.timeout(1200)
def test_nothing_is_lost_while_workers_are_killed(tmp_path: Path) -> None:
    """Every blob that was acknowledged is whole, every turn repeats its bytes, and no answer was a 500."""
    server = Server(tmp_path, "--workers", "2")
    try:
        clients = [Client(server, number) for number in range(CLIENTS)]
        threads = [threading.Thread(target=_guarded, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        killed = 0
        while killed < KILLS and any(thread.is_alive() for thread in threads):
            time.sleep(1.5)
            running = workers(server)
            if len(running) == 2:
                os.kill(running[killed % 2], signal.SIGKILL)
                killed += 1
        for thread in threads:
            thread.join()
        assert [client.fault for client in clients if client.fault] == []
        assert killed
        statuses = sum((client.statuses for client in clients), Counter())
        assert not [status for status in statuses if status >= 500], statuses
        with server.client() as http:
            for client in clients:
                _check(client, http)
    finally:
        server.stop()
    assert "Traceback" not in server.log.read_text()


def _guarded(client: Client) -> None:
    try:
        client.run()
    except Exception as fault:
        client.fault = f"client {client.number}: {fault!r}"


def _check(client: Client, http: httpx.Client) -> None:
    for digest, content in client.blobs.items():
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert http.get(f"/v1/blobs/{digest}").content == content
    for number, (body, answer) in client.turns.items():
        assert http.put(f"{client.path}/turns/{number}", json=body).content == answer
