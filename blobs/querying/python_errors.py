"""What a model reads about its own program's exception: type, message, its own lines, and the next step."""

import errno
import re
import socket
import sys
from collections.abc import Iterable, Mapping
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
    if isinstance(error, MemoryError):
        return ToolInputError(
            "\n".join(["MemoryError: the program needs more memory than it may have.", *_frames(error, code), ""]),
            code="python_memory",
            hint="Work through the blob in pieces, keep fewer columns, or use SQL.",
        )
    hint = _hint(error, blobs)
    message = _clean("\n".join([_headline(error), *_frames(error, code), *([""] if hint else [])]), blobs)
    return ToolInputError(message, code="python_error", hint=hint)


def _headline(error: BaseException) -> str:
    if isinstance(error, BlobsError):
        text = str(error)
    elif isinstance(error, SyntaxError):
        text = error.msg or "invalid syntax"
    else:
        text = _text(error)
    hidden = len(text) - MESSAGE_CHARS_MAX
    text = text if hidden <= 0 else f"{text[:MESSAGE_CHARS_MAX]}…(+{hidden} chars)"
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # the exception's class is the model's, and so is its __str__
        return "(its text cannot be had)"


def _frames(error: BaseException, code: str) -> list[str]:
    """The model's own lines on the way to the error, the outermost first."""
    lines = code.split("\n")
    told = [_line(number, function, lines) for number, function in _own_frames(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename == FILE and error.lineno:
        told.append(_line(error.lineno, "<module>", lines))
    if len(told) > _FRAMES_FIRST + _FRAMES_LAST:
        hidden = len(told) - _FRAMES_FIRST - _FRAMES_LAST
        told = [*told[:_FRAMES_FIRST], f"  … {hidden} more", *told[-_FRAMES_LAST:]]
    cause = error.__cause__
    return told if cause is None else [*told, f"  caused by {_headline(cause)}"]


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
