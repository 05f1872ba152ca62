"""What most tests start from: one service in memory, and a fresh conversation in it."""

from collections.abc import Iterator

import pytest

import tests.material  # noqa: F401  # takes BLOBS_CORPUS out of the environment before a service reads that
from blobs import Blobs, Conversation


@pytest.fixture(scope="session")
def service() -> Iterator[Blobs]:
    """One in-memory service for the whole run: starting cells costs seconds."""
    with Blobs.open(":memory:") as blobs:
        yield blobs


@pytest.fixture
def chat(service: Blobs) -> Conversation:
    """A conversation of its own for every test."""
    return service.conversation()
