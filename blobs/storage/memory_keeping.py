"""Blobs over time in memory: the half of the catalog that knows nothing of conversations."""

import re
import threading
from collections.abc import Sequence
from dataclasses import astuple, is_dataclass, replace
from typing import Any

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError
from blobs.storage import refusals
from blobs.storage.keeping import BlobRecord, Derivation, NewBlob, Pin, Tombstone

_SURROGATES = re.compile("[\ud800-\udfff]")


class MemoryKeeping:
    """`BlobRecords`, `Retention` and `Quotas` in memory; what names a blob is the subclass's to say."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs: dict[tuple[str, Digest], BlobRecord] = {}
        self._findings: dict[tuple[str, Digest, str], str] = {}
        self._derived: dict[tuple[str, Derivation], Digest] = {}
        self._pins: dict[tuple[str, Digest, str], Pin] = {}
        self._labels: dict[tuple[str, Digest], tuple[str, str | None]] = {}
        """Type and tool by which each blob was named last."""
        self._tombstones: dict[tuple[str, Digest], Tombstone] = {}
        self._trash: dict[str, int] = {}
        self._reservations: dict[tuple[str, str], tuple[int, int]] = {}

    def find_blob(self, tenant: str, digest: Digest) -> BlobRecord | None:
        return self._blobs.get((tenant, digest))

    def known_blobs(self, places: Sequence[tuple[str, Digest]]) -> set[tuple[str, Digest]]:
        found = {place: self._blobs.get(place) for place in places}
        return {place for place, record in found.items() if record is not None and not record.is_corrupt}

    def use_blob(
        self, tenant: str, digest: Digest, *, used_ms: int, derivation: Derivation | None = None
    ) -> BlobRecord | None:
        require_recordable(tenant, used_ms, derivation)
        with self._lock:
            found = self._blobs.get((tenant, digest))
            if found is None or found.is_corrupt:
                return None
            self._link(tenant, digest, derivation)
            return self._used(tenant, found, used_ms)

    def add_blob(
        self,
        tenant: str,
        record: BlobRecord,
        *,
        derivation: Derivation | None = None,
        reservation: str | None = None,
    ) -> BlobRecord:
        require_recordable(tenant, record, derivation)
        with self._lock:
            self._require_untrashed(record)
            if derivation is not None and derivation.source != record.digest:
                self._require_blobs(tenant, derivation.source)
            added = self._record(tenant, record)
            self._link(tenant, record.digest, derivation)
            if reservation is not None:
                self._reservations.pop((tenant, reservation), None)
            return added

    def _require_untrashed(self, record: BlobRecord) -> None:
        if record.key in self._trash:
            raise refusals.given_up(record.digest)

    def _record(self, tenant: str, record: BlobRecord) -> BlobRecord:
        """Record a blob, under the lock; answers the winner."""
        place = (tenant, record.digest)
        found = self._blobs.get(place)
        if found is not None and found.is_corrupt:
            if found.key:
                self._trash.setdefault(found.key, record.created_ms)
            found = replace(found, key=record.key, size=record.size, is_corrupt=False)
        self._blobs[place] = found or record
        self._tombstones.pop(place, None)
        return self._used(tenant, self._blobs[place], record.used_ms)

    def add_blobs(self, blobs: Sequence[NewBlob]) -> list[BlobRecord | BlobsError]:
        return [self._add_or_refuse(each) for each in blobs]

    def _add_or_refuse(self, new: NewBlob) -> BlobRecord | BlobsError:
        try:
            return self.add_blob(new.tenant, new.record, derivation=new.derivation, reservation=new.reservation)
        except BlobsError as refusal:
            return refusal

    def list_blobs(self, tenant: str, *, after: Digest | None = None, limit: int = 1000) -> list[BlobRecord]:
        with self._lock:
            return self._page(tenant, after)[:limit]

    def list_tenants(self, *, after: str | None = None, limit: int = 1000) -> list[str]:
        with self._lock:
            tenants = {owner for owner, _ in self._blobs if after is None or owner > after}
        return sorted(tenants)[:limit]

    def mark_blob(self, tenant: str, digest: Digest, key: str, *, is_corrupt: bool) -> bool:
        with self._lock:
            found = self._blobs.get((tenant, digest))
            if found is None or found.key != key:
                return False
            self._blobs[tenant, digest] = replace(found, is_corrupt=is_corrupt)
            return True

    def find_derived(self, tenant: str, derivation: Derivation) -> Digest | None:
        return self._derived.get((tenant, derivation))

    def forget_derived(self, tenant: str, digest: Digest) -> bool:
        with self._lock:
            places = [place for place, each in self._derived.items() if (place[0], each) == (tenant, digest)]
            for place in places:
                del self._derived[place]
            return bool(places)

    def pin_blob(self, tenant: str, digest: Digest, pin: Pin) -> None:
        require_recordable(pin)
        with self._lock:
            self._require_blobs(tenant, digest)
            self._pins[tenant, digest, pin.name] = pin

    def unpin_blob(self, tenant: str, digest: Digest, name: str) -> bool:
        with self._lock:
            return self._pins.pop((tenant, digest, name), None) is not None

    def list_pins(self, tenant: str, digest: Digest) -> list[Pin]:
        with self._lock:
            found = [each for place, each in self._pins.items() if place[:2] == (tenant, digest)]
        return sorted(found, key=lambda each: each.name)

    def list_unused(
        self, tenant: str, *, since_ms: int, now_ms: int, after: Digest | None = None, limit: int = 1000
    ) -> list[BlobRecord]:
        with self._lock:
            found = [each for each in self._page(tenant, after) if self._is_unused(tenant, each, since_ms, now_ms)]
        return found[:limit]

    def remove_unused(self, tenant: str, digests: Sequence[Digest], *, since_ms: int, now_ms: int) -> list[BlobRecord]:
        require_recordable(now_ms)
        removed = []
        with self._lock:
            for digest in digests:
                found = self._blobs.get((tenant, digest))
                if found is not None and self._is_unused(tenant, found, since_ms, now_ms):
                    self._remove(tenant, found, now_ms)
                    removed.append(found)
        return removed

    def purge_blob(self, tenant: str, digest: Digest, *, now_ms: int) -> list[BlobRecord]:
        require_recordable(now_ms)
        purged = []
        with self._lock:
            for each in sorted(self._with_derived(tenant, digest)):
                record = self._blobs.get((tenant, each))
                if record is not None and record.key:
                    purged.append(record)
                    label = self._labels.get((tenant, each))
                    self._remove(tenant, record, now_ms)
                    if self._is_named(tenant, each):
                        self._blobs[tenant, each] = replace(record, key="", is_corrupt=True)
                        if label is not None:
                            self._labels[tenant, each] = label
        return purged

    def list_unrecorded(self, keys: Sequence[str]) -> list[str]:
        with self._lock:
            return self._unrecorded(keys)

    def trash_unrecorded(self, keys: Sequence[str], *, now_ms: int) -> list[str]:
        require_recordable(tuple(keys), now_ms)
        with self._lock:
            found = self._unrecorded(keys)
            self._trash.update(dict.fromkeys(found, now_ms))
            return found

    def list_trash(self, *, before_ms: int, limit: int = 1000) -> list[str]:
        with self._lock:
            due = [(since_ms, key) for key, since_ms in self._trash.items() if since_ms <= before_ms]
        return [key for _, key in sorted(due)[:limit]]

    def empty_trash(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._trash.pop(key, None)

    def find_tombstone(self, tenant: str, digest: Digest) -> Tombstone | None:
        return self._tombstones.get((tenant, digest))

    def forget_tombstones(self, *, before_ms: int) -> int:
        with self._lock:
            old = [place for place, each in self._tombstones.items() if each.removed_ms < before_ms]
            for place in old:
                del self._tombstones[place]
            return len(old)

    def tenant_bytes(self, tenant: str) -> int:
        with self._lock:
            return self._bytes_of(tenant)

    def reserve(self, tenant: str, reservation: str, size: int, *, bytes_max: int, now_ms: int, until_ms: int) -> None:
        require_recordable(tenant, reservation, size, until_ms)
        with self._lock:
            others = [
                held
                for (owner, name), (held, end_ms) in self._reservations.items()
                if owner == tenant and name != reservation and end_ms > now_ms
            ]
            used = self._bytes_of(tenant) + sum(others)
            if used + size > bytes_max:
                raise refusals.over_quota(size, used=used, bytes_max=bytes_max)
            self._reservations[tenant, reservation] = (size, until_ms)

    def release(self, tenant: str, reservation: str) -> None:
        with self._lock:
            self._reservations.pop((tenant, reservation), None)

    def _is_named(self, tenant: str, digest: Digest) -> bool:
        """Whether a conversation or the record of a turn names the blob."""
        raise NotImplementedError

    def _label(self, tenant: str, digest: Digest, media_type: str, tool: str | None) -> None:
        self._labels[tenant, digest] = (media_type, tool)

    def _require_blobs(self, tenant: str, *digests: Digest) -> None:
        for digest in digests:
            if (tenant, digest) not in self._blobs:
                raise refusals.no_blob(digest, self._tombstones.get((tenant, digest)))

    def _page(self, tenant: str, after: Digest | None) -> list[BlobRecord]:
        found = [each for (owner, _), each in self._blobs.items() if owner == tenant]
        return sorted((each for each in found if after is None or each.digest > after), key=lambda each: each.digest)

    def _link(self, tenant: str, digest: Digest, derivation: Derivation | None) -> None:
        if derivation is not None:
            self._require_blobs(tenant, derivation.source)
            self._derived[tenant, derivation] = digest

    def _used(self, tenant: str, record: BlobRecord, used_ms: int) -> BlobRecord:
        used = replace(record, used_ms=max(record.used_ms, used_ms))
        self._blobs[tenant, record.digest] = used
        return used

    def _is_unused(self, tenant: str, record: BlobRecord, since_ms: int, now_ms: int) -> bool:
        """Whether neither the blob nor what it was derived from, at any remove, is in use."""
        reached, ahead = {record.digest}, [record.digest]
        while ahead:
            digest = ahead.pop()
            if self._is_held(tenant, digest, since_ms, now_ms):
                return False
            sources = {place[1].source for place, each in self._derived.items() if (place[0], each) == (tenant, digest)}
            ahead += sources - reached
            reached |= sources
        return True

    def _with_derived(self, tenant: str, digest: Digest) -> set[Digest]:
        """The blob, and what was derived from it at any remove."""
        reached, ahead = {digest}, [digest]
        while ahead:
            source = ahead.pop()
            made = {each for (owner, link), each in self._derived.items() if (owner, link.source) == (tenant, source)}
            ahead += made - reached
            reached |= made
        return reached

    def _is_held(self, tenant: str, digest: Digest, since_ms: int, now_ms: int) -> bool:
        pins = [each for place, each in self._pins.items() if place[:2] == (tenant, digest)]
        return (
            self._blobs[tenant, digest].used_ms > since_ms
            or any(each.until_ms is None or each.until_ms > now_ms for each in pins)
            or self._is_named(tenant, digest)
        )

    def _remove(self, tenant: str, record: BlobRecord, now_ms: int) -> None:
        place = (tenant, record.digest)
        for table in (self._findings, self._pins):
            for each in [each for each in table if each[:2] == place]:
                del table[each]
        self._derived = {
            link: digest
            for link, digest in self._derived.items()
            if (link[0], link[1].source) != place and (link[0], digest) != place
        }
        if (label := self._labels.pop(place, None)) is not None:
            self._tombstones[place] = Tombstone(record.digest, record.size, *label, now_ms)
        if record.key:
            self._trash.setdefault(record.key, now_ms)
        del self._blobs[place]

    def _unrecorded(self, keys: Sequence[str]) -> list[str]:
        recorded = {each.key for each in self._blobs.values()}
        return [each for each in keys if each not in recorded and each not in self._trash]

    def _bytes_of(self, tenant: str) -> int:
        return sum(each.size for (owner, _), each in self._blobs.items() if owner == tenant)


def require_recordable(*values: Any) -> None:
    """Refuse what other catalogs cannot write: lone surrogates and numbers of more than 63 bits, at any depth."""
    for value in values:
        if is_dataclass(value):
            require_recordable(*astuple(value))  # type: ignore[arg-type]  # only instances come here
        elif isinstance(value, tuple):
            require_recordable(*value)
        elif (isinstance(value, str) and _SURROGATES.search(value)) or (isinstance(value, int) and value >= 2**63):
            raise refusals.unrecordable()
