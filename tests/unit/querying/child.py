"""Runs tasks of blobs.querying in a child process, so that what they do to their process is not done to this one."""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blobs.domain import exact_json

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Told:
    """What came of a call: a value and a payload, or the error's code, message and hint."""

    value: Any = None
    payload: bytes = b""
    printed: str = ""
    code: str = ""
    message: str = ""
    hint: str = ""


class Child:
    """A process that runs one call after the other until it is closed; a call that ends it is told as a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, task: str, arguments: dict[str, Any], files: dict[str, Path]) -> Told:
        process = self._process or self._start()
        paths = {name: str(path) for name, path in files.items()}
        process.stdin.write(exact_json.dumps([task, arguments, paths]) + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            self.close()
            return Told(code="crash")
        told = exact_json.loads(answer)
        return Told(**{**told, "payload": bytes.fromhex(told["payload"])})

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.querying.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TZ": "America/New_York"},
        )
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(10)
            self._process.stdout.close()
            self._process = None


def _serve() -> None:
    from importlib import import_module

    from blobs.domain.errors import BlobsError

    replies, requests = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    for line in iter(requests.readline, b""):
        name, arguments, files = json.loads(line)
        run = import_module(f"blobs.querying.{name}_task").run
        payload = io.BytesIO()
        sys.stdout = io.StringIO()
        told: dict[str, Any]
        try:
            told = {"value": run(arguments, files, payload), "payload": payload.getvalue().hex()}
        except BlobsError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint, "payload": ""}
        told["printed"] = sys.stdout.getvalue()
        replies.write(exact_json.dumps(told) + b"\n")
        replies.flush()


if __name__ == "__main__":
    _serve()
