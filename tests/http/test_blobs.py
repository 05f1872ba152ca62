"""Bytes in and out by digest."""

import base64
import hashlib
import random
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.cli.command import blobs
from tests.http.conftest import KEYS, SMALL_BLOB_BYTES, is_problem
from tests.http.raw import connect, read_answer, read_to_end
from tests.http.server import Server

CONTENT = bytes(range(256)) * 8  # 2,048 bytes, each value known by its place


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _repr_digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    """The path of CONTENT, stored."""
    return str(server.http.post("/v1/blobs", content=CONTENT).headers["location"])


def test_a_body_becomes_a_blob_and_comes_back(http: httpx.Client) -> None:
    """201 carries the reference, its Location, ETag and Repr-Digest; the Location gives back the same bytes."""
    content = b"id,name\n1,Ada\n"
    stored = http.post("/v1/blobs", content=content, headers={"Content-Type": "text/csv; charset=utf-8"})
    assert stored.status_code == 201
    assert stored.json() == {"$blob": _digest(content), "size": 14, "type": "text/csv"}
    assert list(stored.json()) == ["$blob", "size", "type"]
    assert stored.headers["location"] == f"/v1/blobs/{_digest(content)}"
    assert stored.headers["etag"] == f'"{_digest(content)}"'
    assert stored.headers["repr-digest"] == _repr_digest(content)
    assert http.get(stored.headers["location"]).content == content


def test_the_same_bytes_again_are_the_same_reference(http: httpx.Client) -> None:
    """Storing twice answers twice the same, byte for byte."""
    first, second = (http.post("/v1/blobs", content=b"once more") for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)


def test_an_empty_body_is_a_blob(http: httpx.Client) -> None:
    """No bytes are content too, and no range of them can be had."""
    stored = http.post("/v1/blobs", content=b"")
    assert stored.json()["size"] == 0
    assert http.get(stored.headers["location"]).content == b""
    assert http.get(stored.headers["location"], headers={"Range": "bytes=0-"}).status_code == 416


@pytest.mark.parametrize(
    ("query", "declared", "kept"),
    [
        ("", None, "application/octet-stream"),
        ("?name=orders.csv", None, "text/csv"),
        ("?name=orders.csv", "application/octet-stream", "text/csv"),
        ("?name=orders.csv", "application/json", "application/json"),
        ("", "application/x-www-form-urlencoded", "application/octet-stream"),
    ],
)
def test_the_type_is_what_is_declared_or_what_the_name_says(
    http: httpx.Client, query: str, declared: str | None, kept: str
) -> None:
    """A declared type wins over a file name; what clients send by default declares nothing."""
    headers = {"Content-Type": declared} if declared else {}
    assert http.post(f"/v1/blobs{query}", content=b"[1]", headers=headers).json()["type"] == kept


def test_a_body_of_unknown_length_is_taken(http: httpx.Client) -> None:
    """A chunked body is stored like any other."""
    pieces = [random.Random(n).randbytes(300_000) for n in range(12)]
    stored = http.post("/v1/blobs", content=iter(pieces))
    assert stored.json()["$blob"] == _digest(b"".join(pieces))
    assert http.get(stored.headers["location"]).content == b"".join(pieces)


@pytest.mark.parametrize("size", [10, 300_000, 5_000_000])
def test_a_declared_digest_is_checked(http: httpx.Client, size: int) -> None:
    """The right Repr-Digest stores, the wrong one answers 422 and stores nothing."""
    content = random.Random(size).randbytes(size)
    wrong = http.post("/v1/blobs", content=content, headers={"Repr-Digest": _repr_digest(b"other")})
    assert is_problem(wrong, 422, "digest_mismatch")
    assert http.head(f"/v1/blobs/{_digest(content)}").status_code == 404
    both = f"sha-512=:AAAA:, {_repr_digest(content)}"
    assert http.post("/v1/blobs", content=content, headers={"Repr-Digest": both}).status_code == 201


def test_a_malformed_digest_is_refused(http: httpx.Client) -> None:
    """What cannot be a SHA-256 is a fault of the caller; other algorithms are passed over."""
    assert is_problem(
        http.post("/v1/blobs", content=b"x", headers={"Repr-Digest": "sha-256=:eHg=:"}), 400, "invalid_digest"
    )
    assert http.post("/v1/blobs", content=b"x", headers={"Repr-Digest": "md5=:eHg=:"}).status_code == 201


def test_encoded_bodies_and_forms_are_refused(http: httpx.Client) -> None:
    """Bytes are kept as they come, so what would have to be decoded first is 415."""
    encoded = http.post("/v1/blobs", content=b"x", headers={"Content-Encoding": "gzip"})
    assert is_problem(encoded, 415, "unsupported_type")
    assert is_problem(http.post("/v1/blobs", files={"file": b"x"}), 415, "unsupported_type")


