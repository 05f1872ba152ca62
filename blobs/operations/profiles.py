"""Profiles of stored blobs: found once, kept, and never a reason to fail a turn."""

import logging
import threading
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, SandboxError, ToolInputError, UnreadableError
from blobs.domain.handle import Profile
from blobs.domain.media_type import BINARY
from blobs.domain.reference import Reference
from blobs.operations.indexes import Indexes
from blobs.operations.reader_faults import REASONS, at_work
from blobs.operations.workshop import TaskFailure, Workshop
from blobs.reading.cost import undecoded_cost
from blobs.reading.opening import FALLBACKS
from blobs.running.runner import CellFile
from blobs.storage.content import PACKED_BYTES_MAX
from blobs.storage.outbox import Outbox

_log = logging.getLogger("blobs.operations")

RECIPE = "1"
"""Changes whenever a profile of the same bytes may come out differently, so that kept ones are not mistaken."""

BACKGROUND_MS = 300_000
"""How long the preview job of a large blob may go on after the turn has been answered."""


class Profiles:
    """Finds out what a handle says of a blob, within the time that a turn waits."""

    def __init__(self, workshop: Workshop, indexes: Indexes) -> None:
        self._workshop = workshop
        self._indexes = indexes
        self._catalog = workshop.catalog

    def of(self, tenant: str, reference: Reference, outbox: Outbox | None = None) -> Profile:
        """The profile of a blob whose declared type is the reference's; one that waits in the `outbox` is kept there.

        A reader that raises, hangs, crashes or takes too much memory is passed over, with a note; a blob that takes
        longer than a turn waits gets a handle that says so, and the count goes on in the background.
        """
        kept = self._kept(tenant, reference, outbox)
        if kept is not None:
            return kept
        avoid: list[str] = []
        notes: list[str] = []
        is_final = True  # without a cell the blob is told as what it looks like, and looked at again later
        for _ in range(3):
            try:
                found = self._find(tenant, reference, avoid, notes, self._workshop.limits.preview_ms_max, outbox)
            except TaskFailure as failure:
                name, media_type = at_work(failure.outcome.printed)
                if failure.outcome.status == "timeout" and self._is_ours(name):
                    return self._unfinished(tenant, reference, name, media_type or reference.type)
                notes.append(f"the reader {name or 'of this format'!r} {REASONS[failure.outcome.status]}")
                avoid.append(name) if name else avoid.extend(self._all_but_fallbacks())
            except SandboxError as refusal:
                _log.warning("preview without a cell: %s", refusal)
                notes.append("not read as its format: this host gives no sandbox for that now")
                avoid.extend(self._all_but_fallbacks())
                is_final = False
            except (UnreadableError, ToolInputError):
                break
            else:
                if is_final:
                    self._keep(tenant, reference, found, outbox)
                return found
        return self._bare(reference, notes)

    def _find(
        self,
        tenant: str,
        reference: Reference,
        avoid: list[str],
        notes: list[str],
        wall_ms: int,
        outbox: Outbox | None = None,
    ) -> Profile:
        arguments: dict[str, Any] = {
            "op": "profile",
            "declared_type": reference.type if reference.type != BINARY else None,
            "avoid": avoid,
            "notes": notes,
            "seed": reference.digest.hex[:16],
            "preview_bytes_max": self._workshop.limits.preview_bytes_max,
        }

        def index_of(reader: str) -> tuple[CellFile, ...]:
            return self._indexes.kept(tenant, reference.digest, reader) if reference.size > PACKED_BYTES_MAX else ()

        view = self._workshop.first_view(
            tenant, reference.digest, arguments, wall_ms=wall_ms, index_of=index_of, outbox=outbox
        )
        with view as done:
            found = Profile.from_json(done.value)
            if done.payload.read(1):
                done.payload.seek(0)
                self._indexes.keep(tenant, reference.digest, found.reader, done.payload)
            return found

    def _kept(self, tenant: str, reference: Reference, outbox: Outbox | None) -> Profile | None:
        kind = _kind(reference.type)
        if outbox is not None:
            text = outbox.find_finding(reference.digest, kind)
        else:
            text = self._catalog.find_finding(tenant, reference.digest, kind)
        return Profile.from_json(exact_json.loads(text)) if text is not None else None

    def _keep(self, tenant: str, reference: Reference, profile: Profile, outbox: Outbox | None = None) -> None:
        text = exact_json.text(profile.to_json())
        for media_type in sorted({reference.type, profile.type}):
            if outbox is not None:
                outbox.save_finding(reference.digest, _kind(media_type), text)
            else:
                self._catalog.save_finding(tenant, reference.digest, _kind(media_type), text)

    def _unfinished(self, tenant: str, reference: Reference, reader: str, media_type: str) -> Profile:
        """The profile of a blob that is too large to be counted while a turn waits; the count goes on."""
        threading.Thread(target=self._finish, args=(tenant, reference), name="blobs-preview", daemon=True).start()
        notes = ["still being counted: its items are not known yet; blob_read and blob_code work on all of it"]
        return Profile(
            type=media_type,
            reader=reader,
            unit=None,
            items=None,
            cost=undecoded_cost(reference.size),
            preview={"notes": notes},
            facts={},
        )

    def _finish(self, tenant: str, reference: Reference) -> None:
        try:
            self._keep(tenant, reference, self._find(tenant, reference, [], [], BACKGROUND_MS))
        except BlobsError:
            return  # the handle has said what is not known; a later call tries again

    def _is_ours(self, name: str) -> bool:
        plug_in = self._workshop.registry.by_name(name)
        return plug_in is not None and plug_in.is_built_in

    def _all_but_fallbacks(self) -> list[str]:
        return [each.name for each in self._workshop.registry.plug_ins() if each.name not in FALLBACKS]

    @staticmethod
    def _bare(reference: Reference, notes: list[str]) -> Profile:
        """What can be said without opening the blob at all."""
        return Profile(
            type=reference.type,
            reader="binary",
            unit=None,
            items=None,
            cost=undecoded_cost(reference.size),
            preview={"notes": notes} if notes else {},
            facts={},
        )


def _kind(media_type: str) -> str:
    return f"profile/{RECIPE}/{media_type}"
