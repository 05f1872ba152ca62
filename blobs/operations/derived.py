"""Derived blobs: what is made of a blob by a recipe, made once for a tenant, and made anew when it is lost."""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, CorruptError, NotFoundError, ToolInputError
from blobs.operations.workshop import TaskFailure, Workshop
from blobs.storage.keeping import Derivation

BACKGROUND_MS = 600_000
"""How long the making for a large blob may take when nobody waits for it."""

_log = logging.getLogger("blobs.operations")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a blob is derived: `kind` changes whenever the same bytes may come out differently, `noun` names it."""

    kind: str
    media_type: str
    noun: str


@dataclass(frozen=True, slots=True)
class Made:
    """What a recipe made of a blob: facts as JSON, and a blob; None where the recipe has none for that blob."""

    digest: Digest | None
    facts: Any = None


class DerivedBlobs:
    """Finds and keeps what was derived from the blobs of a store."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._in_making: set[tuple[str, Digest, str]] = set()

    def find(self, tenant: str, source: Digest, recipe: Recipe) -> Made | None:
        """What was made of a blob before; None where it is yet to be made, or was lost or damaged."""
        text = self._workshop.catalog.find_finding(tenant, source, recipe.kind)
        if text is None:
            return None
        told = exact_json.loads(text)
        if told["digest"] is None:
            return Made(None, told["facts"])
        digest = Digest.parse(told["digest"])
        try:
            self._workshop.store.open(tenant, digest).path()
        except (NotFoundError, CorruptError):
            return None
        return Made(digest, told["facts"])

    def keep(
        self, tenant: str, source: Digest, recipe: Recipe, content: BinaryIO | Iterable[bytes], facts: Any
    ) -> Made:
        """Store what was made of a blob, for as long as that blob is kept."""
        derivation = Derivation(source, recipe.kind)
        stored = self._workshop.store.put(tenant, content, media_type=recipe.media_type, derivation=derivation)
        return self.note(tenant, source, recipe, Made(stored.reference.digest, facts))

    def note(self, tenant: str, source: Digest, recipe: Recipe, made: Made) -> Made:
        """Note which stored blob serves as what the recipe makes, or that none does."""
        told = {"digest": None if made.digest is None else str(made.digest), "facts": made.facts}
        self._workshop.catalog.save_finding(tenant, source, recipe.kind, exact_json.text(told))
        return made

    def get(self, tenant: str, source: Digest, recipe: Recipe, make: Callable[[int], Made]) -> Made:
        """What the recipe makes of a blob, made now where there is none: `make` is given the time that it may take.

        Where that takes longer than a turn waits it goes on, and `ToolInputError` says so until it is done.
        """
        kept = self.find(tenant, source, recipe)
        if kept is not None:
            return kept
        if (tenant, source, recipe.kind) in self._in_making:
            raise _being_made(recipe)
        try:
            return make(self._workshop.limits.call_ms_max)
        except TaskFailure as failure:
            if failure.outcome.status != "timeout":
                raise
            self._go_on(tenant, source, recipe, make)
            raise _being_made(recipe) from None

    def _go_on(self, tenant: str, source: Digest, recipe: Recipe, make: Callable[[int], Made]) -> None:
        """Make it while nobody waits."""
        place = (tenant, source, recipe.kind)

        def work() -> None:
            try:
                make(BACKGROUND_MS)
            except BlobsError as problem:
                _log.warning("%s of %s: %s", recipe.noun, source.hex[:12], problem)
            finally:
                self._in_making.discard(place)

        self._in_making.add(place)
        threading.Thread(target=work, name="blobs-derived", daemon=True).start()


def _being_made(recipe: Recipe) -> ToolInputError:
    return ToolInputError(
        f"The blob is large: its {recipe.noun} is being prepared and this takes minutes.",
        hint='Make the same call again later; blob_read with unit "bytes" works meanwhile.',
        code="being_prepared",
    )
