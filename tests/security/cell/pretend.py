"""Pretend to be another host, then become the program that is named: `docker|no-landlock|no-seccomp COMMAND…`.

Made with a seccomp filter of its own, which everything started from here keeps: as in a container, or on an old kernel.
"""

import errno
import os
import struct
import sys

from blobs.running import kernel
from blobs.running.seccomp import ALLOW, refusal
from blobs.running.syscall_table import this_machine

_NAMESPACES = 0x7E020000


def _filter(refused: dict[int, int], clone: int | None) -> bytes:
    code = [(0x20, 0, 0, 0)]
    for number, error in refused.items():
        code += [(0x15, 0, 1, number), (0x06, 0, 0, refusal(error))]
    if clone is not None:
        code += [(0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 0, 1, _NAMESPACES), (0x06, 0, 0, refusal(errno.EPERM))]
    code.append((0x06, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def main() -> None:
    import pyseccomp

    def numbers(names: str, error: int) -> dict[int, int]:
        return {pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name): error for name in names.split()}

    machine = this_machine()
    assert machine is not None
    landlock = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
    # What Docker's default profile refuses without CAP_SYS_ADMIN, as far as it matters here.
    docker = (
        "unshare setns mount umount2 pivot_root open_tree move_mount fsopen fsmount fsconfig mount_setattr bpf keyctl"
    )
    programs = {
        "docker": _filter(numbers(docker, errno.EPERM) | numbers("clone3", errno.ENOSYS), machine.numbers["clone"]),
        "no-landlock": _filter(numbers(landlock, errno.EOPNOTSUPP), None),
        "no-seccomp": _filter(numbers("seccomp", errno.ENOSYS), None),
    }
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    for name in sys.argv[1].split("+"):
        if name != "nothing":
            kernel.install_filter(programs[name])
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
