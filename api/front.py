"""What every request shares: the opened service, its tenants, whether it is ready."""

import threading
from typing import Any

from fastapi import Request

from blobs.client import Blobs
from blobs.domain.errors import BlobsError, StoreError
from blobs.domain.limits import Limits
from blobs.settings import Settings


class Front:
    """The service behind one application: opened at its start if only settings were given, closed at its end."""

    def __init__(self, given: Settings | Blobs) -> None:
        self._opened = given if isinstance(given, Blobs) else None
        self._is_own = self._opened is None
        self.settings = given.service.settings if isinstance(given, Blobs) else given
        self._tenants: dict[str, Blobs] = {}
        self._is_keyed = bool(self.settings.keys)
        self._sandbox: dict[str, Any] | None = None

    @property
    def limits(self) -> Limits:
        """The limits of the service."""
        return self.settings.limits

    @property
    def blobs(self) -> Blobs:
        """The opened service, for the tenant of the settings."""
        if self._opened is None:
            raise StoreError("The store is not open.")
        return self._opened

    def open(self) -> None:
        """Open the store and begin to start the cells; blocks as long as the store takes."""
        if self._opened is None:
            self._opened = Blobs.open(self.settings)
        threading.Thread(target=self._look_at_cells, name="blobs-ready", daemon=True).start()

    def close(self) -> None:
        """Close what `open` opened."""
        if self._is_own and self._opened is not None:
            self._opened.close()

    def tenant(self, name: str) -> Blobs:
        """The service for one tenant."""
        known = self._tenants.get(name)
        if known is None:
            known = self._tenants[name] = Blobs(self.blobs.service, tenant=name, is_exact=True)
        return known

    def needs_key(self) -> bool:
        """Whether nobody comes in without a key, by the settings or because the catalog knows any.

        Once a key was needed, it is as long as this process lives, also if the last is revoked.
        """
        self._is_keyed = self._is_keyed or self.blobs.service.catalog.has_keys()
        return self._is_keyed

    def catalog_version(self) -> int | None:
        """What changes with all that is written to the catalog, as of `Catalog.version`."""
        return self.blobs.service.catalog.version()

    def unready(self) -> str:
        """Why the service cannot work yet, or no longer; empty where it can. Reads the catalog once."""
        if self._sandbox is None:
            return "The cells are starting."
        try:
            self.blobs.service.catalog.find_conversation(self.settings.tenant, "ready")
        except StoreError as error:
            return error.message
        return ""

    @property
    def sandbox_tier(self) -> str:
        """The tier of the cells, as of `Runner.tier`; empty while they start."""
        return str(self._sandbox["tier"]) if self._sandbox is not None else ""

    @property
    def sandbox_reasons(self) -> list[str]:
        """Why the cells are of no stronger tier, as of `Runner.reasons`."""
        return list(self._sandbox["reasons"]) if self._sandbox is not None else []

    @property
    def python(self) -> str:
        """What runs a model's Python: `cell`, `portable` (the smaller one), `refused`; empty while cells start."""
        if self._sandbox is None:
            return ""
        if self._sandbox["runs_untrusted"]:
            return "cell"
        return "portable" if "python" in self._sandbox["stand_ins"] else "refused"

    def _look_at_cells(self) -> None:
        try:
            self._sandbox = self.blobs.service.runner.describe()
        except BlobsError:
            return  # closed before it had started


async def tenant_blobs(request: Request) -> Blobs:
    """The service for the tenant whose key the request carries; a dependency of routes."""
    blobs: Blobs = request.state.blobs
    return blobs
