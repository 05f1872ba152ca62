"""The self-test: run inside a real worker before a tier is trusted. It tries what must not work, and says what did."""

import ctypes
import errno
import os
import resource
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blobs.domain.limits import MIB
from blobs.running.syscall_table import this_machine

MEMORY_BYTES = 300 * MIB
_TOO_MUCH_BYTES = 900 * MIB
_AF_VSOCK = 40
_CLONE_NEWUSER = 0x10000000
_PR_GET_DUMPABLE, _PR_GET_SECCOMP, _PR_GET_NO_NEW_PRIVS = 3, 21, 39


def run(arguments: dict[str, Any], files: dict[str, str], reply: object) -> list[str]:  # noqa: ARG001 (the form of a task)
    """Answers the names of the probes that succeeded and should not have; an empty list is the pass.

    `arguments` name a `canary` and a `stranger`, files of the host that everybody may read, the `folder` they lie in,
    and the host's `process`. The file `given` must be readable.
    """
    canary, folder = arguments["canary"], arguments["folder"]
    probes: dict[str, Callable[[], object]] = {
        "read a file of the host": lambda: Path(canary).read_bytes(),
        "read another blob": lambda: Path(arguments["stranger"]).read_bytes(),
        "list a folder of the host": lambda: list(Path(folder).iterdir()),
        "write beside a blob": lambda: Path(folder, "written").write_bytes(b""),
        "write the given blob": lambda: os.open(files["given"], os.O_WRONLY),
        "change the given blob's mode": lambda: os.chmod(files["given"], 0o777),  # noqa: PTH101, S103 (must fail)
        "write to /dev/shm": lambda: Path("/dev/shm/written").write_bytes(b""),  # noqa: S108 (must fail)
        "read the host's processes": lambda: Path(f"/proc/{arguments['process']}/cmdline").read_bytes(),
        "open an INET socket": lambda: socket.socket(socket.AF_INET),
        "open a VSOCK socket": lambda: _system_call("socket", _AF_VSOCK, socket.SOCK_STREAM, 0),
        "open a UNIX socket": lambda: socket.socket(socket.AF_UNIX),
        "fork": _fork,
        "run a program": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606 (must fail)
        "make a user namespace": lambda: _system_call("unshare", _CLONE_NEWUSER),
        "set up io_uring": lambda: _system_call("io_uring_setup", 1, 0),
        "signal the host": lambda: os.kill(arguments["process"], 0),
        "raise a limit": _raise_limit,
        "allocate too much": lambda: bytearray(_TOO_MUCH_BYTES),
        "be traced": lambda: _system_call(
            "ptrace", 0, 0, 0, 0
        ),  # last: if it works, the next signal stops this process
    }
    succeeded = [name for name, probe in probes.items() if _succeeds(probe)]
    if Path(files["given"]).read_bytes() != b"given":
        succeeded.append("read something else as the given blob")
    return [*succeeded, *_wrong_status()]


def _succeeds(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (OSError, MemoryError, ValueError):
        return False
    return True


_NUMBERS = {
    "x86_64": {"socket": 41, "ptrace": 101, "unshare": 272, "io_uring_setup": 425},
    "aarch64": {"socket": 198, "ptrace": 117, "unshare": 97, "io_uring_setup": 425},
}


def _system_call(name: str, *arguments: int) -> None:
    machine = this_machine()
    if machine is None:
        raise OSError(errno.ENOSYS, name)
    call = ctypes.CDLL(None, use_errno=True).syscall
    words = [ctypes.c_long(each) for each in (_NUMBERS[machine.name][name], *arguments)]
    if call(*words) < 0:
        raise OSError(ctypes.get_errno(), name)


def _fork() -> None:
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)


def _raise_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard + MIB, hard + MIB))


def _wrong_status() -> list[str]:
    """What the kernel says of this process: filtered, unable to gain rights or to be read, without any capability."""
    libc = ctypes.CDLL(None, use_errno=True)
    expected = {
        "seccomp": (_PR_GET_SECCOMP, 2),
        "no_new_privs": (_PR_GET_NO_NEW_PRIVS, 1),
        "dumpable": (_PR_GET_DUMPABLE, 0),
    }
    wrong = [name for name, (option, value) in expected.items() if libc.prctl(option, 0, 0, 0, 0) != value]
    sets = ctypes.create_string_buffer(24)
    if libc.capget(struct.pack("=Ii", 0x20080522, 0), sets) != 0 or any(sets.raw):
        wrong.append("capabilities")
    return [f"run with wrong {name}" for name in wrong]
