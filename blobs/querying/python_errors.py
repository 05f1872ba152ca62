"""What a model reads about its own program's exception: type, message, its own lines, and the next step."""

import errno
import re
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType

from blobs.domain.errors import BlobsError, ToolInputError

FILE = "code"
"""The file name of the model's program."""
MESSAGE_CHARS_MAX = 2_000
_FRAMES_FIRST = 3
_FRAMES_LAST = 5
_LINE_CHARS_MAX = 200
_SHUT_OUT = frozenset(
    [errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.ENETUNREACH, errno.EAFNOSUPPORT, errno.ENOSYS]
)
_LIBRARIES = "the standard library, numpy, pandas, pyarrow, duckdb, PIL, pypdf, lxml"
_BLOB_NAME = re.compile(r"blob[0-9]+")


def told(error: BaseException, code: str, blobs: Mapping[str, str]) -> ToolInputError:
    """The error that a model reads. `blobs` are the names of the blobs with their paths, which are not shown."""
    frames = list(_own_frames(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename == FILE and error.lineno:
        frames.append((error.lineno, "<module>"))
    if isinstance(error, MemoryError):
        return out_of_memory(frames, code)
    cause = error.__cause__
    causes = [] if cause is None else [f"  caused by {_headline(cause)}"]
    return of_frames(_headline(error), frames, code, blobs, hint=_hint(error, blobs), causes=causes)


def out_of_memory(frames: Sequence[tuple[int, str]], code: str) -> ToolInputError:
    """As `told`, of a program that needs too much memory. `frames` are as those of `of_frames`."""
    return ToolInputError(
        "\n".join(["MemoryError: the program needs more memory than it may have.", *_shown(frames, code), ""]),
        code="python_memory",
        hint="Work through the blob in pieces, keep fewer columns, or use SQL.",
    )


def of_frames(
    headline: str,
    frames: Sequence[tuple[int, str]],
    code: str,
    blobs: Mapping[str, str],
    *,
    hint: str,
    causes: Sequence[str] = (),
) -> ToolInputError:
    """As `told`, of an exception known by its headline and the lines and functions on the way, the outermost first."""
    message = _clean("\n".join([headline, *_shown(frames, code), *causes, *([""] if hint else [])]), blobs)
    return ToolInputError(message, code="python_error", hint=hint)


def _headline(error: BaseException) -> str:
    if isinstance(error, BlobsError):
        text = str(error)
    elif isinstance(error, SyntaxError):
        text = error.msg or "invalid syntax"
    else:
        text = _text(error)
    return f"{type(error).__name__}: {cut(text)}".removesuffix(": ")


def cut(text: str) -> str:
    """The text, of much of it the first part."""
    hidden = len(text) - MESSAGE_CHARS_MAX
    return text if hidden <= 0 else f"{text[:MESSAGE_CHARS_MAX]}…(+{hidden} chars)"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # the exception's class is the model's, and so is its __str__
        return "(its text cannot be had)"


def _shown(frames: Sequence[tuple[int, str]], code: str) -> list[str]:
    """The model's own lines on the way to the error, the outermost first."""
    lines = code.split("\n")
    told = [_line(number, function, lines) for number, function in frames]
    if len(told) > _FRAMES_FIRST + _FRAMES_LAST:
        hidden = len(told) - _FRAMES_FIRST - _FRAMES_LAST
        told = [*told[:_FRAMES_FIRST], f"  … {hidden} more", *told[-_FRAMES_LAST:]]
    return told


def _own_frames(trace: TracebackType | None) -> Iterable[tuple[int, str]]:
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILE:
            yield trace.tb_lineno, code.co_name
        trace = trace.tb_next


def _line(number: int, function: str, lines: list[str]) -> str:
    within = "" if function == "<module>" else f", in {function}"
    source = lines[number - 1].strip()[:_LINE_CHARS_MAX] if 0 < number <= len(lines) else ""
    return f"  {FILE}, line {number}{within}: {source}"


def _clean(text: str, blobs: Mapping[str, str]) -> str:
    """The text without paths of the host."""
    for name, path in blobs.items():
        text = text.replace(path, name)
    for prefix in sorted({sys.prefix, sys.base_prefix}, key=len, reverse=True):
        text = text.replace(f"{prefix}/", "…/")
    return text


def _hint(error: BaseException, blobs: Mapping[str, str]) -> str:
    names = ", ".join(blobs)
    if isinstance(error, ModuleNotFoundError):
        figures = ", matplotlib" if "matplotlib" in sys.modules else ""
        return f"What can be imported: {_LIBRARIES}{figures}."
    cause = getattr(error, "reason", error)  # urllib tells its cause so
    is_shut_out = isinstance(cause, OSError) and cause.errno in _SHUT_OUT
    if is_shut_out or isinstance(cause, ConnectionError | PermissionError | socket.gaierror):
        first = next(iter(blobs), "blob1")
        return (
            f"There is no network, and there are no other programs and no files besides the blobs ({names}): "
            f"use {first}.bytes() or .text()."
        )
    if isinstance(error, NameError) and _BLOB_NAME.search(_text(error)):
        return f"The blobs here: {names}. Name others in `blobs`."
    if isinstance(error, AttributeError) and "'Blob' object" in _text(error):
        return "A blob has .bytes() .text() .lines() .json() .rows() .arrow() .df(), .path .name .type .size .parts."
    return ""
