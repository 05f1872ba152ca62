"""Whether another tenant has something cannot be told: by no route, header, quota, and by no amount of work."""

import base64
import functools
import hashlib
import os
import re
import threading
import time

import httpx
import pytest
import uvicorn

from api.app import create_app
from api.connection import BoundedConnection
from blobs import Blobs, Settings
from blobs.domain.limits import Limits
from blobs.storage.local import LocalContentStore
from blobs.storage.sqlite_session import SqliteSession

KEYS = {"ada": "key-of-ada", "bob": "key-of-bob"}
SECRET = b"what only ada knows\n" * 20_000  # in a file of its own
NEVER_GUESSED = b"what nobody else puts in any test\n" * 20_000
SMALL = b"small, and only ada knows it"
TUS = {"Tus-Resumable": "1.0.0"}

BODIES = {
    ("put", "/v1/conversations/{c}/turns/{n}"): {"calls": []},
    ("post", "/v1/conversations/{c}/tools/{tool}"): {"blob": "blob1"},
    ("post", "/v1/conversations/{c}/resolve"): {"schema": {"f": "blob"}, "arguments": {"f": "blob1"}},
}
"""What a route needs to get as far as looking; the others take an empty object."""


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The application in this process, over a store on disk with a quota."""
    settings = Settings(
        store=str(tmp_path_factory.mktemp("store")),
        keys=tuple(f"{tenant}:{key}" for tenant, key in KEYS.items()),
        limits=Limits(tenant_bytes_max=3_000_000),
    )
    with Blobs.open(settings) as blobs:
        connection = functools.partial(BoundedConnection, limits=settings.limits)
        server = uvicorn.Server(
            uvicorn.Config(create_app(blobs), port=0, log_config=None, lifespan="on", http=connection)
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client
        server.should_exit = True
        thread.join()


class Caller:
    """A tenant's client."""

    def __init__(self, client: httpx.Client, tenant: str) -> None:
        self._client = client
        self._key = KEYS[tenant]

    def __call__(self, method: str, path: str, headers=None, **given) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._key}", **(headers or {})}
        return self._client.request(method, path, headers=headers, **given)


@pytest.fixture(scope="module")
def theirs(service):
    """Ids of what ada has, by the names that paths have for them."""
    ada = Caller(service, "ada")
    ada("POST", "/v1/conversations", json={"id": "of-ada"})
    for content in (SECRET, NEVER_GUESSED, SMALL):
        assert ada("POST", "/v1/blobs", content=content).status_code == 201
        assert ada("POST", "/v1/conversations/of-ada/blobs", content=content).status_code == 201
    ada("PUT", "/v1/conversations/of-ada/turns/1", json={"calls": [{"id": "a", "tool": "t", "result": "x" * 40_000}]})
    upload = ada("POST", "/v1/uploads", headers={**TUS, "Upload-Length": "10"})
    return {
        "{c}": "of-ada",
        "{digest}": digest_of(SECRET),
        "{id}": upload.headers["location"].rsplit("/", 1)[1],
        "{name}": "blob1",
        "{n}": "1",
        "{tool}": "blob_read",
    }


@pytest.fixture
def bob(service):
    return Caller(service, "bob")


