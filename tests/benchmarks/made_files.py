"""The files that are measured: made from a seed, each of about the size asked for."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

SEED = 20260101
_BLOCK_LINES = 20_000
_WORDS = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima",
    "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango", "uniform", "victor", "whiskey", "zulu",
]  # fmt: skip
RARE = "NeedleInHaystack"
"""In one line of a made file of any size, near its end."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A made file and how many items it has."""

    path: Path
    items: int

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.path.stat().st_size


def make(kind: str, folder: Path, size_bytes: int) -> MadeFile:
    """The file of this kind and about this size; one that was made before serves again."""
    path, note = folder / f"{size_bytes}.{kind}", folder / f"{size_bytes}.{kind}.items"
    if note.exists():
        return MadeFile(path, int(note.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    items = _columns(path, size_bytes) if kind == "columns.parquet" else _written(path, kind, size_bytes)
    note.write_text(str(items))
    return MadeFile(path, items)


def _written(path: Path, kind: str, size_bytes: int) -> int:
    opening, between, closing, line = _KINDS[kind]
    numbers = Random(SEED)
    items = written = 0
    has_rare = False
    with path.open("wb") as file:
        written += file.write(opening)
        while written < size_bytes - len(closing):
            room = max(1, (size_bytes - written) // 80)
            block = [line(items + each, numbers, "") for each in range(min(_BLOCK_LINES, room))]
            if not has_rare and written + sum(map(len, block)) > size_bytes * 0.9:
                block[-1], has_rare = line(items + len(block) - 1, numbers, RARE), True
            text = between.join(block)
            written += file.write((between if items else b"") + text)
            items += len(block)
        file.write(closing)
    return items


def _log(number: int, numbers: Random, extra: str) -> bytes:
    bits = numbers.getrandbits(64)
    level = "ERROR" if bits % 5 == 0 else "INFO"
    return (
        f"2026-01-{1 + number // 86400 % 28:02d} {number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d} "
        f"{level} worker-{bits >> 8 & 63} request {number:09d} {_WORDS[bits >> 16 & 15]} {_WORDS[bits >> 20 & 15]} "
        f"took {bits >> 24 & 1023} ms id={bits >> 34:08x}{extra}"
    ).encode()


def _cells(number: int, numbers: Random) -> tuple[int, str, str, str, str, str]:
    bits = numbers.getrandbits(64)
    name = f"{_WORDS[bits & 15]} {_WORDS[bits >> 4 & 15]}"
    zip_code = f"{bits >> 8 & 65535:05d}"
    amount = f"{bits >> 24 & 1048575}.{bits >> 44 & 63:02d}"
    day = f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}"
    return number, name, zip_code, amount, day, "true" if bits >> 60 & 1 else "false"


def _csv(number: int, numbers: Random, extra: str) -> bytes:
    key, name, zip_code, amount, day, flag = _cells(number, numbers)
    comment = f'"{name}, ""quoted"" {extra}"' if number % 10 == 0 else f"plain {name}{extra}"
    return f"{key},{name},{zip_code},{amount},{day},{flag},{comment}".encode()


def _json(number: int, numbers: Random, extra: str) -> bytes:
    key, name, zip_code, amount, day, flag = _cells(number, numbers)
    return (
        f'{{"id":{key},"name":"{name}{extra}","zip":"{zip_code}","amount":{amount},"day":"{day}","ok":{flag},'
        f'"tags":["{name[:3]}","x"]}}'
    ).encode()


_Line = Callable[[int, Random, str], bytes]
_KINDS: dict[str, tuple[bytes, bytes, bytes, _Line]] = {
    "log": (b"", b"\n", b"\n", _log),
    "csv": (b"id,name,zip,amount,day,ok,comment\n", b"\n", b"\n", _csv),
    "ndjson": (b"", b"\n", b"\n", _json),
    "json": (b"[", b",\n", b"]\n", _json),
    "deep": (b'{"meta":{"made":true},"data":[', b",", b'],"end":{"x":[1,{"y":2}]}}', _json),
}


_ROW_BYTES = 33
"""Of the table below, compressed: measured."""


def _columns(path: Path, size_bytes: int) -> int:
    """A Parquet file as DuckDB writes it; half of it cannot be compressed."""
    import duckdb

    rows = max(1, size_bytes // _ROW_BYTES)
    duckdb.execute(
        f"copy (select range as id, hash(range, {SEED}) as code, hash(range + {SEED}) % 1000000 / 100.0 as amount, "
        "'name ' || hash(range) % 100 as name, date '2026-01-01' + (range % 365)::int as day, "
        f"md5(range::varchar) as text from range({rows})) to '{path}' (format parquet, compression zstd)"
    )
    return rows


def result_of_40_kb() -> dict[str, object]:
    """A tool result whose JSON text has about 40 KB."""
    numbers = Random(SEED)
    rows = [json.loads(_json(each, numbers, "")) for each in range(320)]
    return {"ok": True, "rows": rows}


def many_contents(count: int, size_bytes: int = 40_000) -> Iterator[bytes]:
    """Contents of the size of an ordinary tool result, each different."""
    body = b"\n".join(_log(each, Random(SEED), "") for each in range(500))[: size_bytes - 12]
    for number in range(count):
        yield b"%012d" % number + body
