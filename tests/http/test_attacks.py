"""Clients that mean ill: each gets a clear answer within bounded memory, and the others go on being served."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.raw import connect, read_answer, read_to_end
from tests.http.server import Server

HEAD_MS_MAX = 2_000
IDLE_MS_MAX = 2_000
GROWTH_BYTES_MAX = 150 * 1024 * 1024


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with short patience; it must end well after all of this."""
    folder: Path = tmp_path_factory.mktemp("attacked")
    environ = {"BLOBS_HEAD_MS_MAX": str(HEAD_MS_MAX), "BLOBS_BODY_IDLE_MS_MAX": str(IDLE_MS_MAX)}
    running = Server(folder, environ=environ)
    running.http.post("/v1/conversations", json={"id": "chat"})
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(autouse=True)
def lives(attacked: Server) -> Iterator[None]:
    """After each attack the worker is the same process, has not grown, and answers."""
    before = attacked.memory_bytes()
    yield
    assert attacked.process.poll() is None
    assert attacked.http.get("/healthz").status_code == 200
    assert attacked.memory_bytes() - before < GROWTH_BYTES_MAX


def answer(connection: socket.socket) -> tuple[int, dict[str, object]]:
    """Status and problem document of what comes back until the server closes."""
    received = read_to_end(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower(), received
    return int(head.split()[1]), json.loads(body)


def head_of(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def test_a_head_without_end_is_refused(attacked):
    """Headers that go on for ever are cut at the limit, whether one is huge or many are small."""
    for line in (b"X-Large: " + b"x" * 1_000_000, b"".join(b"X-%d: y\r\n" % number for number in range(100_000))):
        with connect(attacked, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n") as connection:
            try:
                for start in range(0, len(line), 16_384):
                    connection.sendall(line[start : start + 16_384])
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused while it was still being sent
            else:
                assert answer(connection)[0] == 431


def test_a_head_over_the_limit_is_told(attacked):
    """A head a little too large gets the status for it."""
    with connect(attacked, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * 66_000) as connection:
        status, told = answer(connection)
    assert (status, told["code"]) == (431, "head_too_large")


def test_a_large_head_is_served(attacked):
    """A head within the limit is taken."""
    assert attacked.http.get("/healthz", headers={"X-Large": "x" * 30_000}).status_code == 200


def test_slow_heads_are_given_up_and_hold_nobody_up(attacked):
    """Hundreds of connections that never end their head are closed in time; meanwhile others are answered."""
    slow = [connect(attacked, b"GET /healthz HTTP/1.1\r\nHost: loc") for _ in range(300)]
    assert attacked.http.get("/v1/conversations/chat").status_code == 200
    status, told = answer(slow[0])
    assert (status, told["code"]) == (408, "head_timeout")
    assert {answer(connection)[0] for connection in slow[1:]} == {408}
    for connection in slow:
        connection.close()


def test_a_second_request_has_its_own_time(attacked):
    """A connection that served a request may be idle; a further head that does not end is given up."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(attacked, whole) as connection:
        assert read_answer(connection)[0] == 200
        time.sleep(1.2 * HEAD_MS_MAX / 1000)
        connection.sendall(whole)
        assert read_answer(connection)[0] == 200
        connection.sendall(whole[:20])
        assert answer(connection)[0] == 408


@pytest.mark.parametrize("path", ["/v1/blobs", "/v1/conversations/chat/blobs", "/v1/conversations"])
def test_a_body_that_stops_is_given_up(attacked, path):
    """A body of which nothing comes any more counts as cut off, whatever route it goes to."""
    with connect(attacked, head_of(path, "Content-Length: 100"), b'{"id"') as connection:
        status, told = answer(connection)
    assert (status, told["code"]) == (400, "incomplete_body")


def test_a_slow_body_that_goes_on_is_taken(attacked):
    """Slowness alone is no fault: a body that comes in drops is stored, and others are answered meanwhile."""
    done = threading.Event()

    def drops() -> Iterator[bytes]:
        for _ in range(8):
            time.sleep(0.2)
            assert attacked.http.get("/healthz").status_code == 200
            yield b"drop"
        done.set()

    with attacked.client() as slow:
        assert slow.post("/v1/blobs", content=drops()).status_code == 201
    assert done.is_set()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        b"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n",
    ],
)
def test_what_is_no_http_is_told(attacked, sent):
    """Another protocol, a length that contradicts itself and a wrong chunk are refused with a problem document."""
    with connect(attacked, sent) as connection:
        status, told = answer(connection)
    assert status == 400
    assert told["code"] in ("invalid_http", "incomplete_body")


def test_bytes_after_the_body_are_no_part_of_it(attacked):
    """What follows the declared length is another request, or none."""
    with connect(attacked, head_of("/v1/blobs", "Content-Length: 5"), b"hello") as connection:
        status, _, body = read_answer(connection)
        assert status == 201
        assert b'"size":5' in body
        connection.sendall(b"MORE AND MORE\r\n\r\n")
        assert answer(connection)[0] == 400


def test_a_turn_of_ten_thousand_calls_is_refused_whole(attacked):
    """Too many calls are a clear refusal, and nothing of the turn is kept."""
    calls = [{"id": f"call-{number}", "tool": "t", "result": "x" * 100} for number in range(10_000)]
    refused = attacked.http.put("/v1/conversations/chat/turns/1", json={"calls": calls})
    assert refused.status_code in (413, 422)
    assert "1000" in refused.text
    assert attacked.http.get("/v1/conversations/chat").json()["turns"] == []


def test_a_bomb_is_kept_and_never_unpacked_whole(attacked):
    """A body that would unpack to a thousand times its size is stored as it is, and its handle says what it is."""
    bomb = gzip.compress(bytes(1_000_000), 9) * 600  # members of one MB of zeros each
    handle = attacked.http.post("/v1/conversations/chat/blobs", content=bomb).json()
    handle = handle.get("handle", handle)
    assert handle["size"] == len(bomb)
    asked = {"blob": handle["blob"], "language": "sql", "code": f"select count(*) from {handle['blob']}"}
    told = attacked.http.post("/v1/conversations/chat/tools/blob_code", json=asked)
    assert told.status_code == 200
    assert told.json()["ok"] is False
