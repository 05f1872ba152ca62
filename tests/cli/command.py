"""The real command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of its user, so that a test sees the defaults."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
    return {**kept, **more}


def blobs(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `blobs` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "blobs.cli", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=100,
        check=False,
    )
