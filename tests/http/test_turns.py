"""Turns over HTTP: what the model reads, names, retries, rollback."""

import json
import re

import httpx
import pytest

from tests.http.conftest import is_problem
from tests.http.server import Server

ROWS = [{"id": n, "name": f"row {n}"} for n in range(3000)]  # about 90 KB of JSON
CSV = "id,zip\n" + "".join(f"{n},{n:05}\n" for n in range(6000))  # about 70 KB


def _calls(*results: object) -> dict[str, object]:
    return {"calls": [{"id": f"call-{n}", "tool": f"tool{n}", "result": each} for n, each in enumerate(results)]}


def test_small_stays_inline_and_large_becomes_a_handle(http: httpx.Client, chat: str) -> None:
    """The answer has the turn, a result a call in call order, and the handles; `text` is what the model reads."""
    answer = http.put(f"{chat}/turns/1", json=_calls({"n": 1}, ROWS, CSV)).json()
    assert list(answer) == ["turn", "results", "handles"]
    assert answer["turn"] == 1
    assert [each["id"] for each in answer["results"]] == ["call-0", "call-1", "call-2"]
    small, rows, text = answer["results"]
    assert small == {"id": "call-0", "content": {"n": 1}, "text": '{"n":1}', "is_error": False}
    assert list(rows["content"]) == ["blob", "type", "size", "items", "cost", "preview"]
    assert (rows["content"]["blob"], rows["content"]["type"], rows["content"]["items"]) == (
        "blob1",
        "application/json",
        3000,
    )
    assert (text["content"]["blob"], text["content"]["type"], text["content"]["items"]) == ("blob2", "text/csv", 6000)
    assert json.loads(rows["text"]) == rows["content"]
    assert answer["handles"] == [rows["content"], text["content"]]


def test_a_retry_gives_the_same_bytes(http: httpx.Client, chat: str) -> None:
    """The same body again: the same bytes and names, also after another turn."""
    body = json.dumps(_calls(ROWS, {"a": 1}, CSV)).encode()
    headers = {"Content-Type": "application/json"}
    first = http.put(f"{chat}/turns/1", content=body, headers=headers)
    assert http.put(f"{chat}/turns/1", content=body, headers=headers).content == first.content
    second = http.put(f"{chat}/turns/2", json=_calls(ROWS)).json()
    assert second["results"][0]["content"]["blob"] == "blob1"
    assert "preview" not in second["results"][0]["content"]
    assert http.put(f"{chat}/turns/1", content=body, headers=headers).content == first.content


def test_every_digit_comes_back(http: httpx.Client, chat: str) -> None:
    """Numbers pass as they were written, however long; text is UTF-8, never escaped."""
    numbers = '{"id":123456789012345678901234567890,"x":0.12345678901234567890123,"e":1e400,"z":-0.0,"s":"é 😀"}'
    body = f'{{"calls":[{{"id":"a","tool":"t","result":{numbers}}}]}}'.encode()
    answer = http.put(f"{chat}/turns/1", content=body, headers={"Content-Type": "application/json"})
    assert f'"content":{numbers},'.encode() in answer.content
    assert answer.json()["results"][0]["text"] == numbers


def test_names_follow_the_order_of_calls(http: httpx.Client, chat: str) -> None:
    """Many calls worked on side by side are named in call order, whichever ends first."""
    results = [["x" * (40_000 + 3000 * (n % 4)) + str(n)] for n in range(12)]
    answer = http.put(f"{chat}/turns/1", json=_calls(*results)).json()
    assert [each["content"]["blob"] for each in answer["results"]] == [f"blob{n}" for n in range(1, 13)]


def test_the_service_runs_its_own_tools(http: httpx.Client, chat: str) -> None:
    """A call with `arguments` is run; its faults are answers for the model."""
    http.put(f"{chat}/turns/1", json=_calls(CSV))
    calls = [
        {"id": "r", "tool": "blob_read", "arguments": {"blob": "blob1", "start": 5999}},
        {"id": "s", "tool": "blob_search", "arguments": {"blob": "blob1", "pattern": "05999"}},
        {
            "id": "q",
            "tool": "blob_code",
            "arguments": {"blob": "blob1", "language": "sql", "code": "select count(*) from blob1"},
        },
        {"id": "w", "tool": "blob_read", "arguments": {"blob": "blob7"}},
    ]
    read, search, sql, wrong = http.put(f"{chat}/turns/2", json={"calls": calls}).json()["results"]
    assert read["content"]["data"]["items"] == [["5999", "05999"]]
    assert search["content"]["data"]["found"] == 1
    assert sql["content"]["data"]["rows"] == [[6000]]
    assert wrong["is_error"]
    assert wrong["content"] == {"ok": False, "message": "blob: there is no blob7. Use blob1."}


