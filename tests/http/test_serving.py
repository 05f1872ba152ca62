"""`blobs serve` as a process: what it refuses to do, and how it ends."""

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tests.http.server import AT_WORK, Server


def _serve(*flags: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "blobs.cli", "serve", *flags]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env={**os.environ, **environ}
    )


def test_without_keys_other_machines_are_not_listened_to(tmp_path: Path) -> None:
    """Binding to anything but loopback needs keys; the refusal says so and exits 2."""
    refused = _serve("--store", str(tmp_path / "s"), "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 2
    assert "keys" in refused.stderr


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--port", "many"), 2, "port"),
        (("--port", "70000"), 2, "70000"),
        (("--workers", "0"), 2, "workers"),
        (("--workers", "2", "--store", ":memory:"), 2, "memory"),
        (("--store", "/proc/nowhere"), 6, "/proc/nowhere"),
        (("--listen", "x"), 2, "--listen"),
        (("ada:",), 2, "empty"),
        ((":key",), 2, "empty"),
        (("ada:same,bob:same",), 2, "same key"),
    ],
)
def test_what_cannot_be_served_is_said_before_it_starts(
    tmp_path: Path, flags: tuple[str, ...], code: int, said: str
) -> None:
    """A wrong flag, port, store or key ends with its exit code and one plain message."""
    keys = {} if flags[0].startswith("--") else {"BLOBS_KEYS": flags[0]}
    refused = _serve("--port", "0", "--store", str(tmp_path / "s"), *(() if keys else flags), **keys)
    assert refused.returncode == code, refused.stderr
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_port_that_is_taken_is_said(server: Server, tmp_path: Path) -> None:
    """Two servers cannot have one port."""
    refused = _serve("--store", str(tmp_path / "s"), "--port", str(server.port))
    assert refused.returncode == 2
    assert str(server.port) in refused.stderr


def test_running_calls_end_before_the_server_does(tmp_path: Path) -> None:
    """After SIGTERM a call at work is answered, then the process exits 0; what it did is kept."""
    server = Server(tmp_path)
    server.http.post("/v1/conversations", json={"id": "c"})
    server.http.post("/v1/conversations/c/blobs", content=b"a\n1\n", headers={"Content-Type": "text/csv"})
    code = f"{AT_WORK}import time\ntime.sleep(2)\n40 + 2"
    arguments = {"blob": "blob1", "language": "python", "code": code}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(server.http.post, "/v1/conversations/c/tools/blob_code", json=arguments)
        server.await_work()
        server.process.send_signal(signal.SIGTERM)
        assert call.result().json()["data"]["result"] == 42
    assert server.stop() == 0
    again = Server(tmp_path)
    assert list(again.http.get("/v1/conversations/c").json()["blobs"]) == ["blob1"]
    assert again.stop() == 0


def test_several_workers_serve_one_store(tmp_path: Path) -> None:
    """Any worker knows what another stored; SIGTERM to the first process ends them all with 0."""
    server = Server(tmp_path, "--workers", "2")
    server.http.post("/v1/conversations", json={"id": "c"})

    def turn(number: int) -> list[str]:
        with server.client() as client:  # a connection of its own may reach another worker
            body = {"calls": [{"id": "a", "result": "x" * 40_000 + str(number)}]}
            made = client.put(f"/v1/conversations/c/turns/{number}", json=body)
            return [each["blob"] for each in made.json()["handles"]]

    assert [turn(number) for number in range(1, 9)] == [[f"blob{number}"] for number in range(1, 9)]
    assert server.stop() == 0


def test_the_application_is_made_over_an_open_service() -> None:
    """`create_app` also takes a service that somebody opened, and leaves it open."""
    from api.app import create_app
    from blobs import Blobs

    async def store(app: FastAPI) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as client:
            return await client.post("http://localhost/v1/blobs", content=b"from a test")

    with Blobs.open(":memory:") as blobs:
        stored = asyncio.run(store(create_app(blobs)))
        assert blobs.content(stored.json()) == b"from a test"
