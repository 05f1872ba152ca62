"""The seccomp filter: which system calls a cell may still make. Everything else answers EPERM or kills.

Classic BPF, assembled here: the program is small, fixed and checked by simulation for every number. Allowed is what
CPython, numpy, pandas, pyarrow, DuckDB, Pillow and pypdf need for files, memory and threads. No sockets of any kind, no
new processes, no other process's memory, no new namespaces, no mounts, nothing executable that does not come from a
file, no shared anonymous memory (RLIMIT_DATA does not count it).
"""

import errno
import struct

from blobs.running.syscall_table import Machine

ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000

# Opcodes of linux/bpf_common.h: load a word, jump if equal / greater or equal / any bit set, and, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# Offsets in struct seccomp_data (linux/seccomp.h).
_NUMBER, _ARCH = 0, 4
_X32_BIT = 0x40000000

_FILES = """
    read write open close stat fstat lstat lseek pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 access
    pipe pipe2 dup dup2 dup3 close_range truncate ftruncate fallocate fsync fdatasync getdents getdents64 getcwd chdir
    fchdir rename renameat renameat2 mkdir mkdirat rmdir creat link linkat unlink unlinkat symlink symlinkat readlink
    readlinkat faccessat faccessat2 umask statfs fstatfs statx newfstatat openat readahead fadvise64
"""
_WAITING = """
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2 pause
    nanosleep clock_nanosleep alarm getitimer setitimer futex sched_yield wait4
"""
_MEMORY = "munmap mremap brk msync"
_KNOWING = """
    getpid gettid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups getresuid getresgid capget
    uname sysinfo times time gettimeofday clock_gettime clock_getres getrlimit getrusage getpriority getcpu getrandom
    sched_getaffinity sched_getparam sched_getscheduler
"""
_SIGNALS_AND_THREADS = """
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack restart_syscall
    set_tid_address set_robust_list get_robust_list rseq exit exit_group
"""
PLAIN = tuple(" ".join((_FILES, _WAITING, _MEMORY, _KNOWING, _SIGNALS_AND_THREADS)).split())
"""Allowed whatever the arguments."""

ATTRIBUTES = ("chmod", "fchmod", "fchmodat", "utime", "utimes", "utimensat")
"""Allowed only where the blobs lie on read-only mounts: Landlock does not cover them."""

ABSENT = ("clone3", "openat2", "io_uring_setup", "memfd_create", "copy_file_range", "membarrier")
"""Answer ENOSYS, so that callers fall back: glibc to `clone`, whose flags can be looked at."""

# Arguments that are allowed by value; fcntl.h, asm/ioctls.h and linux/prctl.h.
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
"""DUPFD, GETFD, SETFD, GETFL, SETFL, record locks, DUPFD_CLOEXEC, GETPIPE_SZ; none that signals or enlarges."""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PRCTL = (3, 15, 16, 21, 39, 0x53564D41)
"""GET_DUMPABLE, SET_NAME, GET_NAME, GET_SECCOMP, GET_NO_NEW_PRIVS, SET_VMA."""
_CLONE_THREAD = 0x00010000 | 0x00000100 | 0x00000800
"""THREAD, VM, SIGHAND: all must be there."""
_CLONE_FORBIDDEN = 0x7E020000 | 0x80 | 0x2000 | 0x4000 | 0x8000
"""Every NEW* namespace, PTRACE, VFORK, PARENT: none may be there."""
_MADV_MERGEABLE, _MADV_PRIVILEGED = 12, 100
_PROT_EXEC = 4
_MAP_SHARED, _MAP_ANONYMOUS = 1, 0x20

Instruction = tuple[int, int, int, int]


def _low(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _high(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 20 + 8 * argument)


def _answer(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def refusal(number: int) -> int:
    """The filter's answer for failing with an errno."""
    return _ERRNO | number


_DENY = _answer(refusal(errno.EPERM))
_PASS = _answer(ALLOW)


def build_filter(machine: Machine, *, process_id: int, allows_attributes: bool) -> bytes:
    """Assemble the program for one machine.

    `process_id` is the only process that may be signalled: the cell itself, as its own pid namespace numbers it.
    """
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit),
        _answer(KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.has_x32:
        program += [(_AT_LEAST, 0, 1, _X32_BIT), _answer(KILL)]
    rules: dict[str, list[Instruction]] = {name: [_PASS] for name in PLAIN}
    if allows_attributes:
        rules |= {name: [_PASS] for name in ATTRIBUTES}
    rules |= {name: [_answer(refusal(errno.ENOSYS))] for name in ABSENT}
    rules |= _argument_rules(process_id)
    for name, body in rules.items():
        if name in machine.numbers:
            program += [(_EQUAL, 0, len(body), machine.numbers[name]), *body]
    program.append(_DENY)
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _argument_rules(process_id: int) -> dict[str, list[Instruction]]:
    """Calls whose arguments decide. Each body ends in an answer on every path."""
    not_executable: list[Instruction] = [_low(2), (_ANY_BIT, 0, 1, _PROT_EXEC), _DENY, _PASS]
    return {
        "fcntl": _one_of(1, _FCNTL, errno.EPERM),
        "ioctl": _one_of(1, _IOCTL, errno.ENOTTY),
        "prctl": _one_of(0, _PRCTL, errno.EPERM),
        "kill": _one_of(0, (process_id,), errno.EPERM),
        "tgkill": _one_of(0, (process_id,), errno.EPERM),
        "clone": [
            _low(0),
            (_ANY_BIT, 0, 1, _CLONE_FORBIDDEN),
            _DENY,
            (_AND, 0, 0, _CLONE_THREAD),
            (_EQUAL, 0, 1, _CLONE_THREAD),
            _PASS,
            _DENY,
        ],
        # Reading one's own limits only: the pointer to new ones must be null in both halves.
        "prlimit64": [
            _low(0),
            (_EQUAL, 1, 0, 0),
            (_EQUAL, 0, 5, process_id),
            _low(2),
            (_EQUAL, 0, 3, 0),
            _high(2),
            (_EQUAL, 0, 1, 0),
            _PASS,
            _DENY,
        ],
        "madvise": [
            _low(2),
            (_EQUAL, 2, 0, _MADV_MERGEABLE),
            (_AT_LEAST, 1, 0, _MADV_PRIVILEGED),
            _PASS,
            _answer(refusal(errno.EINVAL)),
        ],
        # A mapped file may be executable (libraries); anonymous memory neither executable nor shared.
        "mmap": [
            _low(3),
            (_ANY_BIT, 1, 0, _MAP_ANONYMOUS),
            _PASS,
            (_ANY_BIT, 0, 1, _MAP_SHARED),
            _DENY,
            *not_executable,
        ],
        "mprotect": not_executable,
    }


def _one_of(argument: int, values: tuple[int, ...], failure: int) -> list[Instruction]:
    """Allow the call where the argument's lower half is one of the values: the kernel ignores the upper for these."""
    body = [_low(argument)]
    for value in values:
        body += [(_EQUAL, 0, 1, value), _PASS]
    return [*body, _answer(refusal(failure))]
