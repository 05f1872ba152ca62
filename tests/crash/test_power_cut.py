"""A disk that loses power while blobs are stored.

A killed process loses nothing that it handed to the kernel; only a file system that is cut off shows whether it was
flushed. Needs root, loop devices, and ext4 and XFS with their `mkfs`. `BLOBS_POWER_CUTS` is how often the power goes on
each file system (5); the long run is 50.
"""

import fcntl
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from blobs.domain.errors import BlobsError
from tests.crash.test_writers import check, start_writer

CUTS = int(os.environ.get("BLOBS_POWER_CUTS", "5"))

IOC_SHUTDOWN = 0x8004587D
"""_IOR('X', 125, __u32): EXT4_IOC_SHUTDOWN of fs/ext4/ext4.h and XFS_IOC_GOINGDOWN of fs/xfs/libxfs/xfs_fs.h."""

WITHOUT_LOG_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH, XFS_FSOP_GOING_FLAGS_NOLOGFLUSH: what is in no log yet is lost, as without power."""

FORMATS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
MOUNT_OPTIONS = {"ext4": "loop", "xfs": "loop,nouuid"}
"""XFS mounts no copy of a file system that the kernel still knows."""

DISK_BYTES = 8 * 1024**3
"""Mostly a hole in the image."""


class Disk:
    """A file system in a file, which can be cut off and brought back."""

    def __init__(self, folder: Path, image: Path, options: str) -> None:
        self.folder = folder
        self._image = image
        self._options = options
        self._cuts = 0

    def mount(self) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["mount", "-o", self._options, str(self._image), str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
        )

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def cut(self) -> None:
        """From here on nothing reaches the disk."""
        file = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(file, IOC_SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
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


@pytest.fixture(params=FORMATS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder, image = tmp_path / "disk", tmp_path / "image"
    folder.mkdir()
    command = FORMATS[request.param]
    if os.geteuid() != 0 or shutil.which(command[0]) is None:
        pytest.skip(f"NOT TESTED: a power cut needs root and {command[0]}")
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run([*command, str(image)], check=True)
    disk = Disk(folder, image, MOUNT_OPTIONS[request.param])
    if (mounted := disk.mount()).returncode != 0:
        pytest.skip(f"NOT TESTED: a power cut needs a loop device and {request.param}: {mounted.stderr.strip()}")
    yield disk
    disk.unmount()


def write_until_cut(disk: Disk, number: int, *manner: str) -> list[str]:
    """Two processes write; at a moment of its own the power goes. Answers what they had acknowledged before."""
    writers = [start_writer(disk.folder / "store", f"writer {number} {each}", 1000, *manner) for each in range(2)]
    rounds = Random(number).randint(5, 30)
    acknowledged = [each.stdout.readline() for _ in range(rounds) for each in writers]
    disk.cut()
    for each in writers:
        each.send_signal(signal.SIGKILL)
        each.communicate()
    disk.restore()
    return acknowledged


@pytest.mark.timeout(1800)
def test_a_power_cut_loses_nothing_that_was_acknowledged(disk):
    """Time and again the power goes while two processes write; what they had acknowledged is whole and named."""
    acknowledged = []
    for number in range(CUTS):
        acknowledged += write_until_cut(disk, number)
        check(disk.folder / "store", acknowledged)
    assert len(acknowledged) >= 10 * CUTS


def test_a_store_that_does_not_flush_is_found_out(disk):
    """Negative control: with the flushes of bytes left out, the same check finds blobs that are lost or torn."""
    acknowledged = write_until_cut(disk, 0, "careless")
    with pytest.raises((BlobsError, AssertionError)):
        check(disk.folder / "store", acknowledged)
