"""A folder as a user may have it: files, a store with a conversation, its dump."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from blobs import Blobs

ORDERS = b"id,zip,total\n1,00123,10.50\n2,00456,20.00\n3,99999,0.25\n"


@dataclass(frozen=True)
class Desk:
    """Where the files lie, and the ways to name the orders."""

    folder: Path
    store: Path
    digest: str


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One folder for the run; tests only look at it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "orders.csv").write_bytes(ORDERS)
    with Blobs.open(folder / "store") as blobs:
        chat = blobs.conversation("chat-42")
        with chat.turn() as turn:
            turn.offload([{"n": n} for n in range(9000)], tool="list_numbers")
        handle = chat.attach(folder / "orders.csv")
        assert handle["blob"] == "blob2"
        dump = chat.dump()
    (folder / "dump.json").write_text(json.dumps(dump), encoding="utf-8")
    return Desk(folder, folder / "store", dump["blobs"]["blob2"]["$blob"])
