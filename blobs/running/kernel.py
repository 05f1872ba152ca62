"""System calls that Python does not offer, by ctypes. Each raises `OSError` with the call's name.

`PyDLL` keeps the interpreter lock: these run in processes with one thread, and errno must be the call's own.
"""

import ctypes
import os
import struct
from typing import Any

from blobs.running.syscall_table import this_machine

CLONE_THREAD = 0x00010000
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE = 32, 4096, 16384, 1 << 18, 1 << 19
MNT_DETACH = 2

ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC, ATTR_IDMAP = 1, 2, 4, 8, 0x00100000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAPBSET_READ, PR_CAPBSET_DROP = 1, 4, 8, 23, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 28, 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CAP_SETUID, CAP_SETPCAP, CAP_SYS_ADMIN = 7, 8, 21

HUGE_PAGE_BYTES = 2 << 20
_MADV_COLLAPSE = 25
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_SECUREBITS_LOCKED = 0b11101111
"""NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE set and locked, KEEP_CAPS clear and locked (linux/securebits.h)."""
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _call(name: str, *arguments: Any) -> int:
    machine = this_machine()
    if machine is None:
        raise OSError(f"{name}: no table of system calls for {os.uname().machine}")
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_libc.syscall(ctypes.c_long(machine.numbers[name]), *words), name)


def prctl(option: int, *arguments: int) -> int:
    """The call `prctl`; missing arguments are 0."""
    words = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(ctypes.c_int(option), *words), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` names for new ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def use_huge_pages(start: int, stop: int) -> None:
    """Have memory of this process lie in huge pages; raises where there are none of it, or the kernel is before 6.1."""
    words = ctypes.c_void_p(start), ctypes.c_size_t(stop - start), ctypes.c_int(_MADV_COLLAPSE)
    _checked(_libc.madvise(*words), "madvise")


def is_single_threaded() -> bool:
    """Whether this process has one thread: the kernel refuses to unshare the thread group otherwise; needs no /proc."""
    try:
        unshare(CLONE_THREAD)
    except OSError:
        return False
    return True


def enter_namespace(descriptor: int, flags: int) -> None:
    """Join the namespaces of the process or namespace file behind the descriptor."""
    _checked(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(flags)), "setns")


def set_host_name(name: bytes) -> None:
    """Name this UTS namespace."""
    _checked(_libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """The classic `mount`: for new file systems and for remounting."""
    encoded = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    data = None if options is None else options.encode()
    _checked(_libc.mount(*encoded, ctypes.c_ulong(flags), data), f"mount {kind or ''} on {target}")


def unmount(target: str) -> None:
    """Detach a mount and all below it."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and put the old one at `old`."""
    _call("pivot_root", os.fsencode(new), os.fsencode(old))


def clone_mount(path: str | int, *, is_recursive: bool = False) -> int:
    """A detached bind mount of a path or of an open descriptor of this mount namespace; answers its descriptor."""
    directory, name = (_AT_FDCWD, os.fsencode(path)) if isinstance(path, str) else (path, b"")
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH | (_AT_RECURSIVE if is_recursive else 0)
    return _call("open_tree", directory, name, flags)


def change_mount(descriptor: int, attributes: int, *, is_recursive: bool = False, user_namespace: int = 0) -> None:
    """Set attributes of the mount behind the descriptor; `user_namespace` belongs to `ATTR_IDMAP`."""
    change = struct.pack("=QQQQ", attributes, 0, 0, user_namespace)
    _call(
        "mount_setattr", descriptor, b"", _AT_EMPTY_PATH | (_AT_RECURSIVE if is_recursive else 0), change, len(change)
    )


def attach_mount(descriptor: int, target: str) -> None:
    """Put a detached mount at `target`, and close its descriptor."""
    try:
        _call("move_mount", descriptor, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(descriptor)


def close_descriptors(first: int, last: int = 0xFFFFFFFF) -> None:
    """Close all descriptors from first to last, both included."""
    if first <= last:
        _call("close_range", ctypes.c_uint(first), ctypes.c_uint(last), 0)


def _capability_header() -> bytes:
    return struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)


def has_capabilities(*numbers: int) -> bool:
    """Whether this process may really do what the capabilities stand for: user id 0 alone says nothing."""
    sets = ctypes.create_string_buffer(24)
    _call("capget", _capability_header(), sets)
    effective = struct.unpack("=6I", sets.raw)[0]
    return all(effective >> number & 1 for number in numbers)


def drop_capabilities() -> None:
    """Empty the bounding, ambient, inheritable, permitted and effective sets, and lock the bits that could refill them.

    Locking needs CAP_SETPCAP, which a process without any capability neither has nor needs.
    """
    if has_capabilities(CAP_SETPCAP):
        prctl(PR_SET_SECUREBITS, _SECUREBITS_LOCKED)
        for number in range(64):
            if _libc.prctl(PR_CAPBSET_READ, ctypes.c_ulong(number)) < 0:
                break  # the kernel knows no such number, nor any above it
            prctl(PR_CAPBSET_DROP, number)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    hold_capabilities()


def hold_capabilities(*numbers: int) -> None:
    """Have these capabilities in effect, of those that are permitted, and no others, nor any to pass on."""
    bits = sum(1 << number for number in numbers)
    _call("capset", _capability_header(), struct.pack("=6I", bits, bits, 0, 0, 0, 0))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


_SECCOMP_SET_MODE_FILTER, _SECCOMP_GET_ACTION_AVAIL, _SECCOMP_RET_KILL_PROCESS = 1, 2, 0x80000000


def has_seccomp() -> bool:
    """Whether the kernel takes filters that can kill the process."""
    try:
        _call("seccomp", _SECCOMP_GET_ACTION_AVAIL, 0, struct.pack("=I", _SECCOMP_RET_KILL_PROCESS))
    except OSError:
        return False
    return True


def install_filter(program: bytes) -> None:
    """Put a seccomp filter over this thread; it can never be taken off again."""
    buffer = ctypes.create_string_buffer(program, len(program))
    head = _Program(len(program) // 8, ctypes.addressof(buffer))
    _call("seccomp", _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(head))


def landlock_abi() -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    try:
        return _call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def landlock_ruleset(attributes: bytes) -> int:
    """A new ruleset; answers its descriptor."""
    return _call("landlock_create_ruleset", attributes, len(attributes), 0)


def landlock_allow(ruleset: int, descriptor: int, access: int) -> None:
    """Allow `access` beneath the file or directory behind the descriptor."""
    _call("landlock_add_rule", ruleset, 1, struct.pack("=Qi", access, descriptor), 0)


def landlock_enforce(ruleset: int) -> None:
    """Put the ruleset over this thread for good."""
    _call("landlock_restrict_self", ruleset, 0)
