"""Where commands write: UTF-8 whatever the locale, JSON never cut, foreign text without terminal escapes."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError
from blobs.reading.cutting import strip_escapes

PROGRESS_AFTER_SECONDS = 1.0


class Screen:
    """The standard output of one command."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = sys.stdout.buffer if out is None else out

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self._out.isatty()

    def line(self, text: str = "") -> None:
        """Write text for people, and a line end; what could steer a terminal is left out."""
        self._out.write(strip_escapes(text).encode("utf-8", "replace") + b"\n")

    def json(self, value: Any) -> None:
        """Write a value as one line of compact JSON."""
        self._out.write(exact_json.dumps(value) + b"\n")

    def raw(self, chunk: bytes) -> None:
        """Write bytes as they are."""
        self._out.write(chunk)

    def flush(self) -> None:
        """Hand everything on, so that a closed pipe shows now."""
        self._out.flush()


def tell_fault(error: BlobsError) -> None:
    """Write an error as one line on standard error: what is wrong, then the next step."""
    warn(" ".join(str(error).split()))


def warn(text: str) -> None:
    """Write a line to standard error."""
    print(f"blobs: {strip_escapes(text)}", file=sys.stderr, flush=True)


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Tell a terminal's standard error that work goes on, once it takes longer than a second; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(label, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(label: str, done: threading.Event) -> None:
    seconds = 0
    while not done.wait(PROGRESS_AFTER_SECONDS):
        seconds += 1
        sys.stderr.write(f"\r{strip_escapes(label)} … {seconds} s")
        sys.stderr.flush()
    if seconds:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
