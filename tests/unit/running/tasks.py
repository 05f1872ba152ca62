"""Tasks for the tests of the cell, imported by its zygote."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from blobs.domain.errors import ToolInputError
from blobs.running.worker import Reply

WARMED: list[int] = []


def warm_up() -> None:
    """Leaves its process number, to be found in workers."""
    WARMED.append(os.getpid())


def warmed(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """How often this module was warmed up."""
    return len(WARMED)


def echo(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Answers what it was given, with the content of the files."""
    return {"arguments": arguments, "files": {name: Path(path).read_text() for name, path in files.items()}}


def stream(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Streams `count` chunks of `size` bytes; answers how many bytes the reply counted."""
    for index in range(arguments["count"]):
        reply.write(bytes([index % 256]) * arguments["size"])
    return reply.size_bytes


def say(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Prints `out` and `err`, in this order, each `times` times."""
    for _ in range(arguments.get("times", 1)):
        print(arguments["out"])
        print(arguments.get("err", ""), end="", file=sys.stderr)


def fail(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Raises what `kind` names."""
    match arguments["kind"]:
        case "blobs":
            raise ToolInputError("There is no column zip.", hint="Use city.")
        case "value":
            raise ValueError("secret detail")
        case "memory":
            return len(bytearray(8 << 30))
        case "exit":
            sys.exit(3)
        case "recursion":
            return fail(arguments, files, reply)


def end(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Ends its process, or never ends."""
    match arguments["how"]:
        case "exit":
            os._exit(7)
        case "segfault":
            import ctypes

            ctypes.string_at(0)
        case "abort":
            os.abort()
        case "sleep":
            print("began", flush=True)
            time.sleep(60)
        case "deaf":
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            while True:
                try:
                    sum(range(10**6))
                except BaseException:
                    continue
        case "close":
            os.closerange(0, 256)
            time.sleep(60)


def value(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Evaluates an expression of the test."""
    return eval(arguments["expression"])


def remember(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Answers what it finds changed, then changes all it can."""
    import json

    found = [
        hasattr(json, "mark"),
        os.environ.get("MARK"),
        sorted(str(each) for each in Path().iterdir()),
        "/mark" in sys.path,
    ]
    json.mark = True  # type: ignore[attr-defined]
    os.environ["MARK"] = "1"
    Path("mark").write_text("1")
    sys.path.append("/mark")
    threading.Thread(target=time.sleep, args=(60,)).start()
    return found


def draw(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Random numbers of both generators."""
    import random

    return [random.random(), os.urandom(4).hex()]


def run_code(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> Any:
    """Runs Python of the test; answers its `result`."""
    scope: dict[str, Any] = {"files": files, "reply": reply}
    exec(arguments["code"], scope)
    return scope.get("result")
