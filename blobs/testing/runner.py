"""The contract of a runner: what a `blobs.running.Runner` promises, whatever its tier. Public: for makers of runners.

The tasks of the contract are here as well; a runner under test is opened with `TASKS`, all of them trusted.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from blobs.domain.errors import SandboxError, ToolInputError
from blobs.running.runner import CellFile, CellLimits, Job, Runner

TASKS: Mapping[str, str] = {name: f"{__name__}:{name}" for name in ("echo", "stream", "refuse", "crash", "wait")}


class _Reply(Protocol):
    def write(self, chunk: bytes) -> int: ...


def echo(arguments: dict[str, Any], files: dict[str, str], reply: _Reply) -> Any:  # noqa: ARG001 (the form of a task)
    """Answers its arguments and the text of its files."""
    return [arguments, {name: Path(path).read_text() for name, path in files.items()}]


def stream(arguments: dict[str, Any], files: dict[str, str], reply: _Reply) -> Any:  # noqa: ARG001  # what every task takes
    """Streams `size` bytes, says so on stdout, and answers nothing."""
    print("streaming")
    reply.write(b"x" * arguments["size"])


def refuse(arguments: dict[str, Any], files: dict[str, str], reply: _Reply) -> Any:  # noqa: ARG001  # what every task takes
    """Raises an error that its caller should read."""
    raise ToolInputError("wrong", hint="Try another.")


def crash(arguments: dict[str, Any], files: dict[str, str], reply: _Reply) -> Any:  # noqa: ARG001  # what every task takes
    """Raises an error that nobody expected."""
    return 1 // 0


def wait(arguments: dict[str, Any], files: dict[str, str], reply: _Reply) -> Any:  # noqa: ARG001  # what every task takes
    """Never answers."""
    while True:
        pass


class RunnerContract:
    """Subclass it with a fixture `runner` that opens `TASKS`, all trusted."""

    def test_a_task_answers_its_value(self, runner: Runner, tmp_path: Path) -> None:
        """Arguments go in as JSON, files by name, and the value comes back as JSON."""
        (tmp_path / "blob").write_text("content")
        outcome = runner.run(Job("echo", {"a": [1, None]}, (CellFile("blob1.txt", tmp_path / "blob"),)))
        assert (outcome.status, outcome.error) == ("ok", None)
        assert outcome.value == [{"a": [1, None]}, {"blob1.txt": "content"}]

    def test_the_payload_goes_where_it_is_wanted(self, runner: Runner) -> None:
        """Into the outcome, or into the caller's file and not into the outcome. What was printed is told apart."""
        outcome = runner.run(Job("stream", {"size": 3_000_000}))
        assert (outcome.status, outcome.payload, outcome.printed) == ("ok", b"x" * 3_000_000, "streaming\n")
        target = io.BytesIO()
        assert runner.run(Job("stream", {"size": 5}), payload_to=target).payload == b""
        assert target.getvalue() == b"xxxxx"

    def test_a_payload_over_the_limit_is_an_error(self, runner: Runner) -> None:
        """The limit of a result holds to the byte."""
        limits = CellLimits(result_bytes=1_000)
        assert runner.run(Job("stream", {"size": 1_000}, limits=limits)).status == "ok"
        outcome = runner.run(Job("stream", {"size": 1_001}, limits=limits))
        assert (outcome.status, (outcome.error or {})["code"]) == ("error", "result_too_large")

    def test_an_error_of_the_task_reaches_its_caller(self, runner: Runner) -> None:
        """Code, message and hint of a `BlobsError`, word for word."""
        outcome = runner.run(Job("refuse", {}))
        assert outcome.status == "error"
        assert outcome.error == {"code": "invalid_tool_input", "message": "wrong", "hint": "Try another."}

    def test_an_unexpected_error_is_internal(self, runner: Runner) -> None:
        """Its traceback is for the host alone."""
        outcome = runner.run(Job("crash", {}))
        assert (outcome.status, (outcome.error or {})["code"]) == ("error", "internal_error")
        assert "ZeroDivisionError" in outcome.traceback

    def test_a_call_ends_at_its_deadline(self, runner: Runner) -> None:
        """A task that never answers is over after `wall_ms`, and the next call runs."""
        outcome = runner.run(Job("wait", {}, limits=CellLimits(wall_ms=300)))
        assert (outcome.status, (outcome.error or {})["code"]) == ("timeout", "timeout")
        assert runner.run(Job("echo", {})).status == "ok"

    def test_an_unknown_task_is_refused(self, runner: Runner) -> None:
        """Nothing runs that is not in the table."""
        with pytest.raises(SandboxError):
            runner.run(Job("nothing", {}))

    def test_a_runner_tells_what_it_is(self, runner: Runner) -> None:
        """Tier and reasons are part of the doctor's report."""
        assert runner.describe()["tier"] == runner.tier
        assert runner.describe()["reasons"] == list(runner.reasons)
