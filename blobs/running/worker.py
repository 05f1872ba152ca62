"""The worker: one process, one call. It waits for a job, lets itself be shut in, runs the task and answers."""

import gc
import os
import random
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, LimitError
from blobs.running import frames
from blobs.running.confinement import Confinement, keep_descriptors
from blobs.running.runner import FILES_MAX, CellLimits

LENGTH = struct.Struct("<I")
JOB_BYTES_MAX = 64 << 20


class Reply:
    """Where a task streams bytes that are not JSON, or too many."""

    def __init__(self, descriptor: int, *, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.size_bytes = 0
        """Bytes written so far."""
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, chunk: bytes | bytearray | memoryview) -> int:
        """Send the next bytes of the payload; answers how many. Raises `LimitError` when they are more than allowed."""
        whole = memoryview(chunk).cast("B")
        with self._lock:
            if self.size_bytes + len(whole) > self.bytes_max:
                raise LimitError(f"The result is larger than {self.bytes_max} bytes.", code="result_too_large")
            for start in range(0, len(whole), frames.PAYLOAD_BYTES_MAX):
                frames.write_frame(self._descriptor, frames.PAYLOAD, whole[start : start + frames.PAYLOAD_BYTES_MAX])
            self.size_bytes += len(whole)
        return len(whole)


Task = Callable[[dict[str, Any], dict[str, str], Reply], Any]


def work(confinement: Confinement, tasks: Mapping[str, Task], descriptors: tuple[int, int, int]) -> NoReturn:
    """Be a worker until the end of this process. `descriptors`: the job's socket, the printed and the result pipe."""
    job_socket, _, result = descriptors
    try:
        _take_places(descriptors, confinement.descriptors)
        _behave_normally()
        confinement.prepare()
        frames.write_frame(result, frames.READY)
        job, files = _receive_job(job_socket)
        limits = CellLimits(**job["limits"])
        paths = confinement.seal(files, limits, keep=(result,))
        task = tasks[job["task"]]
    except BaseException as error:  # noqa: BLE001 (whatever it is, the task does not run and the host must hear of it)
        text = f"{type(error).__name__}: {error}".encode()[: frames.FAILURE_BYTES_MAX]
        frames.write_frame(result, frames.FAILED, text)
        os._exit(1)
    frames.write_frame(result, frames.STARTED)
    answer = _answer(task, job["arguments"], paths, Reply(result, bytes_max=limits.result_bytes))
    frames.write_frame(result, frames.VALUE, answer)
    os._exit(0)


def _take_places(descriptors: tuple[int, int, int], kept: Sequence[int]) -> None:
    """Connect standard streams and close all else that came from the zygote, its control socket first of all."""
    job, printed, result = descriptors
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    keep_descriptors([job, result, *kept])


def _behave_normally() -> None:
    """Undo what suits a server: its session, its signals, its frozen random numbers."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4)))


def _receive_job(descriptor: int) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """Wait for the host's job. A host that goes away instead ends the worker."""
    with socket.socket(fileno=descriptor) as connection:
        head, mounts, _, _ = socket.recv_fds(connection, LENGTH.size, FILES_MAX)
        if len(head) < LENGTH.size:
            os._exit(0)
        text = bytearray(LENGTH.unpack(head)[0])
        rest = memoryview(text)
        while rest:
            count = connection.recv_into(rest)
            if count == 0:
                os._exit(0)
            rest = rest[count:]
    job = exact_json.loads(text)
    return job, list(zip(job["files"], mounts, strict=True))


def _encoded(value: Any, reply: Reply) -> bytes:
    body = frames.encode_value(value)
    most = min(frames.VALUE_BYTES_MAX, reply.bytes_max)
    if len(body) > most:
        raise LimitError(f"The result is {len(body)} bytes as JSON, more than {most}.", code="result_too_large")
    return body


def _answer(task: Task, arguments: dict[str, Any], paths: dict[str, str], reply: Reply) -> bytes:
    """Run the task; the body of the last frame, whatever happens in it."""
    gc.enable()
    try:
        value = _encoded(task(arguments, paths, reply), reply)
    except BlobsError as error:
        value = frames.encode_fault("error", code=error.code, message=error.message, hint=error.hint)
    except MemoryError:
        value = frames.encode_fault("memory", code="out_of_memory", message=frames.OUT_OF_MEMORY)
    except BaseException as error:  # noqa: BLE001 (a task is a stranger's: what it raises must not end the worker unsaid)
        shown = traceback.format_exc(limit=-16)
        message = f"{type(error).__name__} in the task"
        value = frames.encode_fault("error", code="internal_error", message=message, traceback=shown)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the task closed it
    return value