def test_every_kind_of_result_is_taken(http: httpx.Client, chat: str) -> None:
    """Tool results, MCP results, errors, denials and references stand beside plain results."""
    reference = http.post("/v1/blobs", content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"}).json()
    calls = [
        {"id": "1", "tool": "t", "tool_result": {"ok": True, "message": "fine", "data": ROWS}},
        {"id": "2", "tool": "t", "mcp_result": {"content": [{"type": "text", "text": "hello"}]}},
        {"id": "3", "tool": "t", "error": "it broke"},
        {"id": "4", "tool": "t", "denied": "not allowed"},
        {"id": "5", "tool": "t", "reference": reference},
    ]
    answer = http.put(f"{chat}/turns/1", json={"calls": calls}).json()
    ok, mcp, error, denied, given = answer["results"]
    assert (ok["content"]["ok"], ok["content"]["message"], ok["content"]["data"]["blob"]) == (True, "fine", "blob1")
    assert not mcp["is_error"]
    assert "hello" in mcp["text"]
    assert error["is_error"]
    assert "it broke" in error["text"]
    assert denied["is_error"]
    assert given["content"]["blob"] == "blob2"
    assert given["content"]["type"] == "text/csv"
    assert not re.search("sha256|[$]blob", json.dumps(answer))


def test_another_body_replaces_only_the_last_turn(http: httpx.Client, chat: str) -> None:
    """Another body for the last turn replaces it; for an earlier one it is a conflict."""
    http.put(f"{chat}/turns/1", json=_calls(ROWS))
    http.put(f"{chat}/turns/2", json=_calls(CSV))
    replaced = http.put(f"{chat}/turns/2", json=_calls("other" * 20_000))
    assert replaced.status_code == 200
    assert replaced.json()["results"][0]["content"]["blob"] == "blob2"
    assert replaced.json()["results"][0]["content"]["type"] == "text/plain"
    assert is_problem(http.put(f"{chat}/turns/1", json=_calls(CSV)), 409, "conflict")


def test_a_rollback_takes_names_and_flags_back(http: httpx.Client, chat: str) -> None:
    """DELETE removes the turn and all after it; what it named is unknown, what it previewed is new again."""
    first = http.put(f"{chat}/turns/1", json=_calls(ROWS)).content
    http.put(f"{chat}/turns/2", json=_calls(CSV))
    http.put(f"{chat}/turns/3", json=_calls([CSV]))
    assert http.delete(f"{chat}/turns/2").status_code == 204
    assert is_problem(http.delete(f"{chat}/turns/2"), 404, "not_found")
    assert [each["blob"] for each in http.get(f"{chat}/blobs").json()["handles"]] == ["blob1"]
    assert is_problem(http.get(f"{chat}/blobs/blob2/content"), 404, "not_found")
    again = http.put(f"{chat}/turns/2", json=_calls(CSV)).json()["results"][0]["content"]
    assert again["blob"] == "blob2"
    assert "preview" in again
    assert http.put(f"{chat}/turns/1", json=_calls(ROWS)).content == first


def test_a_turn_can_end_in_nothing(http: httpx.Client, chat: str) -> None:
    """No calls are a turn too."""
    assert http.put(f"{chat}/turns/1", json={"calls": []}).json() == {"turn": 1, "results": [], "handles": []}


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        ({"calls": "none"}, 422),
        ({}, 422),
        ({"calls": [], "more": 1}, 422),
        ({"calls": [{"id": "a"}]}, 400),
        ({"calls": [{"id": "a", "result": 1, "error": "x"}]}, 400),
        ({"calls": [{"id": 1, "result": 1}]}, 400),
        ({"calls": [{"id": "a", "result": 1, "extra": 1}]}, 400),
        ({"calls": ["x"]}, 400),
        ({"calls": [{"id": "a", "reference": {"$blob": "x", "size": 1, "type": "a/b"}}]}, 400),
        ({"calls": [{"id": "a", "reference": {"$blob": f"sha256:{'0' * 64}", "size": 1, "type": "a/b"}}]}, 404),
    ],
)
def test_a_malformed_turn_is_refused_whole(http: httpx.Client, chat: str, calls: object, status: int) -> None:
    """Nothing of a turn is kept when any of it is wrong."""
    refused = http.put(f"{chat}/turns/1", json=calls)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    assert http.get(chat).json() == {"blobs": {}, "turns": []}


def test_turns_have_numbers(http: httpx.Client, chat: str) -> None:
    """A turn's number is a whole number that is not negative."""
    for number in ("-1", "one", "1.5", str(2**63)):
        assert is_problem(http.put(f"{chat}/turns/{number}", json={"calls": []}), 422, "invalid_request")


def test_a_turn_has_at_most_so_many_calls(keyed: Server) -> None:
    """Over calls_max a turn is refused."""
    keyed.http.post("/v1/conversations", json={"id": "many"})
    body = {"calls": [{"id": str(n), "result": n} for n in range(11)]}
    assert is_problem(keyed.http.put("/v1/conversations/many/turns/1", json=body), 413, "limit_exceeded")
    body["calls"].pop()
    assert keyed.http.put("/v1/conversations/many/turns/1", json=body).status_code == 200


def test_hints_name_only_tools_that_the_model_has(http: httpx.Client) -> None:
    """The tools given for a conversation are remembered for its turns; those of a turn replace them."""
    made = http.post("/v1/conversations", json={"tools": ["blob_read", {"name": "list_orders"}]}).json()
    chat = f"/v1/conversations/{made['id']}"
    image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\2\0\0\0\x90wS\xde"
    http.post(f"{chat}/blobs", content=image, headers={"Content-Type": "image/png"})
    call = {"id": "a", "tool": "blob_read", "arguments": {"blob": "blob1"}}
    remembered = http.put(f"{chat}/turns/1", json={"calls": [call]}).json()["results"][0]
    assert remembered["is_error"]
    assert "blob_code" not in remembered["text"]
    given = http.put(f"{chat}/turns/1", json={"calls": [call], "tools": ["blob_read", "blob_code"]}).json()
    assert "blob_code" in given["results"][0]["text"]