@pytest.fixture
def work(monkeypatch):
    """What is asked of the catalog and of the disk, in order."""
    done: list[str] = []

    def watch(owner, name, say):
        asked = getattr(owner, name)

        def watched(self, *given, **named):
            done.append(f"{name} {say(given)}")
            return asked(self, *given, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(SqliteSession, "read", lambda given: given[0])
    watch(SqliteSession, "write", lambda given: given[0].__qualname__)
    for name in ("put", "writer", "read", "read_at_once", "state", "size", "path", "delete"):
        watch(LocalContentStore, name, lambda _: "")
    return done


def nobodys(theirs: dict[str, str]) -> dict[str, str]:
    """Ids of the same shape that never were."""
    return {**theirs, "{c}": "of-eve", "{digest}": "sha256:" + "0" * 64, "{id}": "0" * 32}


def fill(path: str, ids: dict[str, str]) -> str:
    return re.sub(r"{\w+}", lambda found: ids[found.group()], path)


def parts(answer: httpx.Response, ids: dict[str, str]):
    """All that an answer says, with the ids that were asked for left out."""
    said = answer.text
    for name in ("{c}", "{digest}", "{id}"):
        said = said.replace(ids[name], name)
    return answer.status_code, sorted((k, v) for k, v in answer.headers.items() if k != "date"), said


def test_every_route_answers_for_anothers_ids_as_for_none(service, theirs, bob, work):
    """Status, headers and body are the same, and so is every step of the work, so that time tells nothing either."""
    never = nobodys(theirs)
    tried = 0
    for path, operations in service.get("/openapi.json").json()["paths"].items():
        if not {"{c}", "{digest}", "{id}"} & set(re.findall(r"{\w+}", path)):
            continue
        for method in sorted(set(operations) & {"get", "head", "post", "put", "patch", "delete"}):
            given = {"json": BODIES.get((method, path), {})} if method in ("post", "put") else {}
            headers = {}
            if path.startswith("/v1/uploads"):
                headers = {**TUS, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
            answers, steps = [], []
            for ids in (theirs, never, theirs):
                work.clear()
                answers.append(parts(bob(method.upper(), fill(path, ids), headers=headers, **given), ids))
                steps.append(list(work))
            assert answers[0] == answers[1] == answers[2], (method, path)
            assert steps[0] == steps[1] == steps[2], (method, path)
            assert answers[0][0] == 404, (method, path, answers[0])
            tried += 1
    assert tried >= 15


@pytest.mark.parametrize("content", [SECRET, SMALL], ids=["large", "small"])
def test_no_upload_tells_what_others_hold(service, theirs, bob, work, content):
    """Bytes that another tenant has are as new as any: the same answer, room and work, with and without a digest."""
    # Lines as well, though others: what is done depends on the kind of content, and on what was derived for a tenant.
    fresh = re.sub(rb"(.{30}).", rb"\1\n", os.urandom(len(content) // 2).hex().encode())
    for number, each in enumerate((b"x", b"y")):  # what was said and done for a tenant for the first time is over
        bob("POST", "/v1/blobs", content=each * (len(content) + number))
    answers, steps = [], []
    for each in (content, fresh):
        work.clear()
        answer = bob("POST", "/v1/blobs", content=each)
        reference = answer.json()
        headers = {k: v for k, v in answer.headers.items() if k not in ("date", "location", "etag", "repr-digest")}
        answers.append((answer.status_code, headers, reference["size"], reference["type"]))
        steps.append(list(work))
        assert bob("GET", f"/v1/blobs/{digest_of(each)}").content == each
    assert answers[0][0] == 201
    assert answers[0] == answers[1]
    assert steps[0] == steps[1]


def test_a_digest_is_no_proof_of_anything(service, theirs, bob, work):
    """A declared digest that another tenant has neither saves a body nor room, and a wrong one is refused alike."""
    sent = []
    for digest in (digest_of(NEVER_GUESSED), "sha256:" + "0" * 64):
        raw = base64.b64encode(bytes.fromhex(digest.removeprefix("sha256:"))).decode()
        work.clear()
        answer = bob("POST", "/v1/blobs", content=b"z" * 300_000, headers={"Repr-Digest": f"sha-256=:{raw}:"})
        assert answer.status_code == 422
        large = bob("POST", "/v1/blobs", content=b"z" * 3_100_000, headers={"Repr-Digest": f"sha-256=:{raw}:"})
        assert large.status_code == 413
        sent.append((answer.text.replace(digest, ""), large.text.replace(digest, ""), list(work)))
    assert sent[0] == sent[1]


def test_another_tenants_quota_tells_nothing(service, theirs, bob):
    """What others hold leaves this tenant's room as it is."""
    ada = Caller(service, "ada")
    for caller in (bob, ada):
        refused = caller("POST", "/v1/blobs", content=b"q" * 3_000_001)
        assert refused.status_code == 413
    assert "tenant_bytes_max is 3,000,000" in refused.json()["detail"]
