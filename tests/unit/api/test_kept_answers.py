"""Answers are kept for who asks the same again, within bounds, and never past a change of the catalog."""

from typing import Any

import pytest
from starlette.responses import Response

from api.kept_answers import KeptAnswers
from blobs.domain.limits import MIB, Limits


def asked(name: str, head: bytes = b"") -> dict[str, Any]:
    """A request's scope."""
    return {"method": "GET", "path": f"/v1/{name}", "query_string": b"", "headers": [(b"x", head)]}


def kept(answers: KeptAnswers, requests: list[dict[str, Any]], body: bytes) -> int:
    """How many of the requests are still answered after all of them were."""
    for each in requests:
        assert answers.find(each) is None
        answers.keep(each, Response(body))
    return sum(answers.find(each) is not None for each in requests)


@pytest.mark.parametrize(("head", "body"), [(b"", bytes(MIB)), (bytes(MIB), b""), (bytes(MIB // 2), bytes(MIB // 2))])
def test_what_is_kept_is_bounded(head, body):
    """Heads and bodies together have at most 16 MiB, so that neither fills the memory."""
    answers = KeptAnswers(lambda: 1, Limits(grace_ms=10**9))
    assert kept(answers, [asked(f"{number}", head) for number in range(40)], body) in (15, 16)


def test_a_change_of_the_catalog_ends_all():
    """An answer is given again while the version is the same, and only to the same request."""
    versions = [1]
    answers = KeptAnswers(lambda: versions[0], Limits(grace_ms=10**9))
    assert kept(answers, [asked("one"), asked("two"), asked("one", b"of another")], b"answer") == 3
    versions[0] = 2
    assert answers.find(asked("one")) is None


def test_without_a_version_nothing_is_kept():
    """Where the catalog does not tell what changed, every request is answered anew."""
    answers = KeptAnswers(lambda: None, Limits())
    assert kept(answers, [asked("one")], b"answer") == 0
