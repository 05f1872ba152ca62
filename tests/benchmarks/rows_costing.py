"""Rows of what a blob costs in tokens, and of cutting to a budget."""

import hashlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from blobs.reading.budget import clip
from blobs.reading.cost import EXACT_BYTES_MAX, text_cost
from blobs.reading.source import FileSource
from blobs.reading.tokens import count_tokens
from tests.benchmarks.bench import Bench, Pair
from tests.benchmarks.made_files import MadeFile
from tests.benchmarks.table import KIB, MB, row
from tests.material import all_corpus_rows, beside

_MS_MAX, _P95_MAX, _MEDIAN_MAX = 10, 0.02, 0.005
_KINDS = ("log", "csv", "ndjson", "json", "deep")
_ENCODINGS = {"utf-8-bom": "utf-8-sig", "utf-16-bom-le": "utf-16"}


class Text(NamedTuple):
    """A text, and how many tokens it has."""

    read: Callable[[int, int], bytes]
    size: int
    seed: bytes
    encoding: str
    exact: int

    def cost(self) -> int:
        """What is said that it costs."""
        return text_cost(self.read, self.size, encoding=self.encoding, seed=self.seed).tokens


def _from_corpus() -> list[Text]:
    """The texts of other projects, their tokens counted by whoever made the corpus."""
    found = []
    for each in all_corpus_rows():
        if int(each["tokens_o200k"] or 0):
            content = (beside() / "corpus" / each["path"]).read_bytes()
            encoding = _ENCODINGS.get(each["encoding"].lower(), "utf-8")
            read = partial(lambda content, start, stop: content[start:stop], content)
            seed = hashlib.sha256(content).digest()
            found.append(Text(read, len(content), seed, encoding, int(each["tokens_o200k"])))
    return found


def _made(made: MadeFile) -> Text:
    source = FileSource(made.path)
    return Text(source.read, source.size, hashlib.sha256(made.path.name.encode()).digest(), "utf-8", _exact(made.path))


def _exact(path: Path) -> int:
    """The tokens of a made file, counted once."""
    note = path.with_name(f"{path.name}.tokens")
    if not note.exists():
        note.write_text(str(count_tokens(path.read_text())))
    return int(note.read_text())


@row("cost of a blob", beside="a bar of 10 ms", bar="≤ 10 ms", most=1.0, by="cpu", at=0)
def cost(bench: Bench) -> Pair:
    source = FileSource(bench.file("log").path)
    count_tokens("")  # loads the table
    return Pair(lambda: text_cost(source.read, source.size, seed=b"12345678"), _MS_MAX / 1000, repeat=5)


@row("cost of a blob", beside="exact count by tiktoken", sizes=(32 * KIB, MB, 10 * MB))
def cost_beside_counting(bench: Bench) -> Pair:
    source = FileSource(bench.file("log").path)
    text = bench.file("log").path.read_text()
    return Pair(lambda: text_cost(source.read, source.size, seed=b"12345678"), lambda: count_tokens(text), repeat=5)


@row(
    "cost of every text of the corpus and of made ones, the slowest",
    beside="a bar of 10 ms",
    bar="≤ 10 ms; within 2 % at p95, under 0.5 % in the median",
    most=1.0,
    by="cpu",
    at=MB,
    sizes=(MB,),
)
def costs(bench: Bench) -> Pair:
    sizes = (64 * KIB, 256 * KIB, MB, 10 * MB, 100 * MB)
    texts = _from_corpus() + [_made(bench.file(kind, size)) for size in sizes for kind in _KINDS]
    slowest = max(texts, key=_seconds)
    sampled = [each for each in texts if each.size > EXACT_BYTES_MAX]
    errors = [abs(each.cost() - each.exact) / each.exact for each in texts]
    naive = [abs(each.size / 4 - each.exact) / each.exact for each in texts]
    of_sampled = [abs(each.cost() - each.exact) / each.exact for each in sampled]
    misses = [
        name
        for name, is_missed in (
            ("error at p95", _p95(errors) > _P95_MAX or _p95(of_sampled) > _P95_MAX),
            ("median error", median(errors) >= _MEDIAN_MAX or median(of_sampled) >= _MEDIAN_MAX),
        )
        if is_missed
    ]
    note = (
        f"{len(texts)} texts: off by {_p95(errors):.2%} at p95, {median(errors):.2%} in the median; the {len(sampled)} "
        f"that are too large to be counted: {_p95(of_sampled):.2%} and {median(of_sampled):.2%}, at most "
        f"{max(of_sampled):.2%}; bytes/4: {_p95(naive):.0%} and {median(naive):.0%}; the slowest has "
        f"{slowest.size:,} bytes"
    )
    return Pair(slowest.cost, _MS_MAX / 1000, repeat=5, note=note, misses=tuple(misses))


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _seconds(text: Text) -> float:
    """Of CPU, the least of three: what else runs on the machine makes no text slow."""
    taken = []
    for _ in range(3):
        begun = time.thread_time()
        text.cost()
        taken.append(time.thread_time() - begun)
    return min(taken)


@row("cutting 1 MB to 8,000 tokens", beside="encode all", bar="≥ 10× faster", most=0.1, by="cpu", at=MB, sizes=(MB,))
def cutting(bench: Bench) -> Pair:
    text = bench.file("log").path.read_text()
    used = count_tokens(clip(text, 8_000)) / 8_000
    misses = () if 0.97 <= used <= 1 else ("budget used",)
    note = f"{used:.1%} of the budget used"
    return Pair(
        lambda: clip(text, 8_000), lambda: count_tokens(text), repeat=20, peer_repeat=5, note=note, misses=misses
    )