def test_a_malformed_type_is_refused(http: httpx.Client) -> None:
    """A Content-Type that is none is a fault of the caller."""
    assert is_problem(http.post("/v1/blobs", content=b"x", headers={"Content-Type": "csv"}), 400, "invalid_type")


def test_untrusted_bytes_are_sent_so_that_no_browser_runs_them(http: httpx.Client, path: str) -> None:
    """A blob is an attachment, of no guessed type, sandboxed, and may be cached for ever by its owner only."""
    headers = http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == "attachment"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["content-type"] == "application/octet-stream"
    assert headers["cache-control"] == "private, immutable, max-age=31536000"
    assert headers["accept-ranges"] == "bytes"
    assert headers["repr-digest"] == _repr_digest(CONTENT)
    assert headers["etag"] == f'"{_digest(CONTENT)}"'


def test_head_says_what_get_would_send(http: httpx.Client, path: str) -> None:
    """HEAD has the headers of GET and no body."""
    head, get = http.head(path), http.get(path)
    assert head.content == b""
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert head.headers["content-length"] == "2048"


@pytest.mark.parametrize(
    ("asked", "sent", "content_range"),
    [
        ("bytes=0-0", CONTENT[:1], "bytes 0-0/2048"),
        ("bytes=10-19", CONTENT[10:20], "bytes 10-19/2048"),
        ("bytes=2000-", CONTENT[2000:], "bytes 2000-2047/2048"),
        ("bytes=2000-999999999999", CONTENT[2000:], "bytes 2000-2047/2048"),
        ("bytes=-5", CONTENT[-5:], "bytes 2043-2047/2048"),
        ("bytes=-99999", CONTENT, "bytes 0-2047/2048"),
        ("Bytes=0-1", CONTENT[:2], "bytes 0-1/2048"),
    ],
)
def test_a_range_is_sent_alone(http: httpx.Client, path: str, asked: str, sent: bytes, content_range: str) -> None:
    """206 with exactly the bytes asked for, and Repr-Digest still of the whole."""
    part = http.get(path, headers={"Range": asked})
    assert (part.status_code, part.content) == (206, sent)
    assert part.headers["content-range"] == content_range
    assert part.headers["content-length"] == str(len(sent))
    assert part.headers["repr-digest"] == _repr_digest(CONTENT)


@pytest.mark.parametrize("asked", ["bytes=2048-", "bytes=5000-6000", "bytes=-0", f"bytes={'9' * 50}-"])
def test_a_range_past_the_end_says_how_long_the_blob_is(http: httpx.Client, path: str, asked: str) -> None:
    """416 with the size in Content-Range."""
    refused = http.get(path, headers={"Range": asked})
    assert is_problem(refused, 416, "range_not_satisfiable")
    assert refused.headers["content-range"] == "bytes */2048"


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=a-b", "items=0-1", "bytes=0-1,5-6", "bytes=-", "bytes=٣-٤"])
def test_a_range_that_is_none_is_passed_over(http: httpx.Client, path: str, asked: str) -> None:
    """Malformed ranges and several at once answer the whole, as RFC 9110 allows."""
    answer = http.get(path, headers={"Range": asked.encode()})
    assert (answer.status_code, answer.content) == (200, CONTENT)


def test_a_range_counts_only_for_the_blob_it_was_meant_for(http: httpx.Client, path: str) -> None:
    """If-Range with another ETag, a weak one or a date answers the whole."""
    etag = f'"{_digest(CONTENT)}"'
    for condition, status in [
        (etag, 206),
        ('"sha256:00"', 200),
        (f"W/{etag}", 200),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 200),
    ]:
        assert http.get(path, headers={"Range": "bytes=0-0", "If-Range": condition}).status_code == status


def test_what_the_caller_has_is_not_sent_again(http: httpx.Client, path: str) -> None:
    """If-None-Match answers 304 without a body; If-Match with another ETag answers 412."""
    etag = f'"{_digest(CONTENT)}"'
    for condition in [etag, f"W/{etag}", f'"other", {etag}', "*"]:
        kept = http.get(path, headers={"If-None-Match": condition})
        assert (kept.status_code, kept.content, kept.headers["etag"]) == (304, b"", etag)
    assert http.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    assert http.get(path, headers={"If-Match": etag}).status_code == 200
    assert is_problem(http.get(path, headers={"If-Match": '"other"'}), 412, "precondition_failed")


