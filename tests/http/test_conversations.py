"""Conversations over HTTP: begin, dump, carry on, fork, attach, look up, call, resolve, forget."""

import json

import httpx
import pytest

from tests.http.conftest import is_problem

CSV = b"id,zip\n1,00123\n2,04567\n"
ROWS = [{"id": n, "name": f"row {n}"} for n in range(3000)]


def _attach(http: httpx.Client, chat: str, content: bytes = CSV, media_type: str = "text/csv") -> httpx.Response:
    return http.post(f"{chat}/blobs", content=content, headers={"Content-Type": media_type})


def test_a_conversation_begins_empty(http: httpx.Client) -> None:
    """201 with the id, the dump and where it is; without a body the id is made up."""
    made = http.post("/v1/conversations")
    assert made.status_code == 201
    assert made.json()["conversation"] == {"blobs": {}, "turns": []}
    assert made.headers["location"] == f"/v1/conversations/{made.json()['id']}"
    assert http.get(made.headers["location"]).json() == {"blobs": {}, "turns": []}


def test_an_id_is_taken_once(http: httpx.Client, chat: str) -> None:
    """The id of a conversation cannot be given to another, until the first is forgotten."""
    identity = chat.rsplit("/", 1)[1]
    assert is_problem(http.post("/v1/conversations", json={"id": identity}), 409, "conversation_exists")
    assert http.delete(chat).status_code == 204
    assert is_problem(http.delete(chat), 404, "not_found")
    assert is_problem(http.get(chat), 404, "not_found")
    assert http.post("/v1/conversations", json={"id": identity}).status_code == 201


@pytest.mark.parametrize("identity", ["", "a/b", "..", "a b", "é", "x" * 201, "a\nb", 7])
def test_an_id_can_be_part_of_a_path(http: httpx.Client, identity: object) -> None:
    """What could not stand in a path is refused as an id."""
    assert is_problem(http.post("/v1/conversations", json={"id": identity}), 422, "invalid_request")


def test_a_conversation_is_carried_on_from_its_dump(http: httpx.Client, chat: str) -> None:
    """Old names resolve, numbering goes on at max+1, previews are not repeated, and the first is left as it is."""
    http.put(f"{chat}/turns/1", json={"calls": [{"id": "a", "result": ROWS}]})
    _attach(http, chat)
    dump = http.get(chat).json()
    assert list(dump["blobs"]) == ["blob1", "blob2"]
    assert len(dump["turns"]) == 1
    later = http.post("/v1/conversations", json={"conversation": dump})
    assert later.json()["conversation"] == dump
    path = later.headers["location"]
    assert http.get(f"{path}/blobs/blob2/content").content == CSV
    answer = http.put(
        f"{path}/turns/2", json={"calls": [{"id": "a", "result": ROWS}, {"id": "b", "result": [ROWS]}]}
    ).json()
    known, new = (each["content"] for each in answer["results"])
    assert (known["blob"], "preview" in known) == ("blob1", False)
    assert (new["blob"], "preview" in new) == ("blob3", True)
    assert http.get(chat).json() == dump


@pytest.mark.parametrize(
    ("dump", "status"),
    [
        ({"blobs": {}}, 400),
        ({"blobs": {"x": {}}, "turns": []}, 400),
        ({"blobs": {"blob1": {"$blob": "no", "size": 1, "type": "a/b"}}, "turns": []}, 400),
        ({"blobs": {"blob1": {"$blob": f"sha256:{'0' * 64}", "size": 1, "type": "a/b"}}, "turns": []}, 404),
        ("x", 422),
    ],
)
def test_a_dump_that_is_none_is_refused(http: httpx.Client, dump: object, status: int) -> None:
    """A malformed dump is a fault of the caller, one whose blobs are not there is not found; nothing begins."""
    refused = http.post("/v1/conversations", json={"id": "from-bad-dump", "conversation": dump})
    assert refused.status_code == status
    assert is_problem(http.get("/v1/conversations/from-bad-dump"), 404, "not_found")


