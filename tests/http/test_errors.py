"""Every error is a problem document with a stable code."""

import json

import httpx
import pytest

from tests.http.conftest import SMALL_JSON_BYTES, is_problem
from tests.http.server import Server

JSON_PATHS = [
    ("POST", "/v1/conversations"),
    ("POST", "{chat}/fork"),
    ("PUT", "{chat}/turns/1"),
    ("POST", "{chat}/tools/blob_read"),
    ("POST", "{chat}/resolve"),
    ("POST", "/v1/tools/check"),
]


def _send(http: httpx.Client, chat: str, method: str, path: str, body: bytes, kind: str | None) -> httpx.Response:
    headers = {} if kind is None else {"Content-Type": kind}
    return http.request(method, path.format(chat=chat), content=body, headers=headers)


def test_an_unknown_path_is_not_found(http: httpx.Client) -> None:
    """404 for what is no path, with the code that everything missing has; a slash more is another path."""
    for path in ("/v2", "/v1", "/v1/nothing", "/v1/blobs/", "/v1/conversations/", "/v1/tools/"):
        assert is_problem(http.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/v1/conversations/x", "GET, DELETE"),
        ("GET", "/v1/blobs", "POST"),
        ("DELETE", "/v1/blobs/x", "GET, HEAD"),
        ("PUT", "/v1/conversations/x/blobs", "GET, POST"),
        ("GET", "/v1/conversations/x/turns/1", "PUT, DELETE"),
        ("POST", "/v1/conversations/x/blobs/blob1/content", "GET, HEAD"),
        ("POST", "/healthz", "GET"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(http: httpx.Client, method: str, path: str, allowed: str) -> None:
    """405 with every method of the path in Allow."""
    refused = http.request(method, path)
    assert is_problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == allowed


@pytest.mark.parametrize(("method", "path"), JSON_PATHS)
def test_bodies_that_are_no_json_are_refused(http: httpx.Client, chat: str, method: str, path: str) -> None:
    """400 for text that is no JSON, 415 for a declared type that is not JSON."""
    for body in (b"{", b"\xff\xfe\xfa", b'{"a":}', b"\0", b'{"a":1} x'):
        assert is_problem(_send(http, chat, method, path, body, "application/json"), 400, "invalid_json")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", "x"):
        assert is_problem(_send(http, chat, method, path, b"{}", kind), 415, "unsupported_type")


@pytest.mark.parametrize(("method", "path"), JSON_PATHS)
@pytest.mark.parametrize("depth", [100, 890, 901, 960, 1100, 100_000])
def test_deep_json_is_no_fault_of_the_service(
    http: httpx.Client, chat: str, method: str, path: str, depth: int
) -> None:
    """Nesting of any depth is taken or refused, never a 500."""
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        deep = opened * depth + ("1" if opened != "[" else "") + closed * depth
        for body in (
            deep,
            f'{{"calls":[{{"id":"a","result":{deep}}}]}}',
            f'{{"calls":[],"record":{deep}}}',
            f'{{"schema":{deep},"arguments":{deep}}}',
            f'{{"schema":{{"f":"blob"}},"arguments":{{"f":{deep}}}}}',
            f'{{"tools":[{{"name":"t","schema":{deep}}}]}}',
            f'{{"conversation":{deep}}}',
        ):
            answer = _send(http, chat, method, path, body.encode(), "application/json")
            assert answer.status_code < 500, (answer.text, body[:60])


@pytest.mark.parametrize(
    "body",
    [
        b'"\\ud800"',
        b'{"id":"\\ud800"}',
        b'{"calls":[{"id":"\\udfff","tool":"\\ud800","result":"\\ud800"}],"service":"\\ud800","tools":["\\ud800"]}',
        b'{"calls":[{"id":"a","result":NaN}],"record":Infinity}',
        b'{"schema":{"f":"\\ud800"},"arguments":{"\\ud800":"\\ud800"}}',
        b'{"tools":[{"name":"\\ud800"}]}',
        b'{"tools":[1,null,"x",[]]}',
        b"[]",
        b"null",
        b"1e999",
        b'{"calls":null}',
    ],
)
@pytest.mark.parametrize(("method", "path"), JSON_PATHS)
def test_odd_json_is_no_fault_of_the_service(
    http: httpx.Client, chat: str, method: str, path: str, body: bytes
) -> None:
    """Lone surrogates, NaN and values of the wrong kind are taken or refused, never a 500."""
    assert _send(http, chat, method, path, body, "application/json").status_code < 500


def test_json_without_a_declared_type_is_taken(http: httpx.Client) -> None:
    """A body without Content-Type, and one of a +json type, are read as JSON."""
    for kind in (None, "application/problem+json", "Application/JSON; charset=utf-8"):
        assert _send(http, "", "POST", "/v1/tools/check", b'{"tools":[]}', kind).json() == {"ok": True, "problems": []}


def test_invalid_requests_say_where(http: httpx.Client, chat: str) -> None:
    """422 names the place of each fault, and at most a few of them."""
    refused = http.post("/v1/conversations", json={"id": 7, "tools": [1], "nope": 1})
    assert is_problem(refused, 422, "invalid_request")
    for place in ("body.id", "body.tools.0", "body.nope"):
        assert place in refused.json()["detail"]
    many = http.post("/v1/conversations", json={f"k{n}": n for n in range(50)}).json()["detail"]
    assert "45 more" in many


def test_a_json_body_over_the_limit_is_refused(keyed: Server) -> None:
    """413 by the declared length, and while reading where there is none."""
    body = json.dumps({"tools": [], "reserved": ["x" * SMALL_JSON_BYTES]}).encode()
    headers = {"Content-Type": "application/json"}
    for content in (body, iter([body[:1000], body[1000:]])):
        refused = keyed.http.post("/v1/tools/check", content=content, headers=headers)
        assert is_problem(refused, 413, "body_too_large")
    small = json.dumps({"tools": [], "reserved": ["x" * (SMALL_JSON_BYTES - 100)]}).encode()
    assert keyed.http.post("/v1/tools/check", content=small, headers=headers).status_code == 200


def test_an_unknown_dialect_is_told_the_known_ones(http: httpx.Client) -> None:
    """The hint of an error is the next step."""
    refused = http.get("/v1/tools", params={"dialect": "klingon"})
    assert is_problem(refused, 400, "unknown_dialect")
    assert "anthropic" in refused.json()["hint"]
