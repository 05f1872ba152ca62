"""The reader contract notices what it is there to notice."""

import os
import signal

import pytest

from blobs.domain.errors import UnreadableError
from blobs.testing.mutations import mutations, run_apart


def test_damage_is_the_same_every_time():
    """The same example is damaged in the same ways, so that a failure can be repeated."""
    first, second = list(mutations(b"example" * 9, 60)), list(mutations(b"example" * 9, 60))
    assert first == second
    assert len({content for _, content in first}) > 40
    assert all(len(content) <= 63 for _, content in first)


def test_nothing_cannot_be_damaged():
    """An empty example has no damaged copies."""
    assert list(mutations(b"", 10)) == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by SIGKILL"),
        (lambda: os._exit(4), "ended with 4"),
        (lambda: {}[1], "KeyError"),
    ],
)
def test_faults_are_told(fault, told):
    """A crash, an exit and an exception in the child are each a finding; errors of ours are the check's to catch."""

    def check(content: bytes) -> None:
        if content == b"b":
            fault()

    failures = run_apart(iter([("first", b"a"), ("second", b"b"), ("third", b"c")]), check)
    assert len(failures) == 1
    assert told in failures[0]


def test_the_case_is_named():
    """The finding names the damage that led to it."""

    def check(content: bytes) -> None:
        raise UnreadableError(content.decode())

    failures = run_apart(iter([("cut at 3", b"abc")]), check)
    assert failures[0].startswith("cut at 3: ")
    assert "UnreadableError" in failures[0]
