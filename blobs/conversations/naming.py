"""The names of one conversation while a turn is being made: who is who, and whose preview has been shown."""

from dataclasses import dataclass, replace
from typing import Any

from blobs.domain.digest import Digest
from blobs.domain.handle import Profile, blob_name, handle, parse_blob_name
from blobs.domain.reference import Reference
from blobs.storage.catalog import NameRecord


@dataclass(frozen=True, slots=True)
class Placed:
    """A blob at its place in a result, before it has a name."""

    reference: Reference
    profile: Profile


class Names:
    """Names by number, and what a turn adds to them; numbers go on from the highest there is."""

    def __init__(self, records: list[NameRecord], *, turn: int | None) -> None:
        self._by_number = {record.number: record for record in records}
        self._by_blob = {(record.digest, record.type): record.number for record in records}
        self._turn = turn
        self._changed: dict[int, NameRecord] = {}

    @property
    def changed(self) -> tuple[NameRecord, ...]:
        """Names given and previews shown since this object was made."""
        return tuple(self._changed[number] for number in sorted(self._changed))

    def find(self, number: int) -> NameRecord | None:
        """The name with this number."""
        return self._by_number.get(number)

    def all(self) -> list[str]:
        """Every name, in order."""
        return [blob_name(number) for number in sorted(self._by_number)]

    def handle(self, placed: Placed, tool: str | None, *, is_shown: bool = True) -> dict[str, Any]:
        """The blob's handle, under the name it has or gets now; with its preview where it is shown the first time."""
        record = self._record(placed, tool)
        with_preview = is_shown and not record.is_previewed
        if with_preview:
            self._change(replace(record, is_previewed=True, previewed_turn=self._turn))
        return handle(blob_name(record.number), placed.profile, placed.reference.size, with_preview=with_preview)

    def is_previewed(self, name: str) -> bool:
        """Whether the preview of a name has been shown."""
        record = self._by_number.get(parse_blob_name(name) or 0)
        return record is not None and record.is_previewed

    def _record(self, placed: Placed, tool: str | None) -> NameRecord:
        digest: Digest = placed.reference.digest
        number = self._by_blob.get((digest, placed.profile.type))
        if number is not None:
            return self._by_number[number]
        record = NameRecord(
            number=max(self._by_number, default=0) + 1,
            digest=digest,
            size=placed.reference.size,
            type=placed.profile.type,
            turn=self._turn,
            tool=tool,
        )
        self._by_blob[digest, record.type] = record.number
        self._change(record)
        return record

    def _change(self, record: NameRecord) -> None:
        self._by_number[record.number] = record
        self._changed[record.number] = record
