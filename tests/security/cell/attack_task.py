"""The task that runs an attack inside a cell. It lends each one a few tools and reports what it got hold of."""

import ctypes
import errno
import os
from typing import Any


def run(arguments: dict[str, Any], files: dict[str, str], reply: Any) -> Any:
    """Runs `code`; answers the `evidence` that it leaves behind. An exception means that it was stopped."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long

    def call(name: str, *words: Any) -> int:
        """A raw system call by name; raises OSError."""
        if arguments["numbers"][name] < 0:
            raise OSError(errno.ENOSYS, "libseccomp knows no such call")
        ctypes.set_errno(0)
        passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in words]
        result = int(libc.syscall(ctypes.c_long(arguments["numbers"][name]), *passed))
        if result < 0:
            raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), ""))
        return result

    scope = {
        "call": call,
        "libc": libc,
        "files": files,
        "reply": reply,
        "os": os,
        "ctypes": ctypes,
        **arguments["names"],
    }
    try:
        exec(arguments["code"], scope)
    except Exception as error:
        return {"evidence": None, "stopped": f"{type(error).__name__}: {error}"[:200]}
    evidence = scope.get("evidence")
    return {"evidence": None if evidence is None else repr(evidence)[:200]}
