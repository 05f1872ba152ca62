"""Rows beside other runtimes: what they do with a large result, as their packages do it. No bar."""

from functools import partial
from typing import Any

from tests.benchmarks.bench import Bench, Pair, done, read
from tests.benchmarks.made_files import RARE
from tests.benchmarks.table import MB, row

_NAMES = {"deepagents": "deepagents", "harness": "the Pydantic AI harness"}
_SIZES = (MB, 10 * MB, 100 * MB)


def _beside(peer: str, verb: str, bench: Bench, ours: Any, note: str = "", **told: Any) -> Pair:
    made = bench.file("log")
    try:
        about = bench.peers.open(peer)
        bench.peers.ask(peer, "put", path=str(made.path), to="log")
        bench.peers.ask(peer, verb, to="log", **told)
    except RuntimeError as problem:
        return Pair(ours, f"cannot: {problem}")
    return Pair(ours, partial(bench.peers.ask, peer, verb, to="log", **told), repeat=3, note=f"{about}{note}")


def _put(peer: str, bench: Bench) -> Pair:
    made = bench.file("log")
    bench.blobs.doctor()
    ours = lambda: bench.fresh().conversation().attach(made.path)  # noqa: E731  # the pair's work
    return _beside(peer, "put", bench, ours, "; not durable, without a profile", path=str(made.path))


def _read(peer: str, bench: Bench) -> Pair:
    start = bench.file("log").items * 3 // 5
    return _beside(peer, "read", bench, partial(read, bench.chat("log"), start), start=start, count=50)


def _grep(peer: str, bench: Bench) -> Pair:
    chat = bench.chat("log")
    call = {"blob": "blob1", "pattern": RARE}
    return _beside(peer, "grep", bench, lambda: done(chat.call("blob_search", call)), pattern=RARE)


for _peer, _name in _NAMES.items():
    row("put of a log", beside=f"{_name}: write", sizes=_SIZES)(partial(_put, _peer))
    row("50 lines anywhere", beside=f"{_name}: read", sizes=_SIZES)(partial(_read, _peer))
    row("search a log for a rare literal", beside=f"{_name}: grep", sizes=_SIZES)(partial(_grep, _peer))
