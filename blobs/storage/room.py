"""Room for bytes that are on their way in, set aside before they are written."""

import secrets
from collections.abc import Callable
from types import TracebackType
from typing import Self

from blobs.domain.errors import LimitError
from blobs.domain.limits import MIB, Limits
from blobs.storage.catalog import Catalog
from blobs.storage.content import LEFT_BEHIND_MS

STEP_BYTES = 64 * MIB
"""What is set aside at a time for content of unknown length."""


class Room:
    """What one put may add to its tenant's blobs; free again when it is released, recorded, or left behind.

    Without a `tenant_bytes_max` there is always room.
    """

    def __init__(
        self, catalog: Catalog, tenant: str, limits: Limits, clock: Callable[[], int], *, name: str | None = None
    ) -> None:
        """Nothing is held at first; whoever gives the `name` goes on with what was held under it."""
        self.is_bounded = limits.tenant_bytes_max is not None
        self.name = secrets.token_hex(16) if name is None and self.is_bounded else name or ""
        self._catalog = catalog
        self._tenant = tenant
        self._bytes_max = limits.tenant_bytes_max or 0
        self._lease_ms = max(limits.grace_ms, LEFT_BEHIND_MS)
        self._clock = clock
        self._held = 0
        self._may_hold = name is not None
        """Somebody held it under this name, as much as is not known here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def hold(self, size: int) -> None:
        """Have room for `size` bytes in all; `LimitError` where the tenant has less."""
        if not self.is_bounded or size <= self._held:
            return
        now = self._clock()
        self._catalog.reserve(
            self._tenant, self.name, size, bytes_max=self._bytes_max, now_ms=now, until_ms=now + self._lease_ms
        )
        self._held = size

    def grow(self, size: int) -> None:
        """Have room for `size` bytes in all, and a step more where there is that much."""
        if not self.is_bounded or size <= self._held:
            return
        try:
            self.hold(size + STEP_BYTES)
        except LimitError:
            self.hold(size)

    def settle(self) -> None:
        """Note that the record of the content has taken the place of what was held for it."""
        self._held, self._may_hold = 0, False

    def release(self) -> None:
        """Hold nothing any more."""
        if self.is_bounded and (self._held or self._may_hold):
            self._held, self._may_hold = 0, False
            self._catalog.release(self._tenant, self.name)
