"""One server for the whole run, and one with keys and small limits."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.http.server import Server

_NUMBERS = itertools.count(1)

KEYS = {"ada": "key-of-ada", "bob": "key-of-bob"}

SMALL_BLOB_BYTES = 3 * 1024 * 1024
SMALL_JSON_BYTES = 200_000


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without keys; it must end well when it is told to, and have logged no fault."""
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    assert running.stop() == 0
    assert running.log.read_text() == ""


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a key for each of two tenants, and limits that tests can reach."""
    folder: Path = tmp_path_factory.mktemp("keyed")
    environ = {
        "BLOBS_KEYS": ",".join(f"{tenant}:{key}" for tenant, key in KEYS.items()),
        "BLOBS_BLOB_BYTES_MAX": str(SMALL_BLOB_BYTES),
        "BLOBS_REQUEST_JSON_BYTES_MAX": str(SMALL_JSON_BYTES),
        "BLOBS_CALLS_MAX": "10",
    }
    running = Server(folder, environ=environ, key=KEYS["ada"])
    yield running
    assert running.stop() == 0


@pytest.fixture
def http(server: Server) -> httpx.Client:
    """A client of the server without keys."""
    return server.http


@pytest.fixture
def chat(http: httpx.Client) -> str:
    """The path of a new conversation."""
    made = http.post("/v1/conversations", json={"id": f"chat-{next(_NUMBERS)}"})
    assert made.status_code == 201
    return f"/v1/conversations/{made.json()['id']}"


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    """Whether an answer is a whole problem document with this status and code."""
    document = answer.json()
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert list(document) == ["type", "title", "status", "detail", "code", "hint"]
    assert document["status"] == status
    assert document["detail"]
    assert document["code"] == code, document
    return True
