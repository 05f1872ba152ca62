"""The task `python` where the host gives no cell: the program runs in Monty, an interpreter of a part of Python.

Monty is a process of its own without an environment, and knows no files, network or programs. A program reaches the
host by the methods of its blobs alone: values go over a pipe in Monty's own format, and come back as plain values. It
has limits of time, memory and recursion of its own, inside of those of this process, which it inherits.

Arguments and answer are those of `blobs.querying.python_task`.
"""

import resource
import sys
from typing import Any, NoReturn

from pydantic_monty import (
    ClassInstance,
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    ResourceLimits,
)

from blobs.domain.errors import BlobsError, ToolInputError
from blobs.querying import portable, python_errors
from blobs.querying.columnar import Sink
from blobs.querying.python_blob import Blob
from blobs.querying.python_task import PythonCall, prepared

_METHODS = frozenset(["bytes", "text", "lines", "json", "rows"])
_HINT = (
    "This is a smaller Python: no generators, inheritance or del, and of modules only "
    f"{', '.join(portable.MODULES)}. SQL is there in full."
)
_BLOB_HINT = "A blob has .bytes() .text() .lines() .json() .rows() and .name .type .size .parts here."
_FILE_HINT = "There are no files besides the blobs: use blob1.bytes() or .text()."
_TIME_SHARE = 0.8
"""Of a call's time, what the program has: the rest is for its blobs and its answer."""


class _Door(ClassInstance):
    """A blob as a program may use it: these methods, with the name of a part at most."""

    def __init__(self, blob: Blob) -> None:
        super().__init__(blob, eager_attrs=("name", "type", "size"), lazy_attrs={"parts"}, allowed_methods=_METHODS)

    def call_method(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = [*args, *kwargs.values()]
        if len(given) > 1 or set(kwargs) - {"part"} or not all(each is None or type(each) is str for each in given):
            raise TypeError(f"{name}() takes at most the name of a part")
        try:
            return super().call_method(name, args, kwargs)
        except BlobsError as error:
            raise ValueError(str(error)) from None  # Monty knows the exceptions of Python only


def run(arguments: dict[str, Any], files: dict[str, str], reply: Sink) -> dict[str, Any]:
    """Run the program and answer its last expression, or `result`. Raises as `python_task.run`."""
    call, blobs, answer = prepared(arguments, files, reply)
    paths = {name: blob.path for name, blob in blobs.items()}
    try:
        return answer.of(_result(call, blobs))
    except (MontyRuntimeError, MontySyntaxError) as error:
        _refuse(error, call, paths)
    except MontyCrashedError:
        raise ToolInputError(
            "The program ended its interpreter.", code="python_error", hint="Write it in simpler steps."
        ) from None
    except (MontyError, RuntimeError) as error:  # a value over the most that goes through the pipe
        raise _too_large() from error


def _result(call: PythonCall, blobs: dict[str, Blob]) -> Any:
    seconds = call.wall_ms // 1000 + 2
    # Inherited: an interpreter whose parent was killed at the deadline ends by itself at the latest.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    limits = ResourceLimits(max_feed_duration_secs=call.wall_ms * _TIME_SHARE / 1000, max_memory=call.memory_bytes // 2)
    with (
        Monty(min_processes=1, max_processes=1, request_timeout=call.wall_ms / 1000) as pool,
        pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
    ):
        doors = {name: _Door(blob) for name, blob in blobs.items()}
        value = session.feed_run(call.code, inputs=doors, print_callback=lambda _, text: _print(text))
        return _variable(session) if value is None else value


def _variable(session: MontySession) -> Any:
    """What the program left in `result`."""
    try:
        return session.feed_run("result")
    except MontyRuntimeError as error:
        if isinstance(error.exception(), NameError):
            return None
        raise


def _print(text: str) -> None:
    sys.stdout.write(text)


def _refuse(error: MontyRuntimeError | MontySyntaxError, call: PythonCall, paths: dict[str, str]) -> NoReturn:
    """Tell the model of its exception, or of the limit that it reached."""
    cause, text = error.exception(), error.display("type-msg")
    frames = [(frame.line, frame.function_name or "<module>") for frame in error.traceback()]
    if isinstance(cause, TimeoutError) and not frames:
        text = f"TimeoutError: the program did not end within {call.wall_ms * _TIME_SHARE / 1000:g} s."
    if isinstance(cause, RuntimeError) and text.startswith("RuntimeError: result frame"):
        raise _too_large() from None
    if isinstance(cause, MemoryError):
        raise python_errors.out_of_memory(frames, call.code) from None
    raise python_errors.of_frames(python_errors.cut(text), frames, call.code, paths, hint=_hint(cause)) from None


def _hint(cause: BaseException) -> str:
    match cause:
        case ModuleNotFoundError() | NotImplementedError():
            return _HINT
        case AttributeError() if "'Blob' object" in str(cause):
            return _BLOB_HINT
        case PermissionError():
            return _FILE_HINT
        case TimeoutError():
            return "Work on fewer rows, or use SQL."
        case _:
            return ""


def _too_large() -> ToolInputError:
    return ToolInputError(
        "The result is too large.",
        code="result_too_large",
        hint="Return less: filter, aggregate, or keep only the columns you need.",
    )
