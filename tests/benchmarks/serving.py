"""Servers and the load on them: ours with one worker, Redis, and bare ASGI applications that do only the work."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

BARE = """
import hashlib, os, sys, tempfile
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

held, folder = sys.argv[2], sys.argv[3]
descriptor = os.open(held, os.O_RDONLY)
size = os.fstat(descriptor).st_size

async def get(request):
    return Response(os.pread(descriptor, size, 0), media_type="application/octet-stream")

async def post(request):
    hasher = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        async for chunk in request.stream():
            hasher.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return Response(hasher.hexdigest(), 201)

app = Starlette(routes=[Route("/", get), Route("/", post, methods=["POST"])])
if __name__ == "__main__":
    import uvicorn
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop", http="httptools", log_level="error")
"""


class Served:
    """A server process on a loopback port; ended by `stop`."""

    def __init__(self, command: list[str], port: int | None = None) -> None:
        """Without a port the server says where it listens in its first line."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
        output = subprocess.PIPE if port is None else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=environ)
        if port is None:
            assert self.process.stdout is not None
            found = re.search(r"http://[^ ]+:(\d+)", self.process.stdout.readline().decode())
            assert found is not None
            port = int(found.group(1))
        self.port = port
        self._await()

    def _await(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self.process.poll() is None, "the server has ended"
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("the server does not listen")

    def stop(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def ours(store: Path) -> Served:
    """`blobs serve` with one worker, over a new store."""
    shutil.rmtree(store, ignore_errors=True)
    return Served([sys.executable, "-m", "blobs.cli", "serve", "--port", "0", "--store", str(store)])


def bare(folder: Path, held: Path) -> Served:
    """A bare Starlette application: GET gives one file's bytes, POST hashes the body and writes it durably."""
    program = folder / "bare.py"
    program.write_text(BARE)
    port = _free_port()
    return Served([sys.executable, str(program), str(port), str(held), str(folder)], port)


def redis(folder: Path) -> Served | None:
    """Redis that flushes its log for every answer; None where it is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        return None
    port = _free_port()
    data = folder / "redis"
    data.mkdir(exist_ok=True)
    flags = {"bind": "127.0.0.1", "port": port, "dir": data, "appendonly": "yes", "appendfsync": "always", "save": ""}
    command = [program, *(word for name, value in flags.items() for word in (f"--{name}", str(value)))]
    return Served(command, port)


def nginx(folder: Path) -> Served | None:
    """nginx that keeps what it is sent as files and leaves flushing to the system; None where it is not installed."""
    program = shutil.which("nginx")
    if program is None:
        return None
    port, data = _free_port(), folder / "nginx"
    for each in (data, data / "kept"):
        each.mkdir(exist_ok=True)
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {data}/{name};" for name in names)
    (data / "conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''} daemon off; worker_processes 1; pid {data}/pid; "
        f"error_log {data}/log; events {{}} http {{ access_log off; {places} client_body_buffer_size 64k; "
        f"server {{ listen 127.0.0.1:{port}; root {data}/kept; dav_methods PUT; }} }}"
    )
    return Served([program, "-c", str(data / "conf"), "-e", str(data / "log")], port)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def post(path: str, content: bytes) -> bytes:
    """A request with a body, as bytes."""
    return _head("POST", path, len(content)) + content


def put(path: str, content: bytes) -> bytes:
    """A request to keep a file, as bytes."""
    return _head("PUT", path, len(content)) + content


def _head(verb: str, path: str, size: int) -> bytes:
    lines = (
        f"{verb} {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: text/plain",
        f"Content-Length: {size}",
        "",
        "",
    )
    return "\r\n".join(lines).encode()


def get(path: str) -> bytes:
    """A request without a body, as bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def redis_set(key: str, content: bytes) -> bytes:
    """A SET, as bytes."""
    return b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key.encode(), len(content), content)


def load(port: int, requests: Iterable[bytes], *, clients: int, is_http: bool = True) -> None:
    """Send all requests over so many connections, on each the next when the last is answered."""
    asyncio.run(_load(port, iter(requests), clients, _http_answer if is_http else _redis_answer))


async def _load(port: int, requests: Iterable[bytes], clients: int, read: Callable[..., object]) -> None:
    waiting = iter(requests)

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        for request in waiting:
            writer.write(request)
            await writer.drain()
            await read(reader)  # type: ignore[misc]
        writer.close()

    await asyncio.gather(*(one() for _ in range(clients)))


async def _http_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head[9:11] == b"20", head[:300]
    length = re.search(rb"content-length: (\d+)", head.lower())
    assert length is not None
    await reader.readexactly(int(length.group(1)))


async def _redis_answer(reader: asyncio.StreamReader) -> None:
    assert await reader.readline() == b"+OK\r\n"


def upload(port: int, path: str, file: Path) -> None:
    """Send a file as the body of one request and wait for the answer."""
    size = file.stat().st_size
    with socket.create_connection(("127.0.0.1", port)) as connection, file.open("rb") as content:
        connection.sendall(_head("POST", path, size))
        connection.sendfile(content)
        assert b" 201 " in connection.recv(65536)
