"""Namespaces and the root a cell sees: empty, but for read-only binds of libraries.

All mount points are made in a fresh file system before any untrusted content exists, so no link can lead one astray.
"""

import os
from pathlib import Path

from blobs.running import kernel
from blobs.running.plan import CELL_USER, SCRATCH_BYTES, SCRATCH_FILES, WORKER_USERS, Plan

DEVICES = ("null", "zero", "urandom", "random")

_READ_ONLY = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
_READ_ONLY_DEVICE = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NOEXEC
"""A device can be written to also through a read-only mount, but its times and mode cannot be changed."""
_PLAIN_FILES = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
_ALL_BUT_USER = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)


def is_privileged() -> bool:
    """Whether this process may mount, and become the cell's user, without a user namespace.

    Root of a container may lack the capabilities, and root of a user namespace the user.
    """
    return kernel.has_capabilities(kernel.CAP_SYS_ADMIN, kernel.CAP_SETUID) and _is_known(CELL_USER)


def give_up_root(*, keeps_setuid: bool = False) -> None:
    """Become the cell's user if this is root. Root of a user namespace is an ordinary user already, and stays.

    With `keeps_setuid` workers may then `take_account`, with which they give up that right too. Raises `RuntimeError`
    for real root that may not change: the limit of threads does not hold for it.
    """
    if os.getuid() != 0:
        return
    if kernel.has_capabilities(kernel.CAP_SETUID) and _is_known(CELL_USER):
        become(CELL_USER, keeps_setuid=keeps_setuid)
    elif _mappings()[0][:2] == (0, 0):
        raise RuntimeError("root without the right to become another user cannot run cells")


def take_account() -> bool:
    """In a worker: become a user that no other process is, so that the kernel counts this worker's threads alone.

    Answers whether that was possible. Two workers that draw the same number share one account: each may then have
    less, never more.
    """
    if not kernel.has_capabilities(kernel.CAP_SETUID) or not all(map(_is_known, (WORKER_USERS[0], WORKER_USERS[-1]))):
        return False
    user = WORKER_USERS[int.from_bytes(os.urandom(8)) % len(WORKER_USERS)]
    # The third, which the filter keeps out of reach, stays the zygote's: by it the kernel allows the signal of its end.
    os.setresuid(user, user, CELL_USER)
    kernel.hold_capabilities()
    return True


def _is_known(user: int) -> bool:
    """Whether the user namespace of this process has such a user."""
    return any(first <= user < first + count for first, _, count in _mappings())


def _mappings() -> list[tuple[int, int, int]]:
    """The users of this namespace: first here, first outside, how many."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    return [(int(first), int(outside), int(count)) for first, outside, count in map(str.split, lines)]


def enter_user_namespace(user: int, group: int, *, processes: int) -> None:
    """Become root of a new user namespace in which nobody exists but this user. `processes` is an open /proc."""
    kernel.unshare(kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("gid_map", f"0 {group} 1"), ("uid_map", f"0 {user} 1")):
        descriptor = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def follow_host_mounts(*, processes: int) -> None:
    """Enter, as an unprivileged user, namespaces in which files can be bound and the host's new mounts still appear."""
    enter_user_namespace(os.getuid(), os.getgid(), processes=processes)
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_SLAVE)


def enter_cell(plan: Plan, *, was_privileged: bool, processes: int) -> None:
    """Enter every namespace and the cell's root; root gives itself up for good. The next child is process 1 inside.

    Root builds the tree first, as itself: afterwards, as another user, it could not walk to libraries in its home. Its
    mounts are then locked by the user namespace. The pid namespace must belong to that user namespace, or the zygote
    could not go back to it after making a worker's. There is no /proc inside: it tells where things lie on the host.
    """
    if was_privileged:
        kernel.unshare(kernel.CLONE_NEWNS)
        _build_root(plan)
        become(CELL_USER)
        enter_user_namespace(CELL_USER, CELL_USER, processes=processes)
        kernel.unshare(_ALL_BUT_USER)
    else:
        kernel.unshare(_ALL_BUT_USER)
        _build_root(plan)
    kernel.set_host_name(b"cell")
    # For libraries that write when they are imported; every worker covers it with its own.
    mount_scratch(plan.scratch, size=SCRATCH_BYTES, files=SCRATCH_FILES)


def become(user: int, *, keeps_setuid: bool = False) -> None:
    """Change to an unprivileged user without any group; with no right left, or only that to change again."""
    os.setgroups([])
    os.setresgid(user, user, user)
    kernel.prctl(kernel.PR_SET_KEEPCAPS, int(keeps_setuid))
    os.setresuid(user, user, user)
    if keeps_setuid:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 0)
        kernel.hold_capabilities(kernel.CAP_SETUID)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # the change cleared it, and /proc/self became root's


def mount_scratch(path: str, *, size: int, files: int) -> None:
    """An empty file system in memory, of at most `size` bytes."""
    kernel.mount("scratch", path, "tmpfs", _PLAIN_FILES, f"size={size},nr_inodes={files},mode=700")


def make_read_only(path: str) -> None:
    """Make one mount read-only."""
    kernel.mount(None, path, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _PLAIN_FILES)


def _build_root(plan: Plan) -> None:
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    links = {path: str(Path(path).readlink()) for path in plan.visible_paths if Path(path).is_symlink()}
    trees = {path: kernel.clone_mount(path, is_recursive=True) for path in plan.visible_paths if path not in links}
    devices = {f"/dev/{name}": kernel.clone_mount(f"/dev/{name}") for name in DEVICES}
    folders = {path for path in trees if Path(path).is_dir()}

    root = Path("/tmp" if Path("/tmp").is_dir() else "/mnt")  # noqa: S108 (only a place to mount on)
    kernel.mount("cell", str(root), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")
    os.umask(0o022)
    for path, target in links.items():
        place = Path(f"{root}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    for path, descriptor in trees.items():
        kernel.change_mount(descriptor, _READ_ONLY, is_recursive=True)
        kernel.attach_mount(descriptor, _mount_point(root, path, is_folder=path in folders))
    for path, descriptor in devices.items():
        kernel.change_mount(descriptor, _READ_ONLY_DEVICE)
        kernel.attach_mount(descriptor, _mount_point(root, path, is_folder=False))
    for path in ("/proc", "/blobs", "/etc", "/.old", plan.scratch, "/tmp"):  # noqa: S108 (the cell's own)
        _mount_point(root, path, is_folder=True)
    Path(f"{root}/etc/passwd").write_text(f"cell:x:65534:65534::{plan.scratch}:/\n")
    _promise_memory(root)

    os.chdir(root)
    kernel.pivot_root(".", ".old")
    os.chdir("/")
    kernel.unmount("/.old")
    Path("/.old").rmdir()
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(None, "/", None, flags)


def _promise_memory(root: Path) -> None:
    """Say that memory may be asked for before it is there, in the one file that jemalloc reads at its start.

    Without it jemalloc reserves addresses and maps memory over them later, which RLIMIT_DATA does not see (measured:
    a list of 800 MB in a DuckDB that may have 512 MB). As it is, DuckDB is refused and says so.
    """
    place = Path(f"{root}/proc/sys/vm")
    place.mkdir(parents=True)
    (place / "overcommit_memory").write_text("1\n")


def _mount_point(root: Path, path: str, *, is_folder: bool) -> str:
    place = Path(f"{root}{path}")
    (place if is_folder else place.parent).mkdir(parents=True, exist_ok=True)
    if not is_folder:
        place.touch()
    return str(place)
