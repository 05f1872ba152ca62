"""When every cell is taken and the line is full, a call is told to come again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.http.conftest import is_problem
from tests.http.server import AT_WORK, Server


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Server]:
    """A service with one cell: one call runs, eight wait."""
    server = Server(tmp_path, environ={"BLOBS_CELLS_MAX": "1"})
    yield server
    server.stop()


def test_a_full_service_answers_429_with_retry_after(small):
    """Of nine that come while a cell works one is turned away at once; all others are served."""
    with small.client() as http, ThreadPoolExecutor(10) as threads:
        chat = http.post("/v1/conversations", json={}).json()["id"]
        http.post(f"/v1/conversations/{chat}/blobs", content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"})

        def call(code: str) -> httpx.Response:
            body = {"blob": "blob1", "language": "python", "code": code}
            return http.post(f"/v1/conversations/{chat}/tools/blob_code", json=body, timeout=60)

        assert call("1").json()["data"]["result"] == 1
        running = threads.submit(call, f"{AT_WORK}import time\ntime.sleep(6)\n0")
        small.await_work()
        answers = [each.result() for each in [threads.submit(call, str(number)) for number in range(9)]]
        assert running.result().json()["data"]["result"] == 0
    (refused,) = (each for each in answers if each.status_code != 200)
    assert is_problem(refused, 429, "busy")
    assert refused.headers["Retry-After"] == "10"
    assert [each.json()["data"]["result"] for each in answers if each is not refused] == [
        number for number in range(9) if answers[number] is not refused
    ]
