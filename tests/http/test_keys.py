"""Keys of the catalog, their roles, and that nothing tells a secret."""

import json

import httpx
import pytest

from tests.cli.command import blobs
from tests.http.conftest import is_problem
from tests.http.server import Server


def make_key(server: Server, tenant: str, role: str = "runtime") -> tuple[str, str]:
    """A new key and its id."""
    made = json.loads(blobs("keys", "create", tenant, "--role", role, "--json", "--store", server.store).stdout)
    return made["key"], made["id"]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A server of this module's own, whose store gets keys."""
    running = Server(tmp_path_factory.mktemp("own"), environ={"BLOBS_DEBUG": "1", "BLOBS_GRACE_MS": "0"})
    yield running
    assert running.stop() == 0


def test_keys_count_from_when_they_are_made_until_they_are_revoked(own: Server) -> None:
    """A running server that was open to this machine asks for a key once there is one, and forgets a revoked one."""
    assert own.http.get("/v1/readers").status_code == 200
    assert own.http.get("/v1/blobs/x").status_code == 400
    ada, ada_id = make_key(own, "ada")
    bob, _ = make_key(own, "bob")
    for path in ("/v1/blobs/x", "/v1/readers"):
        assert is_problem(own.http.get(path), 401, "unauthorized")
    with own.client(ada) as client, own.client(bob) as other:
        stored = client.post("/v1/blobs", content=b"of ada")
        assert stored.status_code == 201
        for _ in range(3):
            assert client.get(stored.headers["location"]).content == b"of ada"
        assert other.get(stored.headers["location"]).status_code == 404
        blobs("keys", "revoke", ada_id, "--store", own.store)
        assert is_problem(client.get(stored.headers["location"]), 401, "unauthorized")
        assert other.get("/v1/readers").status_code == 200


def test_an_inspector_only_reads(own: Server) -> None:
    """It reads all of its tenant, and every path that changes anything is forbidden, whether or not it is there."""
    runtime, _ = make_key(own, "carol")
    inspector, _ = make_key(own, "carol", "inspector")
    with own.client(runtime) as client:
        location = client.post("/v1/blobs", content=b"of carol").headers["location"]
        client.post("/v1/conversations", json={"id": "chat"})
        client.post("/v1/conversations/chat/blobs", content=b"of carol", headers={"Content-Type": "text/plain"})
    document = own.http.get("/openapi.json").json()
    tried = 0
    with own.client(inspector) as client:
        for path in (location, "/v1/conversations/chat", "/v1/conversations/chat/blobs/blob1/content", "/v1/tools"):
            assert client.get(path).status_code == 200
        for path, operations in document["paths"].items():
            for method in set(operations) & {"post", "put", "patch", "delete"}:
                answer = client.request(method, path.replace("{c}", "chat").replace("{n}", "1"), content=b"{}")
                if path.startswith("/v1/"):
                    assert is_problem(answer, 403, "forbidden"), path
                    tried += 1
        assert client.get("/v1/conversations/chat/blobs/blob1/content").content == b"of carol"
    assert tried >= 12


def test_only_an_operator_collects(own: Server) -> None:
    """What concerns all tenants is for operators, who are a tenant's runtime too."""
    runtime, _ = make_key(own, "dora")
    operator, _ = make_key(own, "dora", "operator")
    with own.client(runtime) as client:
        client.post("/v1/blobs", content=b"nobody names this")
        assert is_problem(client.post("/v1/collect"), 403, "forbidden")
    with own.client(operator) as client:
        assert client.post("/v1/blobs", content=b"nor this").status_code == 201
        shown = client.post("/v1/collect", params={"dry_run": "true"}).json()
        assert shown["dry_run"]
        assert shown["blobs"] >= 2
        done = client.post("/v1/collect").json()
        assert (done["blobs"], done["bytes"], done["dry_run"]) == (shown["blobs"], shown["bytes"], False)
        assert client.post("/v1/collect").json()["blobs"] == 0


def test_nothing_tells_a_key(tmp_path) -> None:
    """Neither answers, also of faults with debugging on, nor the log, nor what commands say of the settings."""
    secret, own_key = "s3cret-of-the-settings", "another-s3cret"
    environ = {"BLOBS_KEYS": f"ada:{secret},bob:{own_key}", "BLOBS_DEBUG": "1"}
    server = Server(tmp_path, environ=environ, key=secret)
    told = []
    requests = [
        ("GET", "/v1/readers", None),
        ("GET", "/v1/blobs/nonsense", None),
        ("GET", "/v1/nothing", None),
        ("POST", "/v1/conversations", b"{not json"),
        ("PUT", "/v1/conversations/none/turns/1", b'{"calls": []}'),
        ("POST", "/v1/tools/check", b'{"tools": [{"name": "x y"}]}'),
        ("GET", "/openapi.json", None),
        ("GET", "/docs", None),
        ("GET", "/", None),
    ]
    for method, path, body in requests:
        for key in (secret, own_key + "wrong"):
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            answer = httpx.request(method, server.url + path, content=body, headers=headers)
            told.append(answer.text + str(answer.headers))
    # A store that is gone is a fault of the service: it is logged whole.
    (server.store / "catalog.db").rename(server.store / "elsewhere")
    answer = server.http.post("/v1/blobs", content=b"x")
    assert answer.status_code >= 500
    told.append(answer.text + str(answer.headers))
    (server.store / "elsewhere").rename(server.store / "catalog.db")
    assert server.stop() == 0
    told.append(server.log.read_text())
    assert "catalog.db" in told[-1]
    for command in (("doctor",), ("ls",), ("inspect", "nonsense"), ("readers",), ("ls", "--json")):
        done = blobs(*command, "--store", server.store, env=environ)
        told.append((done.stdout + done.stderr).decode())
    for wrong in (f"{secret}", f"ada:{secret},x"):
        done = blobs("ls", "--store", server.store, env={**environ, "BLOBS_KEYS": wrong})
        assert done.returncode == 2
        told.append((done.stdout + done.stderr).decode())
    assert not any(word in each for each in told for word in (secret, own_key))
