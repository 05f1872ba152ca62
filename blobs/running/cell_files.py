"""The files of a job on their way into a cell: each becomes a descriptor that shows this file and nothing else."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from blobs.domain.errors import NotFoundError, SandboxError
from blobs.running.runner import CellFile
from blobs.running.zygote_process import ZygoteProcess


@contextlib.contextmanager
def opened_files(zygote: ZygoteProcess, files: Sequence[CellFile]) -> Iterator[list[int]]:
    """Descriptors to pass to a worker, in order: mounts where there are namespaces, otherwise files open for reading.

    The cell runs as another user than a root host. A file that this user could not read, on a file system that cannot
    pretend otherwise, is given as a copy, which is there until the call is over: a file without a name cannot be
    mounted. Raises `NotFoundError` for a file that is gone and `SandboxError` for one that cannot be given. Whoever
    takes the descriptors closes them.
    """
    with contextlib.ExitStack() as copies:
        if zygote.plan.layers.namespaces:
            yield _bound(zygote, [file.path for file in files], copies)
        else:
            yield _opened([file.path for file in files], zygote.facts["user"], copies)


def _bound(zygote: ZygoteProcess, paths: Sequence[Path], copies: contextlib.ExitStack) -> list[int]:
    while True:
        try:
            return zygote.bind(paths)
        except PermissionError as error:
            unreadable = Path(error.filename)
            if unreadable not in {path.absolute() for path in paths}:
                raise SandboxError(f"The file {unreadable.name} cannot be given to a cell.") from None
            copy = copies.enter_context(_readable_copy(unreadable))
            paths = [copy if path.absolute() == unreadable else path for path in paths]


def _opened(paths: Sequence[Path], user: int, copies: contextlib.ExitStack) -> list[int]:
    descriptors: list[int] = []
    try:
        for path in paths:
            descriptors.append(_open_regular(path))
            if not _is_readable(os.fstat(descriptors[-1]), user):
                os.close(descriptors.pop())
                descriptors.append(_open_regular(copies.enter_context(_readable_copy(path))))
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


def _is_readable(status: os.stat_result, user: int) -> bool:
    """Whether a process of this user and no group may open the file. An unprivileged host is that user itself."""
    if os.geteuid() != 0:
        return True
    return bool(status.st_mode & (stat.S_IRUSR if status.st_uid == user else stat.S_IROTH))


def _open_regular(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFoundError(f"The file {path.name} is gone.") from None
    except OSError as error:
        raise SandboxError(f"The file {path.name} cannot be given to a cell: {error.strerror}.") from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise SandboxError(f"The file {path.name} cannot be given to a cell: not a regular file.")


@contextlib.contextmanager
def _readable_copy(path: Path) -> Iterator[Path]:
    """A copy that everybody may read, in a folder that only the host may enter."""
    with tempfile.TemporaryDirectory(prefix="blobs-cell-") as folder:
        copy = Path(folder, "copy")
        try:
            shutil.copyfile(path, copy)
            copy.chmod(0o444)
        except FileNotFoundError:
            raise NotFoundError(f"The file {path.name} is gone.") from None
        except OSError as error:
            raise SandboxError(f"The file {path.name} cannot be given to a cell: {error.strerror}.") from None
        yield copy
