"""A secret that comes in is nowhere: not in what a model reads, not in the store's folder, not in a log."""

import base64
import gzip
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from blobs import Blobs
from blobs.client import Conversation
from blobs.domain.digest import Digest
from blobs.domain.errors import DigestMismatchError
from blobs.settings import Settings
from tests.http.server import Server

SECRET = "correct-horse-battery"
TOKEN = "ghp_" + "a1B2" * 9
MASKED = "*" * len(SECRET)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blobs]:
    store = str(tmp_path_factory.mktemp("store"))
    with Blobs.open(Settings(store=store, redact_values=(SECRET,), redact_patterns=("github",))) as opened:
        yield opened


@pytest.fixture
def chat(service: Blobs, request: pytest.FixtureRequest) -> Conversation:
    return service.conversation(request.node.name)


def is_clean(*values: object) -> bool:
    text = repr(values)
    return SECRET not in text and TOKEN not in text


def lies_in(folder: Path) -> bool:
    """Whether a file of the folder holds the secret or the token."""
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert contents
    return any(secret.encode() in content for content in contents for secret in (SECRET, TOKEN))


def test_what_stays_inline_is_masked(chat):
    """A small result, a tool result, an MCP result, an error and a denial lose the secret too."""
    with chat.turn() as turn:
        shown = [
            turn.offload({"password": SECRET, TOKEN: [f"is {TOKEN}"]}),
            turn.offload({"ok": False, "message": f"{SECRET} was refused"}),
            turn.offload({"content": [{"type": "text", "text": f"token {TOKEN}"}], "isError": True}),
        ]
    assert is_clean(shown)
    assert shown[0]["password"] == MASKED


def test_what_becomes_a_blob_is_masked(service, chat):
    """Preview, lines, a search for it, SQL, Python and the bytes themselves."""
    rows = [{"id": number, "password": SECRET, "token": TOKEN} for number in range(2000)]
    with chat.turn() as turn:
        handle = turn.offload(rows)
        read = turn.call("blob_read", {"blob": "blob1", "count": 3})
        found = turn.call("blob_search", {"blob": "blob1", "pattern": SECRET})
        sql = turn.call("blob_code", {"blob": "blob1", "code": "select distinct password, token from blob1"})
        python = turn.call("blob_code", {"blob": "blob1", "language": "python", "code": "blob1.json()[7]"})
    assert is_clean(handle, read, {**found, "message": ""}, sql, python)
    assert found["data"]["found"] == 0
    assert sql["data"]["rows"] == [[MASKED, "*" * len(TOKEN)]]
    assert is_clean(service.content(chat.dump()["blobs"]["blob1"]))


def test_files_bytes_and_base64_are_masked(service, chat, tmp_path):
    """Whatever way bytes take in, across the places where a large content is divided."""
    large = b"x" * 1_048_570 + SECRET.encode() + b" y" * 1_500_000 + b" " + TOKEN.encode()
    (tmp_path / "large.txt").write_bytes(large)
    chat.attach(str(tmp_path / "large.txt"))
    chat.attach(large, type="text/plain")
    reference = service.put(large, type="text/plain")
    with chat.turn() as turn:
        turn.offload({"file": base64.b64encode(large).decode()})
    dump = chat.dump()["blobs"]
    assert {each["$blob"] for each in dump.values()} == {reference["$blob"]}
    content = service.content(reference)
    assert is_clean(content)
    assert len(content) == len(large)


def test_a_declared_digest_is_of_what_was_sent(service):
    """The sender knows nothing of the masks: its digest is checked before them, and the answer names what is kept."""
    content = f"before {SECRET} after".encode()
    reference = service.put(content, expected=str(Digest.of(content)))
    assert reference["$blob"] != str(Digest.of(content))
    with pytest.raises(DigestMismatchError):
        service.put(content, expected=str(Digest.of(content[1:])))


def test_nothing_of_it_is_written(service, chat):
    """After all of this no file of the store holds it."""
    chat.attach(f"{SECRET}\n".encode() * 5000)
    assert not lies_in(Path(service.service.settings.store))


def test_what_is_packed_is_not_looked_into(service, chat):
    """A secret inside compressed data is not seen on the way in: the limit of the promise."""
    handle = chat.attach(gzip.compress(SECRET.encode()), type="application/gzip")
    assert SECRET in repr(chat.call("blob_read", {"blob": handle["blob"]}))


def test_a_secret_is_in_no_log_and_no_answer_of_the_service(tmp_path):
    """Neither a secret nor a key stands in what the server writes or says, also where it logs an internal error."""
    key = "key-of-ada-which-is-long"
    environ = {"BLOBS_REDACT_VALUES": SECRET, "BLOBS_KEYS": f"ada:{key}", "BLOBS_DEBUG": "1"}
    server = Server(tmp_path, environ=environ, key=key)
    try:
        server.http.post("/v1/conversations", json={"id": "chat"})
        calls = [{"id": "1", "tool": "t", "result": SECRET}, {"id": "2", "tool": "t", "error": f"no {SECRET}"}]
        told = server.http.put("/v1/conversations/chat/turns/1", json={"calls": calls, "record": {"said": SECRET}})
        assert told.status_code == 200
        asked = {"blob": "blob1", "language": "python", "code": f"raise ValueError('{SECRET}')"}
        server.http.post("/v1/conversations/chat/tools/blob_code", json=asked)
        server.http.get(f"/v1/blobs/{SECRET}")
    finally:
        assert server.stop() == 0
    log = server.log.read_text()
    assert SECRET not in told.text
    assert SECRET not in log
    assert key not in log
    assert not lies_in(server.store)


def test_a_formatter_masks_messages_and_tracebacks():
    """Wherever in a log record it stands."""
    from api.serving import RedactingFormatter

    fault = ValueError(SECRET)
    record = logging.LogRecord("blobs", logging.ERROR, "", 0, "said %s", (SECRET,), (ValueError, fault, None))
    shown = RedactingFormatter("%(message)s", secrets=(SECRET,)).format(record)
    assert SECRET not in shown
    assert shown.count(MASKED) == 2


def test_settings_do_not_show_secrets():
    """Printed settings, as they stand in errors and logs of a host, hold neither."""
    assert SECRET not in repr(Settings(redact_values=(SECRET,), keys=(f"ada:{SECRET}",)))
