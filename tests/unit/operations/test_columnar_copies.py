"""Columnar copies: made in one pass over the rows where the first of them are like the others, else in two."""

import io
from typing import Any

import pytest

from blobs import Blobs
from blobs.operations import view_task
from blobs.operations.view_task import registry_of
from blobs.reading.source import BytesSource

ROWS = 200_000


def csv(last: str) -> bytes:
    return b"a,b\n" + b"".join(b"%d,%090d x\n" % (each, each) for each in range(ROWS)) + last.encode()


def ndjson(last: str) -> bytes:
    return b"".join(b'{"a":%d,"b":"some text %d"}\n' % (each, each) for each in range(ROWS)) + last.encode()


CASES = [
    (ndjson, '{"a":1.5,"b":"x"}', ["a DOUBLE", "b VARCHAR"], ["DOUBLE", 1.5]),
    (ndjson, '{"a":9223372036854775808}', ["a DECIMAL(38,0)", "b VARCHAR"], ["DECIMAL(38,0)", 9223372036854775808]),
    (ndjson, '{"a":"007","b":"x"}', ["a VARCHAR", "b VARCHAR"], ["VARCHAR", "007"]),
    (csv, "007,x\n", ["a VARCHAR", "b VARCHAR"], ["VARCHAR", "007"]),
    (csv, "12,x\n", ["a BIGINT", "b VARCHAR"], ["BIGINT", 12]),
]


def columnar(content: bytes, reader: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    reply = io.BytesIO()
    wanted = {"op": "columnar", "reader": reader, **arguments}
    return view_task.work(BytesSource(content), wanted, reply, registry=registry_of(None)), reply.getvalue()


@pytest.mark.parametrize(("make", "last", "columns", "_told"), CASES, ids=[each[1] for each in CASES])
def test_types_that_the_first_rows_belie_are_told(make: Any, last: str, columns: list[str], _told: Any) -> None:
    """The task answers the types for a second pass where a late row broke those of the first, else the copy itself."""
    content, reader = make(last), make.__name__
    answer, copy = columnar(content, reader)
    assert answer["columns"] == columns
    assert ("types" in answer) == (columns[0] != "a BIGINT")
    if "types" in answer:
        answer, copy = columnar(content, reader, types=answer["types"])
        assert "types" in answer or answer["columns"] == columns
    assert copy[-4:] == b"PAR1"


@pytest.mark.parametrize(("make", "last", "_columns", "told"), CASES[1:4:2], ids=[each[1] for each in CASES[1:4:2]])
def test_the_last_row_counts(service: Blobs, make: Any, last: str, _columns: Any, told: list[Any]) -> None:
    """SQL sees all rows in the type that holds also the last of them."""
    chat = service.tenant(f"late-{make.__name__}").conversation()
    chat.attach(make(last))
    query = f"select typeof(a), a, (select count(*) from blob1) from blob1 limit 1 offset {ROWS}"
    answer = chat.call("blob_code", {"blob": "blob1", "code": query})
    assert answer["data"]["rows"] == [[*told, ROWS + 1]]
