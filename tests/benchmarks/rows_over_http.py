"""Rows over HTTP: ours with one worker, beside Redis and bare ASGI applications under the same load."""

from collections.abc import Callable
from functools import partial
from typing import Any

import httpx

from tests.benchmarks.bench import Bench, Pair
from tests.benchmarks.made_files import many_contents
from tests.benchmarks.serving import Served, bare, get, load, nginx, ours, post, put, redis, redis_set, upload
from tests.benchmarks.table import GB, MB, row

_PUTS = 2000
_GETS = 3000
_RUNS = 3


_puts = partial(row, "40 KB durable puts over HTTP, 16 clients", sizes=(MB,), at=MB)


@_puts(beside="Redis SET, appendfsync always", bar="≥ 0.7× of its requests/s", most=1 / 0.7)
def puts(bench: Bench) -> Pair:
    server, contents, other = *_putting(bench), redis(bench.folder)
    work = _in_runs(server, [post("/v1/blobs", each) for each in contents])
    if other is None:
        return Pair(work, "not installed: redis-server", repeat=_RUNS, server=server)
    bench.serving(other)
    sets = [redis_set(str(number), each) for number, each in enumerate(contents)]
    peer = _in_runs(other, sets, is_http=False)
    return Pair(work, peer, repeat=_RUNS, peer_repeat=_RUNS, note=f"{_PUTS} puts", server=server)


@_puts(beside="nginx WebDAV PUT, never flushed")
def puts_beside_nginx(bench: Bench) -> Pair:
    server, contents, other = *_putting(bench), nginx(bench.folder)
    work = _in_runs(server, [post("/v1/blobs", each) for each in contents])
    if other is None:
        return Pair(work, "not installed: nginx", repeat=_RUNS, server=server)
    bench.serving(other)
    peer = _in_runs(other, [put(f"/{number}", each) for number, each in enumerate(contents)])
    return Pair(work, peer, repeat=_RUNS, peer_repeat=_RUNS, note=f"{_PUTS} puts", server=server)


def _putting(bench: Bench) -> tuple[Served, list[bytes]]:
    """A warm server, and what it has not stored yet."""
    server = bench.serving(ours(bench.folder / "served"))
    contents = list(many_contents(_PUTS * _RUNS + 100))
    load(server.port, [post("/v1/blobs", each) for each in contents[:100]], clients=16)
    return server, contents[100:]


def _in_runs(server: Served, requests: list[bytes], *, is_http: bool = True) -> Callable[[], None]:
    """Work that sends the next part of the requests each time: what is stored again would be no work."""
    parts = iter([requests[start : start + _PUTS] for start in range(0, len(requests), _PUTS)])
    return lambda: load(server.port, next(parts), clients=16, is_http=is_http)


@row(
    "read by handle over HTTP, 40 KB",
    beside="bare ASGI route that preads the same",
    bar="≥ 0.6× of its requests/s",
    most=1 / 0.6,
    at=MB,
    sizes=(MB,),
)
def gets(bench: Bench) -> Pair:
    server = bench.serving(ours(bench.folder / "served-2"))
    (content,) = many_contents(1)
    held = bench.folder / "held"
    held.write_bytes(content)
    url = f"http://127.0.0.1:{server.port}/v1/conversations"
    httpx.post(url, json={"id": "c"}).raise_for_status()
    httpx.post(f"{url}/c/blobs", content=content, headers={"Content-Type": "text/plain"}).raise_for_status()
    other = bench.serving(bare(bench.folder, held))

    def asked(port: int, path: str) -> Callable[[], Any]:
        return lambda: load(port, [get(path)] * _GETS, clients=16)

    asked(server.port, "/v1/conversations/c/blobs/blob1/content")()
    work = asked(server.port, "/v1/conversations/c/blobs/blob1/content")
    return Pair(work, asked(other.port, "/"), repeat=_RUNS, peer_repeat=_RUNS, note=f"{_GETS} reads", server=server)


@row(
    "upload over HTTP, one client",
    beside="bare Starlette route that hashes and writes",
    bar="≥ 0.9× of its speed",
    most=1 / 0.9,
    sizes=(100 * MB, GB),
)
def uploads(bench: Bench) -> Pair:
    made = bench.file("log")
    server = bench.serving(ours(bench.folder / "served-3"))
    other = bench.serving(bare(bench.folder, made.path))
    work = partial(upload, server.port, "/v1/blobs", made.path)
    return Pair(work, partial(upload, other.port, "/", made.path), server=server)
