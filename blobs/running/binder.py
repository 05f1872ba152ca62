"""The binder: turns a host path into a detached, read-only mount of just that file, for a cell to attach.

It lives where the host's mounts are seen, outside of every cell, and serves the host alone. A mount that is passed as a
descriptor is all that a cell ever gets: no folder of the host, no path, no way to the file beside it.
"""

import errno
import json
import os
import socket
import stat

from blobs.running import kernel

_READ_ONLY_FILE = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV | kernel.ATTR_NOEXEC
REQUEST_BYTES_MAX = 1 << 17


def serve(requests: socket.socket, user_namespace: int | None) -> None:
    """Answer requests until the host is gone. A request is a JSON list of paths; the answer a JSON list of problems.

    With no problem the mounts come along in order. The problem EACCES says that the cell's user could not open the
    file, and the host must offer a copy. `user_namespace` is the cell's where files are root's: mounts are
    then seen through it, so that a file of mode 600 need not be opened to the world.
    """
    while message := _received(requests):
        mounts: list[int] = []
        problems = []
        for path in json.loads(message):
            try:
                mounts.append(_bind(path, user_namespace))
            except OSError as error:
                problems.append({"path": path, "number": error.errno or 0, "problem": error.strerror or str(error)})
        try:
            socket.send_fds(requests, [json.dumps(problems).encode()], [] if problems else mounts)
        except ConnectionError:
            return
        finally:
            for descriptor in mounts:
                os.close(descriptor)


def _received(requests: socket.socket) -> bytes:
    try:
        return requests.recv(REQUEST_BYTES_MAX)
    except ConnectionError:
        return b""


def _bind(path: str, user_namespace: int | None) -> int:
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        mount = kernel.clone_mount(file)
    finally:
        os.close(file)
    try:
        owns_roots_files = _restrict(mount, user_namespace)
        if not _is_readable(status, owns_roots_files=owns_roots_files):
            raise PermissionError(errno.EACCES, "not readable in a cell")
    except OSError:
        os.close(mount)
        raise
    return mount


def _restrict(mount: int, user_namespace: int | None) -> bool:
    """Make the mount read-only; answers whether the cell's user is the owner of root's files in it."""
    if user_namespace is None:
        kernel.change_mount(mount, _READ_ONLY_FILE)
        return True  # an unprivileged host: in the namespace it shares with its cells, its own files are root's
    try:
        kernel.change_mount(mount, _READ_ONLY_FILE | kernel.ATTR_IDMAP, user_namespace=user_namespace)
    except OSError:  # a file system that cannot: overlay, network
        kernel.change_mount(mount, _READ_ONLY_FILE)
        return False
    return True


def _is_readable(status: os.stat_result, *, owns_roots_files: bool) -> bool:
    if owns_roots_files and status.st_uid == 0:
        return bool(status.st_mode & stat.S_IRUSR)
    return bool(status.st_mode & stat.S_IROTH)