def test_a_fork_goes_its_own_way(http: httpx.Client, chat: str) -> None:
    """A fork has the names and turns of the first; what comes afterwards is each its own."""
    body = {"calls": [{"id": "a", "result": ROWS}]}
    first = http.put(f"{chat}/turns/1", json=body).content
    forked = http.post(f"{chat}/fork")
    assert forked.status_code == 201
    copy = forked.headers["location"]
    assert forked.json()["conversation"] == http.get(chat).json()
    assert http.put(f"{copy}/turns/1", json=body).content == first
    _attach(http, copy)
    assert list(http.get(chat).json()["blobs"]) == ["blob1"]
    assert list(http.get(copy).json()["blobs"]) == ["blob1", "blob2"]
    named = http.post(f"{chat}/fork", json={"id": f"{chat.rsplit('/', 1)[1]}-b"})
    assert named.json()["id"].endswith("-b")


def test_an_attachment_gets_a_name(http: httpx.Client, chat: str) -> None:
    """201 with the handle, previewed once; its description holds the reference and the profile."""
    attached = _attach(http, chat)
    assert attached.status_code == 201
    handle = attached.json()
    assert (handle["blob"], handle["type"], handle["size"], handle["items"]) == ("blob1", "text/csv", len(CSV), 2)
    assert handle["preview"]["first"] == [["1", "00123"], ["2", "04567"]]
    assert attached.headers["location"] == f"{chat}/blobs/blob1"
    assert "preview" not in _attach(http, chat).json()
    described = http.get(attached.headers["location"]).json()
    assert described["preview"] == handle["preview"]
    assert described["reference"]["size"] == len(CSV)
    assert described["profile"]["reader"] == "csv"
    shown = {key: value for key, value in handle.items() if key != "preview"}
    assert http.get(f"{chat}/blobs").json() == {"handles": [shown]}


def test_a_reference_is_attached_too(http: httpx.Client, chat: str) -> None:
    """A JSON body that is a reference names the blob that it refers to; its size is what the store knows."""
    reference = http.post("/v1/blobs", content=CSV, headers={"Content-Type": "text/csv"}).json()
    handle = http.post(f"{chat}/blobs", json={**reference, "size": 1}).json()
    assert (handle["type"], handle["size"]) == ("text/csv", len(CSV))
    missing = {**reference, "$blob": f"sha256:{'0' * 64}"}
    assert is_problem(http.post(f"{chat}/blobs", json=missing), 404, "not_found")


def test_a_json_file_stays_a_file(http: httpx.Client, chat: str) -> None:
    """JSON that is no reference, or that has a file name, is content."""
    assert http.post(f"{chat}/blobs", json=[1, 2, 3]).json()["items"] == 3
    reference = json.dumps(http.post("/v1/blobs", content=CSV).json()).encode()
    named = http.post(
        f"{chat}/blobs?name=a.json", content=reference, headers={"Content-Type": "application/json"}
    ).json()
    assert named["size"] == len(reference)


def test_a_large_attachment_is_streamed(http: httpx.Client, chat: str) -> None:
    """An attachment may be larger than any JSON body of a test; its last row can be read."""
    content = b"n,text\n" + b"".join(b"%d,row %d\n" % (n, n) for n in range(300_000))
    assert _attach(http, chat, content).json()["items"] == 300_000
    tail = http.get(f"{chat}/blobs/blob1/content", headers={"Range": "bytes=-18"})
    assert tail.content == b"299999,row 299999\n"


