"""One call from the host's side: hand a job to a worker, read its answer under caps and a deadline, and end it."""

import io
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import BinaryIO

from blobs.domain import exact_json
from blobs.domain.errors import LimitError
from blobs.domain.limits import MIB
from blobs.running import frames
from blobs.running.confinement import data_bytes_max
from blobs.running.runner import Job, Outcome, Status
from blobs.running.worker import JOB_BYTES_MAX, LENGTH
from blobs.running.zygote_process import Worker

_READ_BYTES = 1 << 20
_END_WAIT_S = 2.0
_LOOK_MS = 5
"""How often the memory of a worker is looked at."""
_STACK_BYTES = 8 * MIB
"""Private memory that RLIMIT_DATA does not count."""


class WorkerFailedError(Exception):
    """The worker could not be shut in, or died before the task began: nothing of it ran. Never leaves this package."""


def encode_job(job: Job) -> bytes:
    """What a worker reads. Raises `CallerError` where arguments are not JSON, `LimitError` where they are too long."""
    text = exact_json.dumps(
        {
            "task": job.task,
            "arguments": dict(job.arguments),
            "files": [file.name for file in job.files],
            "limits": asdict(job.limits),
        }
    )
    if len(text) > JOB_BYTES_MAX:
        raise LimitError(f"The arguments of a job are {len(text)} bytes, more than {JOB_BYTES_MAX}.")
    return text


class Call:
    """One job, encoded as `text`, on one worker. `descriptors` are its files in order; they are closed here."""

    def __init__(
        self, worker: Worker, job: Job, text: bytes, *, descriptors: Sequence[int], payload_to: BinaryIO | None
    ) -> None:
        self._worker = worker
        self._job = job
        self._text = text
        self._descriptors = descriptors
        self._kept = io.BytesIO() if payload_to is None else None
        self._sink: BinaryIO = payload_to or self._kept  # type: ignore[assignment]  # one of the two is always there
        self._printed = bytearray()
        self._unprinted_size = 0
        self._answer = frames.AnswerReader(payload_bytes_max=job.limits.result_bytes, payload=self._sink.write)
        self._started_at = time.monotonic()

    def send(self) -> None:
        """Hand the job over. A worker that cannot take it has died: `finish` finds out."""
        connection = self._worker.job
        connection.settimeout(self._job.limits.wall_ms / 1000)
        try:
            socket.send_fds(connection, [LENGTH.pack(len(self._text))], self._descriptors)
            connection.sendall(self._text)
        except OSError:
            pass  # as said
        finally:
            for descriptor in self._descriptors:
                os.close(descriptor)

    def finish(self) -> Outcome:
        """Wait for the end, the deadline, or the first breach of the protocol; the worker is killed in every case.

        Raises `WorkerFailedError` where the task did not begin.
        """
        try:
            status, fault = self._drive()
        finally:
            self._worker.kill()
        self._drain_printed()
        return self._outcome(status, fault)

    def _drive(self) -> tuple[Status, str]:
        """Read until something ends the call; answers what, and a word on it.

        Its memory is looked at too: RLIMIT_DATA does not see what is mapped over addresses that were reserved before.
        """
        memory_bytes_max = data_bytes_max(self._job.limits, self._worker.zygote.facts["held_bytes"]) + _STACK_BYTES
        deadline = self._started_at + self._job.limits.wall_ms / 1000
        poll = select.poll()
        poll.register(self._worker.result, select.POLLIN)
        poll.register(self._worker.printed, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout", ""
            ready = poll.poll(min(left * 1000, _LOOK_MS))
            if self._worker.resident_bytes() > memory_bytes_max:
                return "memory", ""
            for descriptor, _ in ready:
                data = _read(descriptor)
                if descriptor == self._worker.printed:
                    self._keep_printed(data)
                    if not data:
                        poll.unregister(descriptor)
                elif not data:
                    return "killed", ""
                else:
                    try:
                        self._answer.feed(data)
                    except frames.ProtocolError as error:
                        return "protocol", str(error)
            if self._answer.is_done:
                return "ok", ""

    def _keep_printed(self, data: bytes) -> None:
        room = self._job.limits.printed_bytes - len(self._printed)
        self._printed += data[: max(room, 0)]
        self._unprinted_size += len(data) - min(len(data), max(room, 0))

    def _drain_printed(self) -> None:
        """What still lies in the pipe was written before the answer."""
        while data := _read(self._worker.printed):
            self._keep_printed(data)

    def _outcome(self, status: Status, fault: str) -> Outcome:
        answer = self._answer
        if answer.last == frames.FAILED or (not answer.has_started and status not in ("timeout", "memory")):
            raise WorkerFailedError(answer.body.decode(errors="replace") or self._death())
        if status == "ok":
            try:
                found = frames.decode_value(answer.body)
            except frames.ProtocolError as error:
                return self._end("protocol", str(error))
            if "value" in found:
                return Outcome("ok", found["value"], self._payload(), self._printed_text(), self._wall_ms())
            return Outcome(
                found["status"],
                None,
                b"",
                self._printed_text(),
                self._wall_ms(),
                found["fault"],
                traceback=found["traceback"],
            )
        return self._end(status, fault)

    def _end(self, status: Status, fault: str) -> Outcome:
        limits = self._job.limits
        if status == "killed":
            fault = self._death()
        code, message = {
            "memory": ("out_of_memory", frames.OUT_OF_MEMORY),
            "timeout": ("timeout", f"The call was stopped after {limits.wall_ms / 1000:g} s."),
            "killed": ("killed", f"The process of the call ended without an answer: {fault}."),
            "protocol": ("protocol", f"The call's answer was refused: {fault}."),
        }[status]
        return Outcome(
            status, None, b"", self._printed_text(), self._wall_ms(), {"code": code, "message": message, "hint": ""}
        )

    def _death(self) -> str:
        """How the worker ended, when its zygote has said so."""
        if not self._worker.ended.wait(_END_WAIT_S):
            return "no reason is known"
        number = self._worker.status & 0x7F
        if number:
            return f"signal {number} ({signal.strsignal(number)})"
        return f"exit status {self._worker.status >> 8}"

    def _payload(self) -> bytes:
        return self._kept.getvalue() if self._kept is not None else b""

    def _printed_text(self) -> str:
        text = self._printed.decode(errors="replace")
        return f"{text}…(+{self._unprinted_size} bytes)" if self._unprinted_size else text

    def _wall_ms(self) -> float:
        return (time.monotonic() - self._started_at) * 1000


def _read(descriptor: int) -> bytes:
    """What is there; nothing at the end, and where nothing is there yet."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return b""
