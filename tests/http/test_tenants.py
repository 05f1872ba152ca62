"""Keys and tenants: nobody reads what is not theirs, or learns that it is there."""

import hashlib

import httpx
import pytest

from tests.http.conftest import KEYS, is_problem
from tests.http.server import Server

SECRET = b"what only ada knows\n" * 100
DIGEST = "sha256:" + hashlib.sha256(SECRET).hexdigest()


def _parts(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, headers, answer.content


@pytest.fixture(scope="module")
def bob(keyed: Server) -> httpx.Client:
    """The other tenant, after ada has stored and said things."""
    ada = keyed.http
    ada.post("/v1/blobs", content=SECRET)
    ada.post("/v1/conversations", json={"id": "of-ada"})
    ada.post("/v1/conversations/of-ada/blobs", content=SECRET, headers={"Content-Type": "text/plain"})
    client = keyed.client(KEYS["bob"])
    yield client
    client.close()


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {KEYS['ada']}", KEYS["ada"], "Bearer ada"]
)
def test_without_a_valid_key_nothing_is_answered(keyed: Server, authorization: str | None) -> None:
    """401 with WWW-Authenticate for every path under /v1, also those that do not exist."""
    headers = {} if authorization is None else {"Authorization": authorization}
    for path in ("/v1/readers", f"/v1/blobs/{DIGEST}", "/v1/nothing"):
        refused = httpx.get(f"{keyed.url}{path}", headers=headers)
        assert is_problem(refused, 401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    large = httpx.post(f"{keyed.url}/v1/blobs", content=b"x" * 2_000_000, headers=headers)
    assert is_problem(large, 401, "unauthorized")


def test_health_needs_no_key(keyed: Server) -> None:
    """Who watches a server has no key."""
    for path in ("/healthz", "/readyz", "/", "/openapi.json"):
        assert httpx.get(f"{keyed.url}{path}").status_code == 200


def test_the_scheme_is_read_in_any_case(keyed: Server) -> None:
    """`bearer` is the same scheme as `Bearer`."""
    assert httpx.get(f"{keyed.url}/v1/readers", headers={"Authorization": f"bearer {KEYS['bob']}"}).status_code == 200


def test_a_blob_of_another_tenant_never_was(keyed: Server, bob: httpx.Client) -> None:
    """Another tenant's digest is answered, header by header, like one that nobody has."""
    assert keyed.http.get(f"/v1/blobs/{DIGEST}").content == SECRET
    nobodys = "sha256:" + "0" * 64
    for method in ("GET", "HEAD"):
        for headers in ({}, {"Range": "bytes=0-1"}, {"If-None-Match": "*"}, {"If-Match": "*"}):
            taken = bob.request(method, f"/v1/blobs/{DIGEST}", headers=headers)
            never = bob.request(method, f"/v1/blobs/{nobodys}", headers=headers)
            assert taken.status_code == 404
            assert _parts(taken)[:2] == _parts(never)[:2]
            assert taken.content.replace(DIGEST.encode(), nobodys.encode()) == never.content


def test_a_conversation_of_another_tenant_never_was(keyed: Server, bob: httpx.Client) -> None:
    """Every path below another tenant's conversation is answered like one of a conversation that nobody has."""
    reference = {"$blob": DIGEST, "size": len(SECRET), "type": "text/plain"}
    requests: list[tuple[str, str, object]] = [
        ("GET", "", None),
        ("DELETE", "", None),
        ("POST", "/fork", {}),
        ("PUT", "/turns/1", {"calls": []}),
        ("DELETE", "/turns/1", None),
        ("GET", "/blobs", None),
        ("GET", "/blobs/blob1", None),
        ("GET", "/blobs/blob1/content", None),
        ("POST", "/blobs", reference),
        ("POST", "/tools/blob_read", {"blob": "blob1"}),
        ("POST", "/resolve", {"schema": {"f": "blob"}, "arguments": {"f": "blob1"}}),
    ]
    for method, path, body in requests:
        taken = bob.request(method, f"/v1/conversations/of-ada{path}", json=body)
        never = bob.request(method, f"/v1/conversations/of-eve{path}", json=body)
        assert taken.status_code == 404
        assert _parts(taken)[0] == _parts(never)[0]
        assert taken.content.replace(b"of-ada", b"of-eve") == never.content
    assert keyed.http.get("/v1/conversations/of-ada").json()["blobs"]["blob1"]["$blob"] == DIGEST


def test_a_reference_to_another_tenants_blob_is_no_way_in(bob: httpx.Client) -> None:
    """Knowing a digest gives nothing: not as an attachment, a call's reference or part of a dump."""
    reference = {"$blob": DIGEST, "size": len(SECRET), "type": "text/plain"}
    chat = bob.post("/v1/conversations").headers["location"]
    dump = {"blobs": {"blob1": reference}, "turns": []}
    for refused in (
        bob.post(f"{chat}/blobs", json=reference),
        bob.put(f"{chat}/turns/1", json={"calls": [{"id": "a", "reference": reference}]}),
        bob.post("/v1/conversations", json={"conversation": dump}),
        bob.post("/v1/conversations", json={"conversation": {"blobs": {}, "turns": [reference]}}),
    ):
        assert is_problem(refused, 404, "not_found")


def test_tenants_may_use_the_same_ids_and_bytes(keyed: Server, bob: httpx.Client) -> None:
    """The same id and the same bytes of two tenants are each their own."""
    assert bob.post("/v1/conversations", json={"id": "of-ada"}).status_code == 201
    assert bob.get("/v1/conversations/of-ada").json() == {"blobs": {}, "turns": []}
    assert bob.post("/v1/blobs", content=SECRET).json()["$blob"] == DIGEST
    assert bob.delete("/v1/conversations/of-ada").status_code == 204
    assert keyed.http.get("/v1/conversations/of-ada").status_code == 200


# Without keys


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8400", "localhost.evil.example", "10.0.0.1", "", "[::2]"]
)
def test_a_name_that_was_rebound_is_refused(server: Server, host: str) -> None:
    """Without keys only requests for this machine are answered, whatever address a name was made to have."""
    assert is_problem(httpx.get(f"{server.url}/v1/readers", headers={"Host": host}), 421, "not_loopback")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8400", "LOCALHOST"])
def test_names_of_this_machine_are_answered(server: Server, host: str) -> None:
    """localhost and the loopback addresses, with any port."""
    assert httpx.get(f"{server.url}/v1/readers", headers={"Host": host}).status_code == 200


def test_pages_from_elsewhere_are_refused(server: Server) -> None:
    """A browser's request from another origin is refused, one from a page of this machine is not."""
    for origin, status in (("https://evil.example", 421), ("null", 421), ("http://localhost:3000", 201)):
        stored = httpx.post(f"{server.url}/v1/blobs", content=b"x", headers={"Origin": origin})
        assert stored.status_code == status
