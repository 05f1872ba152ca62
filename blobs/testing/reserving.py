"""The contract suite for what catalogs promise about the room of tenants; see `blobs.testing.storage`."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from blobs.domain.errors import LimitError
from blobs.storage.catalog import Catalog
from blobs.testing.keeping import GREEN, RED, blob, remove


class ReservingContract:
    """What every catalog keeps of quotas and of room that is set aside."""

    def test_a_tenants_blobs_count_once_by_their_size(self, catalog: Catalog) -> None:
        """The sum follows every record that comes and goes, and is each tenant's own."""
        assert catalog.tenant_bytes("a") == 0
        catalog.add_blob("a", blob(RED, size=5))
        catalog.add_blob("a", blob(RED, "again", size=5))
        catalog.add_blob("a", blob(GREEN, size=7))
        catalog.add_blob("b", blob(RED, size=11))
        assert (catalog.tenant_bytes("a"), catalog.tenant_bytes("b")) == (12, 11)
        remove(catalog, RED)
        assert (catalog.tenant_bytes("a"), catalog.tenant_bytes("b")) == (7, 11)

    def test_a_reservation_counts_until_it_is_used_released_or_over(self, catalog: Catalog) -> None:
        """Blobs and reservations together never go over the limit; a reservation is replaced by its own next one."""

        def reserve(reservation: str, size: int, *, now_ms: int = 10, tenant: str = "a") -> None:
            catalog.reserve(tenant, reservation, size, bytes_max=100, now_ms=now_ms, until_ms=20)

        catalog.add_blob("a", blob(RED, size=40))
        reserve("one", 60)
        reserve("one", 50)
        for reservation, size, used in [("two", 11, 90), ("one", 61, 40)]:
            with pytest.raises(LimitError, match=f"tenant_bytes_max is 100, and {used} are used"):
                reserve(reservation, size)
        reserve("two", 10)
        reserve("other tenant", 100, tenant="b")
        catalog.add_blob("a", blob(GREEN, size=50), reservation="one")
        assert catalog.tenant_bytes("a") == 90
        with pytest.raises(LimitError):
            reserve("three", 1)
        catalog.release("a", "two")
        catalog.release("a", "unknown")
        reserve("three", 10)
        with pytest.raises(LimitError):
            reserve("four", 10, now_ms=19)
        reserve("four", 10, now_ms=20)

    def test_racing_reservations_do_not_overshoot(self, catalog: Catalog) -> None:
        """Of many threads that reserve at once only as many succeed as there is room for."""

        def reserve(number: int) -> bool:
            try:
                catalog.reserve("a", str(number), 10, bytes_max=75, now_ms=1, until_ms=2)
            except LimitError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(reserve, range(24))).count(True) == 7
