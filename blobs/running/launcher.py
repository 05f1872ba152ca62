"""The launcher: a fresh interpreter that becomes binder and zygote: `python -s -P -B -c START CONTROL BINDING PATH…`.

With namespaces it forks: the parent stays where the host's files are and binds them (`blobs.running.binder`), the child
leaves for the namespaces, and its child is process 1 there. Without, it is the zygote itself.
"""

import contextlib
import os
import socket
from typing import NoReturn

from blobs.running import binder, kernel, namespaces, zygote
from blobs.running.confinement import Confinement
from blobs.running.plan import Plan

START = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from blobs.running.launcher import launch; launch(int(sys.argv[1]), int(sys.argv[2]))"
)
PLAN_BYTES_MAX = 1 << 17


def launch(control_descriptor: int, binding_descriptor: int) -> NoReturn:
    """Serve the host at the other end of the two sockets. Never returns."""
    control = socket.socket(fileno=control_descriptor)
    binding = socket.socket(fileno=binding_descriptor)
    plan = Plan.load(control.recv(PLAN_BYTES_MAX))
    try:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        confinement = Confinement(plan)
        processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        if plan.layers.namespaces:
            _split(plan, control, binding, processes)
        elif plan.layers.is_sandbox:
            _become_ordinary(plan)
    except Exception as error:  # noqa: BLE001 (the host must hear of it, whatever it is)
        zygote.fail(control, error)
    binding.close()
    zygote.run(plan, control, confinement, processes)


def _split(plan: Plan, control: socket.socket, binding: socket.socket, processes: int) -> None:
    """Fork into binder and zygote; returns in the latter, as process 1 of the cell's namespaces.

    `processes` is the host's /proc: it stays open, because there is none inside.
    """
    was_privileged = namespaces.is_privileged()
    if not was_privileged:
        namespaces.give_up_root()
        namespaces.follow_host_mounts(processes=processes)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        control.close()
        there.close()
        _, descriptors, _, _ = socket.recv_fds(here, 1, 1)
        here.close()
        os.wait()  # the process between, which has made the zygote by now
        if descriptors:
            binder.serve(binding, descriptors[0] if was_privileged else None)
        with contextlib.suppress(ChildProcessError):
            os.wait()  # when the zygote has ended, all of its namespace has: the host may count on it
        os._exit(0)
    binding.close()
    here.close()
    namespaces.enter_cell(plan, was_privileged=was_privileged, processes=processes)
    user_namespace = os.open("self/ns/user", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    socket.send_fds(there, [b"U"], [user_namespace])
    os.close(user_namespace)
    there.close()
    if os.fork():
        os._exit(0)


def _become_ordinary(plan: Plan) -> None:
    """Without namespaces: be no root, if the libraries can still be read then."""
    namespaces.give_up_root(keeps_setuid=True)
    hidden = [path for path in plan.visible_paths if not os.access(path, os.R_OK)]
    if hidden:
        raise RuntimeError(f"an unprivileged user cannot read {hidden[0]}")
