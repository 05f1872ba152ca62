"""The demo's five questions: how a model asks them, and the same answers computed in plain Python."""

import statistics
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from blobs.cli.demo_material import Material

COMPRESS_SCHEMA = {"file": "blob", "level": "number?"}
"""The arguments of a tool that the runtime runs: `file` is a blob, given by its name and handed over as a reference."""

_WORDS = ("error", "warning", "half-installed", "install", "return", "0")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the tool call that answers it, the answer in what came back, and the answer without the service."""

    text: str
    how: str
    tool: str
    arguments: dict[str, Any]
    answer: Callable[[Mapping[str, Any]], Any]
    expected: Any


def questions(material: Material) -> list[Question]:
    """The five questions over this machine's material; `blob1` … `blob5` are its results in order."""
    return [_read(material), _search(material), _sql(material), _python(material), _argument(material)]


def _read(material: Material) -> Question:
    page = len(material.pages)
    return Question(
        text=f"Which package does page {page} of the report begin with?",
        how="read",
        tool="blob_read",
        arguments={"blob": "blob5", "start": page - 1, "count": 1},
        answer=lambda said: [line.strip() for line in said["data"]["items"][0].splitlines() if line.strip()][1],
        expected=material.pages[-1][1],
    )


def _search(material: Material) -> Question:
    lines = [line.lower() for line in material.log_lines]
    counts = {word: sum(word in line for line in lines) for word in _WORDS}
    word = next((word for word in _WORDS if counts[word]), _WORDS[0])
    return Question(
        text=f"How many lines of {material.log_name} say {word!r}?",
        how="search",
        tool="blob_search",
        arguments={"blob": "blob3", "pattern": word, "ignore_case": True, "limit": 2},
        answer=lambda said: said["data"]["found"],
        expected=counts[word],
    )


def _sql(material: Material) -> Question:
    sizes: dict[str, int] = {}
    for name, _, size in material.files:
        sizes[name] = sizes.get(name, 0) + (size or 0)
    versions = {each["name"]: each.get("version") for each in material.packages}
    largest = min(sizes, key=lambda name: (-sizes[name], name))
    query = (
        "select p.name, p.version, sum(f.bytes) as bytes from blob4 f join blob1 p on f.package = p.name "
        "group by all order by bytes desc nulls last, p.name limit 1"
    )
    return Question(
        text="Which package takes the most bytes, and how many?",
        how="SQL",
        tool="blob_code",
        arguments={"blobs": ["blob1", "blob4"], "language": "sql", "code": query},
        answer=lambda said: said["data"]["rows"][0],
        expected=[largest, versions[largest], sizes[largest]],
    )


def _python(material: Material) -> Question:
    sizes = [size for path, size in material.listing if path.endswith(".py")]
    code = (
        "df = blob2.df()\n"
        'sizes = df[df["path"].str.endswith(".py")]["bytes"].astype("int64")\n'
        '{"files": len(sizes), "median": float(sizes.median()) if len(sizes) else None}'
    )
    return Question(
        text="How many .py files are there, of which median size?",
        how="Python",
        tool="blob_code",
        arguments={"blob": "blob2", "language": "python", "code": code},
        answer=lambda said: said["data"]["result"],
        expected={"files": len(sizes), "median": float(statistics.median(sizes)) if sizes else None},
    )


def _argument(material: Material) -> Question:
    return Question(
        text=f"How many bytes has {material.log_name} compressed?",
        how="argument",
        tool="compress",
        arguments={"file": "blob3", "level": 9},
        answer=lambda said: said["compressed"],
        expected=len(zlib.compress(material.log.encode(), 9)),
    )


def compress(content: bytes, level: int) -> dict[str, int]:
    """A tool of the runtime's own: it gets whole bytes, which no model has read."""
    return {"bytes": len(content), "compressed": len(zlib.compress(content, level))}