def test_the_content_of_a_name(http: httpx.Client, chat: str) -> None:
    """The bytes come with the type of the handle, whole or a range, and HEAD knows their size."""
    _attach(http, chat)
    path = f"{chat}/blobs/blob1/content"
    whole = http.get(path)
    assert (whole.content, whole.headers["content-type"]) == (CSV, "text/csv")
    assert whole.headers["content-disposition"] == "attachment"
    assert whole.headers["cache-control"] == "private, no-cache"
    assert http.get(path, headers={"Range": "bytes=0-1"}).content == b"id"
    assert http.head(path).headers["content-length"] == str(len(CSV))
    assert http.get(path, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("name", ["blob2", "blob0", "blob01", "x", "sha256:" + "0" * 64])
def test_only_names_of_the_conversation_resolve(http: httpx.Client, chat: str, name: str) -> None:
    """A name that the conversation has not shown means nothing, and a digest is none."""
    _attach(http, chat)
    assert is_problem(http.get(f"{chat}/blobs/{name}"), 404, "not_found")
    assert is_problem(http.get(f"{chat}/blobs/{name}/content"), 404, "not_found")


def test_names_do_not_cross_conversations(http: httpx.Client, chat: str) -> None:
    """blob1 of one conversation is unknown to another."""
    _attach(http, chat)
    other = http.post("/v1/conversations").headers["location"]
    assert is_problem(http.get(f"{other}/blobs/blob1"), 404, "not_found")


def test_a_tool_is_called_outside_a_turn(http: httpx.Client, chat: str) -> None:
    """The body is the arguments; the model's faults are answers, not problems."""
    _attach(http, chat)
    read = http.post(f"{chat}/tools/blob_read", json={"blob": "blob1"}).json()
    assert read["data"]["items"] == [["1", "00123"], ["2", "04567"]]
    assert read["data"]["complete"] is True
    wrong = http.post(f"{chat}/tools/blob_read", json={"blob": "blob1", "from": 1})
    assert (wrong.status_code, wrong.json()["ok"]) == (200, False)
    assert http.post(f"{chat}/tools/blob_read", json="blob1").json()["ok"] is False
    assert http.post(f"{chat}/tools/blob_write", json={}).json()["ok"] is False


def test_arguments_are_resolved(http: httpx.Client, chat: str) -> None:
    """Names become references where the schema marks a blob, in both shapes; other numbers keep their digits."""
    _attach(http, chat)
    reference = http.get(f"{chat}/blobs/blob1").json()["reference"]
    short = http.post(f"{chat}/resolve", json={"schema": {"file": "blob"}, "arguments": {"file": "blob1"}})
    assert short.json() == {"ok": True, "arguments": {"file": reference}}
    body = (
        b'{"schema":{"type":"object","properties":{"f":{"type":"string","format":"blob"},"n":{"type":"number"}}},'
        b'"arguments":{"f":"blob1","n":0.12345678901234567890123}}'
    )
    long = http.post(f"{chat}/resolve", content=body, headers={"Content-Type": "application/json"})
    assert b'"n":0.12345678901234567890123}' in long.content
    unknown = http.post(f"{chat}/resolve", json={"schema": {"file": "blob"}, "arguments": {"file": "blob9"}}).json()
    assert unknown["ok"] is False
    assert "blob9" in unknown["message"]


def test_nothing_is_found_in_a_conversation_that_is_not_there(http: httpx.Client) -> None:
    """Every path below an unknown conversation is 404."""
    nowhere = "/v1/conversations/never-was"
    answers = [
        http.get(nowhere),
        http.delete(nowhere),
        http.post(f"{nowhere}/fork"),
        http.put(f"{nowhere}/turns/1", json={"calls": []}),
        http.delete(f"{nowhere}/turns/1"),
        http.get(f"{nowhere}/blobs"),
        http.get(f"{nowhere}/blobs/blob1"),
        http.get(f"{nowhere}/blobs/blob1/content"),
        http.post(f"{nowhere}/blobs", content=b"x"),
        http.post(f"{nowhere}/tools/blob_read", json={"blob": "blob1"}),
        http.post(f"{nowhere}/resolve", json={"schema": {}, "arguments": {}}),
    ]
    assert all(is_problem(each, 404, "not_found") for each in answers)
