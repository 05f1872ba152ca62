"""A tenant's room over HTTP: told before the body is read, and each tenant's own."""

import base64
import hashlib
import os
import time

import pytest

from tests.http.conftest import KEYS, is_problem
from tests.http.raw import connect, read_answer
from tests.http.server import Server

ROOM_BYTES = 4_000_000
TUS = {"Tus-Resumable": "1.0.0"}


@pytest.fixture
def small(tmp_path):
    """A server with room for four megabytes a tenant."""
    keys = ",".join(f"{tenant}:{key}" for tenant, key in KEYS.items())
    running = Server(tmp_path, environ={"BLOBS_KEYS": keys, "BLOBS_TENANT_BYTES_MAX": str(ROOM_BYTES)}, key=KEYS["ada"])
    yield running
    assert running.stop() == 0


def answer_to_head(server: Server, length: int, extra: str = "") -> tuple[int, bytes]:
    """Status and body of what is answered to the head of an upload before any of its body was sent."""
    head = f"POST /v1/blobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS['ada']}\r\n{extra}"
    with connect(server, f"{head}Content-Length: {length}\r\n\r\n".encode()) as line:
        status, _, body = read_answer(line)
        return status, body


def test_room_is_looked_at_before_the_body(small: Server) -> None:
    """413 to the head of a request that is too long, also where 100 is expected; a body that fits is asked for."""
    for extra in ("", "Expect: 100-continue\r\n"):
        status, refused = answer_to_head(small, ROOM_BYTES + 1, extra)
        assert status == 413
        assert b"over_quota" in refused
    assert answer_to_head(small, ROOM_BYTES, "Expect: 100-continue\r\n") == (100, b"")


def test_room_runs_out_and_comes_back(small: Server) -> None:
    """Uploads of every kind and turns are refused when it is used up; not for others, and not for what is there."""
    ada, content = small.http, os.urandom(3_000_000)
    other = small.client(KEYS["bob"])
    assert ada.post("/v1/blobs", content=content).status_code == 201
    assert is_problem(ada.post("/v1/blobs", content=content[:1_000_001]), 413, "over_quota")
    assert is_problem(ada.post("/v1/blobs", content=(content[:1_000_001] for _ in range(1))), 413, "over_quota")
    begun = ada.post("/v1/uploads", headers={**TUS, "Upload-Length": "1000001"})
    assert is_problem(begun, 413, "over_quota")
    chat = ada.post("/v1/conversations").headers["location"]
    attached = ada.post(f"{chat}/blobs", content=content[:1_000_001])
    assert is_problem(attached, 413, "over_quota")
    turn = ada.put(f"{chat}/turns/1", json={"calls": [{"id": "a", "tool": "t", "result": "x" * 1_000_001}]})
    assert is_problem(turn, 413, "over_quota")
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    again = ada.post("/v1/blobs", content=content, headers={"Repr-Digest": f"sha-256=:{digest}:"})
    assert again.status_code == 201
    assert other.post("/v1/blobs", content=content).status_code == 201
    begun = ada.post("/v1/uploads", headers={**TUS, "Upload-Length": "900000"})
    assert begun.status_code == 201
    assert is_problem(ada.post("/v1/blobs", content=content[:300_000]), 413, "over_quota")
    assert ada.delete(begun.headers["location"], headers=TUS).status_code == 204
    begun = ada.post("/v1/uploads", headers={**TUS, "Upload-Length": "900000"})
    done = ada.patch(
        begun.headers["location"],
        content=content[:900_000],
        headers={**TUS, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"},
    )
    assert done.status_code == 204, done.text
    assert ada.post("/v1/blobs", content=content[:100_000]).status_code == 201
    assert is_problem(ada.post("/v1/blobs", content=b"1"), 413, "over_quota")
    other.close()


def test_a_body_that_is_cut_off_takes_no_room(small: Server) -> None:
    """What was held for it is free again once the connection is gone."""
    head = f"POST /v1/blobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS['ada']}\r\n"
    connect(small, f"{head}Content-Length: {ROOM_BYTES}\r\n\r\n".encode() + b"x" * 2_000_000).close()
    deadline = time.monotonic() + 30
    while (status := small.http.post("/v1/blobs", content=b"y" * ROOM_BYTES).status_code) == 413:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert status == 201
