"""The seccomp filter: simulated for every number, and its tables compared with libseccomp's."""

import errno

import pytest

from blobs.running.seccomp import ABSENT, ALLOW, ATTRIBUTES, KILL, PLAIN, build_filter, refusal
from blobs.running.syscall_table import MACHINES, Machine
from tests.security.cell.filter_machine import answer

BY_ARGUMENT = {"fcntl", "ioctl", "prctl", "kill", "tgkill", "clone", "prlimit64", "madvise", "mmap", "mprotect"}
DENIED = refusal(errno.EPERM)
THREAD = 0x3D0F00
"""The flags with which glibc starts a thread."""


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return MACHINES[request.param]


@pytest.fixture
def ask(machine: Machine):
    program = build_filter(machine, process_id=1, allows_attributes=True)

    def ask_filter(name: str | int, *arguments: int, audit: int = machine.audit) -> int:
        number = machine.numbers[name] if isinstance(name, str) else name
        return answer(program, number, arguments, audit=audit)

    return ask_filter


def test_numbers_are_those_of_libseccomp(machine):
    """Every number in the tables is what libseccomp calls by that name."""
    pyseccomp = pytest.importorskip("pyseccomp", reason="libseccomp is not here to compare with")
    arch = {"x86_64": pyseccomp.Arch.X86_64, "aarch64": pyseccomp.Arch.AARCH64}[machine.name]
    wrong = {
        name: number for name, number in machine.numbers.items() if pyseccomp.resolve_syscall(arch, name) != number
    }
    assert wrong == {}


def test_only_listed_calls_pass(ask, machine):
    """Of all numbers up to 1,024, exactly the listed ones are allowed with all arguments zero."""
    names = {number: name for name, number in machine.numbers.items()}
    allowed = {names.get(number, number) for number in range(1024) if ask(number) == ALLOW}
    zero_is_fine = {"fcntl", "prlimit64", "madvise", "mmap", "mprotect"}
    expected = ({*PLAIN, *ATTRIBUTES} | zero_is_fine) & machine.numbers.keys()
    assert allowed == expected
    absent = {names[number] for number in range(1024) if ask(number) == refusal(errno.ENOSYS)}
    assert absent == set(ABSENT)


def test_no_socket_process_mount_or_trace_call_is_listed():
    """What must never be added by mistake."""
    forbidden = {
        *("socket", "socketpair", "connect", "bind", "sendto", "sendmsg", "recvmsg", "accept4"),
        *("fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "pidfd_open", "pidfd_getfd"),
        *("mount", "umount2", "pivot_root", "open_tree", "move_mount", "mount_setattr", "fsopen", "chroot"),
        *("unshare", "setns", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "seccomp"),
        *("io_uring_enter", "shmget", "msgget", "semget", "mq_open", "memfd_secret", "open_by_handle_at"),
        *("setuid", "setresuid", "setgroups", "capset", "chown", "fchown", "fchownat", "lchown", "mknod", "mknodat"),
        *("setxattr", "fsetxattr", "lsetxattr", "flock", "personality", "modify_ldt", "iopl", "kexec_load"),
    }
    assert forbidden.isdisjoint({*PLAIN, *ATTRIBUTES, *BY_ARGUMENT})


@pytest.mark.parametrize("audit", [0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0])
def test_another_architecture_is_killed(ask, machine, audit):
    """A 32-bit entry would bypass a filter written for 64 bits."""
    for number in range(600):
        assert ask(number, audit=audit) == KILL or audit == machine.audit


def test_the_second_abi_of_x86_64_is_killed():
    """x32 numbers reach the same calls by other numbers."""
    machine = MACHINES["x86_64"]
    program = build_filter(machine, process_id=1, allows_attributes=True)
    assert all(answer(program, 0x40000000 | number, audit=machine.audit) == KILL for number in range(600))


def test_clone_makes_threads_and_nothing_else(ask):
    """Flags of a thread pass; a process, or any new namespace beside, does not."""
    assert ask("clone", THREAD) == ALLOW
    assert ask("clone", 17) == DENIED  # fork as of glibc: SIGCHLD
    assert ask("clone", THREAD & ~0x10000) == DENIED
    for flag in (0x80, 0x2000, 0x4000, 0x8000, 0x20000, *(1 << bit for bit in range(25, 31))):
        assert ask("clone", THREAD | flag) == DENIED


def test_memory_is_never_executable_nor_shared_and_anonymous(ask):
    """A file's pages may be executable; anonymous ones not. Shared anonymous memory would escape the limit."""
    private, shared, anonymous = 2, 1, 0x20
    assert ask("mmap", 0, 4096, 3, private | anonymous) == ALLOW
    assert ask("mmap", 0, 4096, 5, private) == ALLOW
    assert ask("mmap", 0, 4096, 7, private | anonymous) == DENIED
    assert ask("mmap", 0, 4096, 3, shared | anonymous) == DENIED
    assert ask("mmap", 0, 4096, 3, 3 | anonymous) == DENIED
    assert ask("mprotect", 0, 4096, 3) == ALLOW
    assert ask("mprotect", 0, 4096, 5) == DENIED


def test_signals_reach_only_the_cell_itself(ask):
    """By number 1, its own; not a group, not all, not another."""
    for name in ("kill", "tgkill"):
        assert ask(name, 1, 1, 9) == ALLOW
        for target in (0, 2, -1, -2, 12345):
            assert ask(name, target, 1, 9) == DENIED


def test_limits_can_be_read_and_not_set(ask):
    """One's own. A pointer to new limits is refused whichever of its halves is not null."""
    assert ask("prlimit64", 0, 7, 0, 1 << 40) == ALLOW
    for pointer in (1, 1 << 32, (1 << 63) + 1):
        assert ask("prlimit64", 0, 7, pointer, 0) == DENIED
    assert ask("prlimit64", 1, 7, 0, 1 << 40) == ALLOW
    assert ask("prlimit64", 12345, 7, 0, 1 << 40) == DENIED


def test_control_calls_pass_by_value(ask):
    """fcntl, ioctl, prctl and madvise: the harmless ones."""
    assert ask("fcntl", 0, 1030) == ALLOW
    for command in (8, 10, 1024, 1025, 1026, 1031, 1033):  # SETOWN, SETSIG, leases, NOTIFY, SETPIPE_SZ, ADD_SEALS
        assert ask("fcntl", 0, command) == DENIED
    assert ask("ioctl", 1, 0x5413) == ALLOW
    assert ask("ioctl", 1, 0x5412) == refusal(errno.ENOTTY)  # TIOCSTI: typing for the user
    assert ask("prctl", 15) == ALLOW
    for option in (1, 2, 4, 8, 22, 23, 24, 28, 36, 38, 47):
        assert ask("prctl", option) == DENIED
    assert ask("madvise", 0, 4096, 4) == ALLOW
    for advice in (12, 100, 101):
        assert ask("madvise", 0, 4096, advice) == refusal(errno.EINVAL)


def test_attributes_are_refused_where_files_are_the_hosts(machine):
    """Without a read-only mount, chmod and utime would reach the blob itself: Landlock does not cover them."""
    program = build_filter(machine, process_id=77, allows_attributes=False)
    for name in ATTRIBUTES:
        if name in machine.numbers:
            assert answer(program, machine.numbers[name], audit=machine.audit) == DENIED
    assert answer(program, machine.numbers["kill"], (77, 0), audit=machine.audit) == ALLOW
