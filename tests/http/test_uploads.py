"""Resumable uploads: tus 1.0 with creation, expiration and termination."""

import base64
import hashlib
import random
import time
from contextlib import suppress

import httpx
import pytest

from api.partial_uploads import PartialUploads
from blobs import Blobs
from blobs.domain.errors import NotFoundError
from tests.http.conftest import KEYS, SMALL_BLOB_BYTES, is_problem
from tests.http.raw import connect
from tests.http.server import Server

CONTENT = random.Random(1).randbytes(3_000_000)
TUS = {"Tus-Resumable": "1.0.0"}


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _repr_digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def _begin(http: httpx.Client, length: int, **headers: str) -> str:
    begun = http.post("/v1/uploads", headers={**TUS, "Upload-Length": str(length), **headers})
    assert begun.status_code == 201, begun.text
    assert begun.headers["tus-resumable"] == "1.0.0"
    assert begun.headers["location"].startswith("/v1/uploads/")
    return str(begun.headers["location"])


def _patch(http: httpx.Client, path: str, offset: int, content: bytes) -> httpx.Response:
    headers = {**TUS, "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
    return http.patch(path, content=content, headers=headers)


def test_an_upload_in_parts_becomes_a_blob(http: httpx.Client) -> None:
    """Each part moves the offset; the last one stores the blob and says its digest."""
    filetype = base64.b64encode(b"text/csv").decode()
    path = _begin(http, len(CONTENT), **{"Upload-Metadata": f"filename b3JkZXJzLmNzdg==,filetype {filetype}"})
    for start, stop in ((0, 10), (10, 1_500_000), (1_500_000, 2_999_999)):
        added = _patch(http, path, start, CONTENT[start:stop])
        assert (added.status_code, added.headers["upload-offset"]) == (204, str(stop))
        assert "content-location" not in added.headers
        asked = http.head(path, headers=TUS)
        assert (asked.headers["upload-offset"], asked.headers["upload-length"]) == (str(stop), "3000000")
        assert asked.headers["cache-control"] == "no-store"
    assert http.head(f"/v1/blobs/{_digest(CONTENT)}").status_code == 404
    last = _patch(http, path, 2_999_999, CONTENT[2_999_999:])
    assert last.headers["content-location"] == f"/v1/blobs/{_digest(CONTENT)}"
    assert last.headers["repr-digest"] == _repr_digest(CONTENT)
    assert http.get(last.headers["content-location"]).content == CONTENT
    again = http.head(path, headers=TUS)
    assert (again.headers["upload-offset"], again.headers["content-location"]) == (
        "3000000",
        last.headers["content-location"],
    )


def test_an_upload_goes_on_where_it_was_cut_off(server: Server) -> None:
    """What came before the connection ended is kept, and only the rest is sent again."""
    content = random.Random(2).randbytes(2_500_000)
    path = _begin(server.http, len(content))
    head = (
        f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\nUpload-Offset: 0\r\nContent-Length: {len(content)}\r\n"
        "Content-Type: application/offset+octet-stream\r\n\r\n"
    )
    for sent in (1_800_000, 2_000_000):
        deadline = time.monotonic() + 30
        while (offset := int(server.http.head(path).headers["upload-offset"])) != sent:
            # Again where it was refused, because what came before was still being written down.
            part = head.replace("Offset: 0", f"Offset: {offset}").replace(
                f"Length: {len(content)}", f"Length: {len(content) - offset}"
            )
            with suppress(ConnectionError):  # it was refused while it was sent
                connect(server, part.encode(), content[offset:sent]).close()
            time.sleep(0.2)
            assert time.monotonic() < deadline
    rest = _retry_while_locked(server.http, path, 2_000_000, content[2_000_000:])
    assert rest.headers["content-location"] == f"/v1/blobs/{_digest(content)}"


def _retry_while_locked(http: httpx.Client, path: str, offset: int, content: bytes) -> httpx.Response:
    """The part, sent again while the end of the one before is still being written down."""
    while (answer := _patch(http, path, offset, content)).status_code == 409:
        assert answer.json()["code"] == "upload_locked"
        time.sleep(0.05)
    return answer


def test_a_part_at_another_offset_is_a_conflict(http: httpx.Client) -> None:
    """Parts are neither left out nor added twice."""
    path = _begin(http, 10)
    assert _patch(http, path, 0, b"12345").status_code == 204
    for offset in (0, 4, 6, 99):
        assert is_problem(_patch(http, path, offset, b"x"), 409, "wrong_offset")
    assert is_problem(_patch(http, path, 5, b"123456"), 413, "body_too_large")
    assert _patch(http, path, 5, b"67890").headers["content-location"] == f"/v1/blobs/{_digest(b'1234567890')}"
    assert _patch(http, path, 10, b"").status_code == 204


def test_an_empty_upload_is_complete_at_once(http: httpx.Client) -> None:
    """Nothing is left to send for a blob of no bytes."""
    assert http.head(_begin(http, 0)).headers["content-location"] == f"/v1/blobs/{_digest(b'')}"


def test_a_declared_digest_is_checked_at_the_end(http: httpx.Client) -> None:
    """Where the whole is not what was declared nothing is stored, and the upload is gone."""
    content = b"not what was meant"
    path = _begin(http, len(content), **{"Repr-Digest": _repr_digest(b"meant")})
    assert is_problem(_patch(http, path, 0, content), 422, "digest_mismatch")
    assert http.head(path).status_code == 404
    assert http.head(f"/v1/blobs/{_digest(content)}").status_code == 404


def test_an_upload_can_be_given_up(http: httpx.Client) -> None:
    """DELETE forgets it, once."""
    path = _begin(http, 10)
    assert http.delete(path, headers=TUS).status_code == 204
    assert is_problem(http.delete(path, headers=TUS), 404, "not_found")
    assert is_problem(_patch(http, path, 0, b"x"), 404, "not_found")


@pytest.mark.parametrize("name", ["x", "..", "0" * 32, "0" * 31 + "/", "%2e%2e%2f" * 3])
def test_an_upload_that_never_was(http: httpx.Client, name: str) -> None:
    """No id reaches anything but uploads."""
    assert http.head(f"/v1/uploads/{name}").status_code == 404
    assert is_problem(_patch(http, f"/v1/uploads/{name}", 0, b"x"), 404, "not_found")


def test_an_upload_of_another_tenant_never_was(keyed: Server) -> None:
    """Another tenant's upload can be neither seen, added to nor ended."""
    path = _begin(keyed.http, 4)
    with keyed.client(KEYS["bob"]) as bob:
        assert bob.head(path).status_code == 404
        assert is_problem(_patch(bob, path, 0, b"evil"), 404, "not_found")
        assert is_problem(bob.delete(path), 404, "not_found")
    assert _patch(keyed.http, path, 0, b"good").headers["content-location"] == f"/v1/blobs/{_digest(b'good')}"


def test_malformed_uploads_are_refused(http: httpx.Client, keyed: Server) -> None:
    """Length, offset, metadata, type and version are checked before anything is begun."""
    assert is_problem(http.post("/v1/uploads", headers=TUS), 400, "invalid_upload")
    for length in ("-1", "x", "1" * 19, ""):
        assert is_problem(http.post("/v1/uploads", headers={"Upload-Length": length}), 400, "invalid_upload")
    too_much = {"Upload-Length": str(SMALL_BLOB_BYTES + 1)}
    assert is_problem(keyed.http.post("/v1/uploads", headers=too_much), 413, "limit_exceeded")
    metadata = {"Upload-Length": "1", "Upload-Metadata": "filename ***"}
    assert is_problem(http.post("/v1/uploads", headers=metadata), 400, "invalid_upload")
    path = _begin(http, 1)
    assert is_problem(http.patch(path, content=b"x", headers={"Upload-Offset": "0"}), 415, "unsupported_type")
    other = http.head(path, headers={"Tus-Resumable": "0.2.2"})
    assert (other.status_code, other.headers["tus-version"]) == (412, "1.0.0")


def test_an_upload_that_nobody_carries_on_ends() -> None:
    """After the grace time the next upload's beginning removes it; a blob that it became stays."""
    with Blobs.open(":memory:", grace_ms=0) as blobs:
        uploads = PartialUploads(blobs)
        left = uploads.begin(length=5, media_type=None, name=None, expected=None)
        done = uploads.begin(length=2, media_type="text/csv", name=None, expected=None)
        assert uploads.append(done.id, 0, [b"a", b"b"]).reference == blobs.put(b"ab", type="text/csv")
        time.sleep(0.01)
        uploads.begin(length=1, media_type=None, name=None, expected=None)
        for each in (left, done):
            with pytest.raises(NotFoundError):
                uploads.find(each.id)
        assert blobs.content(_digest(b"ab")) == b"ab"


def test_what_of_tus_there_is(http: httpx.Client) -> None:
    """OPTIONS tells versions, extensions and the largest size."""
    told = http.options("/v1/uploads")
    assert told.status_code == 204
    assert told.headers["tus-version"] == "1.0.0"
    assert told.headers["tus-extension"] == "creation,expiration,termination"
    assert int(told.headers["tus-max-size"]) == 64 * 1024**3