def test_a_digest_that_is_not_stored_or_none(http: httpx.Client) -> None:
    """404 for a blob that is not there, 400 for what cannot be a digest."""
    assert is_problem(http.get(f"/v1/blobs/{_digest(b'never stored')}"), 404, "not_found")
    assert is_problem(http.get("/v1/blobs/latest"), 400, "invalid_digest")
    assert is_problem(http.get(f"/v1/blobs/{_digest(b'x').upper()}"), 400, "invalid_digest")


# Large and broken bodies


def test_a_large_blob_goes_in_and_out_in_constant_memory(server: Server) -> None:
    """200 MB in and out let the server grow by less than 150 MB."""
    size = 200_000_000
    block = random.Random(7).randbytes(1_000_000)

    def blocks() -> Iterator[bytes]:
        for n in range(200):
            yield n.to_bytes(4, "big") + block[4:]

    expected = hashlib.sha256()
    for each in blocks():
        expected.update(each)
    before = server.memory_bytes()
    stored = server.http.post("/v1/blobs", content=blocks(), headers={"Content-Length": str(size)})
    assert stored.json()["$blob"] == f"sha256:{expected.hexdigest()}"
    most = server.memory_bytes()
    received = hashlib.sha256()
    with server.http.stream("GET", stored.headers["location"]) as answer:
        for n, each in enumerate(answer.iter_bytes(1_000_000)):
            received.update(each)
            if n % 50 == 0:
                most = max(most, server.memory_bytes())
    assert received.digest() == expected.digest()
    assert most - before < 150_000_000


def _raw(server: Server, head: str, body: bytes) -> socket.socket:
    return connect(server, head.replace("\n", "\r\n").encode() + b"\r\n" + body)


@pytest.mark.parametrize("size", [1000, 300_000, 3_000_000])
def test_a_body_that_is_cut_off_stores_nothing(server: Server, size: int) -> None:
    """When the connection ends before Content-Length is reached, the bytes that came are no blob."""
    sent = random.Random(size + 1).randbytes(size)
    head = f"POST /v1/blobs HTTP/1.1\nHost: localhost\nContent-Length: {size + 1}\n"
    _raw(server, head, sent).close()
    time.sleep(0.3)
    assert server.http.head(f"/v1/blobs/{_digest(sent)}").status_code == 404
    assert server.http.get("/healthz").status_code == 200


def test_a_chunked_body_without_its_end_stores_nothing(server: Server) -> None:
    """The last chunk is missing: the body was cut off, however whole the bytes look."""
    sent = random.Random(99).randbytes(500_000)
    head = "POST /v1/blobs HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n"
    _raw(server, head, f"{len(sent):x}\r\n".encode() + sent + b"\r\n").close()
    time.sleep(0.3)
    assert server.http.head(f"/v1/blobs/{_digest(sent)}").status_code == 404


def test_a_declared_length_over_the_limit_is_refused_unread(keyed: Server) -> None:
    """413 comes before any of the body was sent, also instead of 100 Continue."""
    head = (
        f"POST /v1/blobs HTTP/1.1\nHost: localhost\nAuthorization: Bearer {KEYS['ada']}\n"
        f"Content-Length: {SMALL_BLOB_BYTES + 1}\nExpect: 100-continue\n"
    )
    with _raw(keyed, head, b"") as connection:
        assert read_answer(connection)[0] == 413


def test_a_large_body_that_is_refused_is_not_read(keyed: Server) -> None:
    """A connection whose large body is refused is closed after the answer, instead of reading what nobody wants."""
    refusals = [("/v1/blobs", "ada", b"413"), ("/v1/conversations/none/blobs", "ada", b"404"), ("/", "none", b"405")]
    for path, key, status in refusals:
        head = f"POST {path} HTTP/1.1\nHost: localhost\nAuthorization: Bearer {KEYS.get(key, key)}\n"
        length = SMALL_BLOB_BYTES + 1 if status == b"413" else SMALL_BLOB_BYTES
        with _raw(keyed, f"{head}Content-Length: {length}\n", b"x" * 1000) as connection:
            received = read_to_end(connection)
        assert received.startswith(b"HTTP/1.1 " + status)
        assert b"connection: close" in received.lower()


def test_a_body_that_grows_over_the_limit_is_refused(keyed: Server) -> None:
    """Without a declared length the limit holds while reading, and nothing is stored."""
    content = random.Random(5).randbytes(SMALL_BLOB_BYTES + 1)
    pieces = [content[start : start + 65536] for start in range(0, len(content), 65536)]
    refused = keyed.http.post("/v1/blobs", content=iter(pieces))
    assert is_problem(refused, 413, "body_too_large")
    assert keyed.http.head(f"/v1/blobs/{_digest(content)}").status_code == 404
    assert keyed.http.post("/v1/blobs", content=content[:-1]).status_code == 201


# How requests may come


