"""Landlock: which files a cell may still open. Every right the kernel knows is handled: what has no rule is denied."""

import os
import stat
import struct
from collections.abc import Iterable

from blobs.running import kernel

# Bits of LANDLOCK_ACCESS_FS_* (linux/landlock.h).
_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG, _MAKE_SYM, _REFER, _TRUNCATE = 1 << 7, 1 << 8, 1 << 12, 1 << 13, 1 << 14

READ_FILE = _READ_FILE
READ = _READ_FILE | _READ_DIR
READ_AND_WRITE_FILE = _READ_FILE | _WRITE_FILE
SCRATCH = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE

_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
_FS_BITS_NOW = 16
_NET_BITS = 0b11
"""Binding and connecting TCP, from version 4."""
_SCOPE_BITS = 0b11
"""Abstract sockets and signals, from version 6."""

ABI_MIN = 1
ABI_MIN_ALONE = 3
"""Without mounts Landlock must hold by itself: before version 3 it does not see `truncate`."""

Rule = tuple[int, int]
"""An open descriptor and the rights beneath it."""


def reading_rule(path: str) -> Rule:
    """Allow reading a file, or all of a directory. The descriptor stays open."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    return descriptor, READ if stat.S_ISDIR(os.fstat(descriptor).st_mode) else READ_FILE


def restrict(rules: Iterable[Rule], *, abi: int) -> None:
    """Deny this thread every file right without a rule; as far as `abi` goes also TCP and signals to others."""
    handled = (1 << _FS_BITS.get(abi, _FS_BITS_NOW)) - 1
    attributes = struct.pack("=QQQ", handled, _NET_BITS if abi >= 4 else 0, _SCOPE_BITS if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = kernel.landlock_ruleset(attributes[:size])
    for descriptor, access in rules:
        kernel.landlock_allow(ruleset, descriptor, access & handled)
    kernel.landlock_enforce(ruleset)
    os.close(ruleset)
