"""Rows of what comes in: put and profile, offload, many small puts."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from blobs import Blobs
from tests.benchmarks.bench import Bench, Pair, read
from tests.benchmarks.made_files import many_contents, result_of_40_kb
from tests.benchmarks.table import MB, row

_FEW, _MANY = 100, 10_000


def _sha256(path: Path) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


def _sha256_and_footer(path: Path) -> None:
    import pyarrow.parquet

    _sha256(path)
    pyarrow.parquet.read_metadata(path)


def _put_and_profile(kind: str, bench: Bench) -> Pair:
    made = bench.file(kind)
    repeat = 1 if made.size > 50 * MB else 5
    bench.blobs.doctor()
    return Pair(
        lambda: bench.fresh().conversation().attach(made.path),
        partial(_sha256, made.path),
        repeat=repeat,
        peer_repeat=repeat,
    )


for _kind, _most in (("log", 1.5), ("csv", 3.0), ("ndjson", 3.0), ("json", 3.0), ("columns.parquet", 1.2)):
    row(f"put + profile of {_kind}", beside="bare SHA-256", bar=f"≤ {_most}×", most=_most, by="cpu")(
        partial(_put_and_profile, _kind)
    )


@row("put + profile of columns.parquet", beside="SHA-256 and a read of the footer", by="cpu")
def parquet(bench: Bench) -> Pair:
    pair = _put_and_profile("columns.parquet", bench)
    peer = partial(_sha256_and_footer, bench.file("columns.parquet").path)
    return Pair(pair.ours, peer, repeat=pair.repeat, peer_repeat=pair.repeat)


@row(
    "offload of a 40 KB result",
    beside="json.dumps + SHA-256 + fsync'd write",
    bar="≤ 2.5×",
    most=2.5,
    at=MB,
    sizes=(MB,),
)
def offload(bench: Bench) -> Pair:
    value, number = result_of_40_kb(), iter(range(10**6))
    chat = bench.fresh().conversation()

    def ours() -> None:
        with chat.turn() as turn:
            turn.offload({**value, "number": next(number)})

    def peer() -> None:
        content = json.dumps({**value, "number": next(number)}).encode()
        path = bench.folder / f"peer-{hashlib.sha256(content).hexdigest()}"
        _write_durably(path, content)
        path.unlink()

    ours()
    return Pair(ours, peer, repeat=40, peer_repeat=40)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@row("40 KB durable puts, 16 threads", beside="append + fdatasync each", bar="≥ 3×", most=1 / 3, at=MB, sizes=(MB,))
def many_puts(bench: Bench) -> Pair:
    runs = 3
    contents = list(many_contents(640 * runs))
    parts = {who: iter([contents[run::runs] for run in range(runs)]) for who in ("ours", "peer")}
    blobs, peer_file = bench.fresh(), os.open(bench.folder / "appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def ours() -> None:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(blobs.put, next(parts["ours"])))

    def peer() -> None:
        for content in next(parts["peer"]):
            os.write(peer_file, content)
            os.fdatasync(peer_file)

    return Pair(ours, peer, repeat=runs, peer_repeat=runs)


def _stores(bench: Bench) -> tuple[Blobs, Blobs]:
    """Of a tenant with few blobs and one with many; the last of each is a conversation's `blob1`."""
    few, many = bench.blobs.tenant("few"), bench.blobs.tenant("many")
    if not many.list_blobs(limit=1):
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(few.put, many_contents(_FEW)))
            list(pool.map(many.put, many_contents(_MANY)))
        for each in (few, many):
            each.conversation("c").attach(next(many_contents(1)))
    return few, many


_many = partial(
    row, beside=f"the same at {_FEW} blobs", bar="≤ 1.3×", most=1.3, at=MB, sizes=(MB,)
)  # of every step by itself


@_many("10,000 blobs of 40 KB: the next put")
def next_put(bench: Bench) -> Pair:
    few, many = _stores(bench)
    fresh = [each for each in many_contents(_MANY + 700) if int(each[:12]) >= _MANY]
    return Pair(lambda: many.put(fresh.pop()), lambda: few.put(fresh.pop()), repeat=300, peer_repeat=300)


@_many("10,000 blobs of 40 KB: list a page of 100")
def list_page(bench: Bench) -> Pair:
    few, many = _stores(bench)
    middle = many.list_blobs(limit=_MANY)[_MANY // 2]["digest"]
    return Pair(
        lambda: many.list_blobs(after=middle, limit=100),
        lambda: few.list_blobs(limit=100),
        repeat=300,
        peer_repeat=300,
    )


@_many("10,000 blobs of 40 KB: the bytes of one")
def read_one(bench: Bench) -> Pair:
    few, many = _stores(bench)
    references = [each.list_blobs(limit=100)[50] for each in (few, many)]
    here, there = (each["digest"] for each in references)
    return Pair(lambda: many.content(there), lambda: few.content(here), repeat=300, peer_repeat=300)


@_many("10,000 blobs of 40 KB: 50 lines of one")
def read_lines(bench: Bench) -> Pair:
    here, there = (each.find_conversation("c") for each in _stores(bench))
    return Pair(lambda: read(there, 200), lambda: read(here, 200), repeat=300, peer_repeat=300)
