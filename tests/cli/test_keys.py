"""Keys as an operator makes, lists and revokes them."""

import json
from pathlib import Path

import pytest

from tests.cli.command import blobs


def test_a_key_is_shown_once(tmp_path: Path) -> None:
    """create prints the key, list shows all but that, revoke takes it away; the store holds no copy of it."""
    store = tmp_path / "store"
    key = blobs("keys", "create", "acme", "--store", store).stdout.decode().strip()
    made = json.loads(blobs("keys", "create", "other", "--role", "inspector", "--json", "--store", store).stdout)
    assert len(key) > 40
    assert key != made["key"]
    assert (made["tenant"], made["role"]) == ("other", "inspector")
    listed = blobs("keys", "list", "--json", "--store", store).stdout
    keys = {each["tenant"]: each for each in json.loads(listed)["keys"]}
    assert {name: each["role"] for name, each in keys.items()} == {"acme": "runtime", "other": "inspector"}
    assert b"acme" in blobs("keys", "list", "--store", store).stdout
    for secret in (key, made["key"]):
        assert secret.encode() not in listed
        assert not any(secret.encode() in path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert blobs("keys", "revoke", keys["acme"]["id"], "--store", store).returncode == 0
    assert blobs("keys", "revoke", keys["acme"]["id"], "--store", store).returncode == 3
    left = json.loads(blobs("keys", "list", "--json", "--store", store).stdout)["keys"]
    assert [each["tenant"] for each in left] == ["other"]


@pytest.mark.parametrize(
    "arguments", [(), ("create",), ("create", " "), ("create", "a", "--role", "root"), ("revoke",)]
)
def test_malformed_calls_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Nobody gets a key by mistake."""
    assert blobs("keys", *arguments, "--store", tmp_path / "store").returncode == 2


def test_a_store_in_memory_keeps_no_keys() -> None:
    """A key that nobody could use is not made."""
    assert blobs("keys", "create", "acme", "--store", ":memory:").returncode == 2
