"""The contract suite for what catalogs promise about keys; see `blobs.testing.storage`."""

from dataclasses import replace

import pytest

from blobs.domain.errors import ConflictError
from blobs.domain.keys import hash_key
from blobs.storage.access import KeyRecord
from blobs.storage.catalog import Catalog


class AccessContract:
    """What every catalog keeps of keys."""

    def test_a_key_is_found_by_its_hash(self, catalog: Catalog) -> None:
        """Whole, and only by its own; once it is removed by none."""
        key = KeyRecord("k1", hash_key("secret"), "a", "runtime", 5)
        assert catalog.find_key(key.hash) is None
        catalog.add_key(key)
        assert catalog.has_keys() is True
        assert catalog.find_key(key.hash) == key
        assert catalog.find_key(hash_key("Secret")) is None
        assert catalog.remove_key("k2") is False
        assert catalog.remove_key("k1") is True
        assert catalog.remove_key("k1") is False
        assert catalog.find_key(key.hash) is None
        assert catalog.has_keys() is False

    def test_a_key_is_added_once(self, catalog: Catalog) -> None:
        """A second one of the same id or hash is refused and changes nothing."""
        key = KeyRecord("k1", hash_key("secret"), "a", "runtime", 5)
        catalog.add_key(key)
        for again in (replace(key, hash=hash_key("other")), replace(key, id="k2", tenant="b")):
            with pytest.raises(ConflictError):
                catalog.add_key(again)
        assert catalog.list_keys() == [key]

    def test_keys_are_listed_in_pages(self, catalog: Catalog) -> None:
        """Pages that follow one another hold each key once, by id."""
        keys = [KeyRecord(each, hash_key(each), "a", "inspector", 1) for each in ("b", "a", "é", "c")]
        for each in keys:
            catalog.add_key(each)
        listed: list[str] = []
        while page := catalog.list_keys(after=listed[-1] if listed else None, limit=3):
            listed += [each.id for each in page]
        assert listed == ["a", "b", "c", "é"]

    def test_a_key_is_not_shown_by_its_record(self) -> None:
        """What is logged of a record does not hold its hash."""
        key = KeyRecord("k1", hash_key("secret"), "a", "runtime", 5)
        assert "hash" not in repr(key)
