"""A disk that loses power while blobs are stored.

A killed process loses nothing that it handed to the kernel; only a file system that is cut off shows whether it was
flushed. Needs root, a loop device and ext4.
"""

import fcntl
import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from tests.crash.test_writers import check, start_writer

EXT4_IOC_SHUTDOWN = 0x8004587D
"""_IOR('X', 125, __u32) of fs/ext4/ext4.h."""

WITHOUT_LOG_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH: what is in no journal yet is lost, as when the power goes."""


class Disk:
    """A file system in a file, which can be cut off and brought back."""

    def __init__(self, folder: Path, image: Path) -> None:
        self.folder = folder
        self._image = image
        self._cuts = 0

    def mount(self) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["mount", "-o", "loop", str(self._image), str(self.folder)], capture_output=True, text=True, check=False
        )

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def cut(self) -> None:
        """From here on nothing reaches the disk."""
        file = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(file, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
        os.close(file)

    def restore(self) -> None:
        """Start again from what had reached the disk; from a copy, lest the kernel still knows the file system."""
        self.unmount()
        self._cuts += 1
        copy = self._image.with_suffix(f".{self._cuts}")
        subprocess.run(["cp", "--sparse=always", str(self._image), str(copy)], check=True)
        self._image.unlink()
        self._image = copy
        self.mount().check_returncode()


@pytest.fixture
def disk(tmp_path):
    folder, image = tmp_path / "disk", tmp_path / "image"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("NOT TESTED: a power cut needs root and mkfs.ext4")
    with image.open("wb") as file:
        file.truncate(512 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    disk = Disk(folder, image)
    if (mounted := disk.mount()).returncode != 0:
        pytest.skip(f"NOT TESTED: a power cut needs a loop device: {mounted.stderr.strip()}")
    yield disk
    disk.unmount()


def test_a_power_cut_loses_nothing_that_was_acknowledged(disk):
    """Five times the power goes while two processes write; what they had acknowledged before is whole and named."""
    store, acknowledged = disk.folder / "store", []
    for number in range(5):
        writers = [start_writer(store, f"writer {number} {each}", 1000) for each in range(2)]
        for _ in range(10 + 5 * number):
            acknowledged += [each.stdout.readline() for each in writers]
        disk.cut()
        for each in writers:
            each.send_signal(signal.SIGKILL)
            each.communicate()
        disk.restore()
        check(store, acknowledged)
    assert len(acknowledged) == 200
