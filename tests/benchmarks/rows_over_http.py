"""Rows over HTTP: ours with one worker, beside Redis and bare ASGI applications under the same load."""

from collections.abc import Callable
from functools import partial
from typing import Any

import httpx

from tests.benchmarks.bench import Bench, Pair
from tests.benchmarks.made_files import many_contents
from tests.benchmarks.serving import bare, get, load, ours, post, redis, redis_set, upload
from tests.benchmarks.table import GB, MB, row

_PUTS = 2000
_GETS = 3000


@row(
    "40 KB durable puts over HTTP, 16 clients",
    beside="Redis SET, appendfsync always",
    bar="≥ 0.7× of its requests/s",
    most=1 / 0.7,
    sizes=(MB,),
)
def puts(bench: Bench) -> Pair:
    server, other = bench.serving(ours(bench.folder / "served")), redis(bench.folder)
    contents = list(many_contents(_PUTS + 100))
    load(server.port, [post("/v1/blobs", each) for each in contents[_PUTS:]], clients=16)
    work = partial(load, server.port, [post("/v1/blobs", each) for each in contents[:_PUTS]], clients=16)
    if other is None:
        return Pair(work, "not installed: redis-server")
    bench.serving(other)
    sets = [redis_set(str(number), each) for number, each in enumerate(contents[:_PUTS])]
    return Pair(work, partial(load, other.port, sets, clients=16, is_http=False), note=f"{_PUTS} puts")


@row(
    "read by handle over HTTP, 40 KB",
    beside="bare ASGI route that preads the same",
    bar="≥ 0.6× of its requests/s",
    most=1 / 0.6,
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
    return Pair(
        asked(server.port, "/v1/conversations/c/blobs/blob1/content"), asked(other.port, "/"), note=f"{_GETS} reads"
    )


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
    return Pair(partial(upload, server.port, "/v1/blobs", made.path), partial(upload, other.port, "/", made.path))