def test_requests_in_one_go_are_answered_in_their_order(server: Server, path: str) -> None:
    """Answers that can be had at once neither overtake others nor get lost, however many wait."""
    asked = [
        (path, 200),
        ("/healthz", 200),
        (f"/v1/blobs/{_digest(b'nobody')}", 404),
        ("/v1/blobs/x", 400),
        (path, 200),
    ]
    asked *= 50
    sent = "".join(f"GET {each} HTTP/1.1\r\nHost: localhost\r\n\r\n" for each, _ in asked)
    with connect(server, sent.encode()) as connection:
        for where, expected in asked:
            status, _, body = read_answer(connection)
            assert status == expected, where
            assert (body == CONTENT) is (where == path)


def test_many_requests_without_reading_take_little_memory(server: Server) -> None:
    """Whoever asks for a blob again and again and reads nothing is served no faster than they read."""
    content = random.Random(11).randbytes(200_000)
    where = server.http.post("/v1/blobs", content=content).headers["location"]
    server.http.get(where)
    before = server.memory_bytes()
    with connect(server, f"GET {where} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 500) as connection:
        assert read_answer(connection)[2] == content
        time.sleep(0.5)
        assert server.memory_bytes() - before < 50_000_000
        for _ in range(499):
            status, _, body = read_answer(connection)
            assert (status, body) == (200, content)


@pytest.mark.parametrize("lines", ["HTTP/1.0\r\n", "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"])
def test_a_connection_ends_where_the_client_says_so(server: Server, path: str, lines: str) -> None:
    """After the whole answer, for what is there and for what is not."""
    head = "Host: localhost\r\n" if "1.0" in lines else ""
    for where, status in ((path, b"200"), (f"{path}0", b"400")):
        with connect(server, f"GET {where} {lines}{head}\r\n".encode()) as connection:
            received = read_to_end(connection)
        assert received.startswith(b"HTTP/1.1 " + status)
        assert b"connection: close" in received
        assert received.endswith(CONTENT) is (status == b"200")


def test_a_body_that_nobody_asked_for_is_passed_over(server: Server, path: str) -> None:
    """GET with a body is answered like one without, and the request after it as well."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
    with connect(server, f"{head}Content-Length: 5\r\n\r\nhello{head}\r\n".encode()) as connection:
        assert [read_answer(connection)[2] for _ in range(2)] == [CONTENT, CONTENT]


# What is read again and again


def test_a_name_that_comes_to_mean_another_blob_is_read_as_that(http: httpx.Client, chat: str) -> None:
    """However often and however lately the name was read before."""
    for content in ("first " * 8_000, "second " * 8_000):
        turn = {"calls": [{"id": "a", "tool": "t", "result": content}]}
        assert http.put(f"{chat}/turns/1", json=turn).status_code == 200
        for _ in range(3):
            assert http.get(f"{chat}/blobs/blob1/content").text == content
    assert http.delete(f"{chat}/turns/1").status_code == 204
    assert is_problem(http.get(f"{chat}/blobs/blob1/content"), 404, "not_found")


def test_a_purged_blob_is_gone_at_once(server: Server, chat: str) -> None:
    """Another process removes what was just read; the next read does not get it, by digest or by name."""
    secret = b"a secret that is to be forgotten " * 1_000
    where = server.http.post("/v1/blobs", content=secret).headers["location"]
    server.http.post(f"{chat}/blobs", content=secret)
    paths = (where, f"{chat}/blobs/blob1/content")
    for path in paths * 3:
        assert server.http.get(path).content == secret
    done = blobs("purge", where.rsplit("/", 1)[1], "--store", server.store)
    assert done.returncode == 0, done.stderr
    for path in paths:
        assert server.http.get(path).status_code == 404


def test_small_uploads_at_once_have_each_their_own_answer(server: Server) -> None:
    """Stored, refused and broken off side by side: every caller hears of its own bytes, and those are there."""
    contents = [random.Random(n).randbytes(40_000) for n in range(64)]

    def upload(number: int) -> httpx.Response | None:
        content = contents[number]
        if number % 8 == 3:  # gone before it is answered
            head = f"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
            connect(server, head.encode() + content).close()
            return None
        claimed = b"something else" if number % 8 == 5 else content
        with server.client() as http:
            return http.post("/v1/blobs", content=content, headers={"Repr-Digest": _repr_digest(claimed)})

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(upload, range(64)))
    for number, answer in enumerate(answers):
        if answer is None:
            continue
        if number % 8 == 5:
            assert is_problem(answer, 422, "digest_mismatch")
            continue
        assert answer.status_code == 201
        assert answer.json()["$blob"] == _digest(contents[number])
        assert server.http.get(answer.headers["location"]).content == contents[number]
