"""Costs against token counts of the corpus that were made with another tokenizer."""

import hashlib
from pathlib import Path

import pytest

from blobs.reading.cost import Cost, text_cost
from tests.material import beside, corpus_rows

FORMATS = (
    "csv",
    "html",
    "json",
    "json-concat",
    "markdown",
    "ndjson",
    "rtf",
    "sql",
    "svg",
    "text",
    "toml",
    "tsv",
    "xml",
    "yaml",
)
CODECS = {"ascii": "ascii", "utf-8": "utf-8", "utf-8-bom": "utf-8-sig", "utf-16-bom-le": "utf-16"}


def _counted() -> list[tuple[Path, str, int]]:
    rows = [row for row in corpus_rows(*FORMATS) if row["tokens_o200k"] and row["encoding"] in CODECS]
    if not rows:
        pytest.skip("the corpus is not beside this repository")
    return [(beside() / "corpus" / row["path"], CODECS[row["encoding"]], int(row["tokens_o200k"])) for row in rows]


def _cost(path: Path, encoding: str) -> Cost:
    content = path.read_bytes()
    seed = hashlib.sha256(content).digest()
    return text_cost(lambda start, stop: content[start:stop], len(content), encoding=encoding, seed=seed)


def test_small_files_are_exact() -> None:
    """Every text up to 32 KiB costs exactly what it was counted to have."""
    small = [each for each in _counted() if each[0].stat().st_size <= 32 * 1024]
    assert len(small) > 150
    wrong = [
        (path.name, _cost(path, codec), tokens)
        for path, codec, tokens in small
        if _cost(path, codec) != Cost(tokens, is_exact=True)
    ]
    assert wrong == []


def test_large_files_are_within_two_percent() -> None:
    """Over the larger texts the error is under 2 % at p95, and under 1 % in the median."""
    large = [each for each in _counted() if each[0].stat().st_size > 32 * 1024]
    assert len(large) > 10
    errors = sorted(abs(_cost(path, codec).tokens / tokens - 1) for path, codec, tokens in large)
    assert errors[int(0.95 * len(errors))] < 0.02
    assert errors[len(errors) // 2] < 0.01
