"""What a reader notes of a blob so that it need not pass over it again: a few facts, and long lists of places.

An index is a blob of its own, derived from the one it is of. It is read where it lies: places are looked up in the
bytes, so that opening by an index costs the same however many there are.
"""

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from blobs.domain import exact_json
from blobs.reading.source import Source

Offsets: TypeAlias = "array[int] | memoryview[int]"
"""Places in a source, each of 64 bits: in memory where they were found, or in the bytes of an index."""

_MAGIC = b"blobs index 1 " + sys.byteorder.encode() + b"\n"
_LENGTH_BYTES = 8
_PLACE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Index:
    """What an index tells: as it was packed, or was just found."""

    facts: Mapping[str, Any]
    places: Mapping[str, Offsets]


def pack(size: int, recipe: str, facts: Mapping[str, Any], places: Mapping[str, Offsets]) -> bytes:
    """The bytes of an index of a source of so many bytes.

    `facts` are JSON, `recipe` changes whenever what they mean does.
    """
    told = {
        "recipe": recipe,
        "size": size,
        "facts": facts,
        "places": [[name, len(found)] for name, found in places.items()],
    }
    header = exact_json.dumps(told)
    lead = _MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + header
    lead += b"\n" * (-len(lead) % _PLACE_BYTES)
    return b"".join([lead, *(memoryview(found).cast("B") for found in places.values())])


def facts_bytes(index: memoryview) -> int:
    """How much of an index is read to open by it, whatever its places are; 0 where it is no index."""
    if index[: len(_MAGIC)] != _MAGIC:
        return 0
    return int.from_bytes(index[len(_MAGIC) : len(_MAGIC) + _LENGTH_BYTES], "little")


def unpack(index: memoryview | None, source: Source, recipe: str) -> Index | None:
    """The index that `pack` made of a source of such a source by this recipe; None where it is none or of another."""
    begin = len(_MAGIC) + _LENGTH_BYTES
    if index is None or index[: len(_MAGIC)] != _MAGIC:
        return None
    header_stop = begin + int.from_bytes(index[len(_MAGIC) : begin], "little")
    try:
        told = exact_json.loads(index[begin:header_stop])
        if told["recipe"] != recipe or told["size"] != source.size:
            return None
        at = header_stop + -header_stop % _PLACE_BYTES
        places: dict[str, Offsets] = {}
        for name, count in told["places"]:
            places[name] = index[at : at + count * _PLACE_BYTES].cast("q")
            at += count * _PLACE_BYTES
    except (ValueError, KeyError, TypeError):
        return None
    return Index(told["facts"], places) if at == len(index) else None
