"""What a table was measured on: the machine, and the versions of what stands in it."""

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.bench import program, run

_PACKAGES = ("duckdb", "pyarrow", "google-re2", "msgspec", "tiktoken")
_PROGRAMS = {"rg": "--version", "jq": "--version", "redis-server": "--version", "nginx": "-v", "sed": "--version"}


def facts() -> dict[str, str]:
    """Of this machine, by name."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    memory = Path("/proc/meminfo").read_text().split("\n", 1)[0].split(":")[1].strip()
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.processor(),
        "cores": str(os.cpu_count()),
        "memory": memory,
        "system": platform.platform(),
        "python": sys.version.split()[0],
        **{name: version(name) for name in _PACKAGES},
        **{name: _version(name, flag) for name, flag in _PROGRAMS.items()},
    }


def _version(name: str, flag: str) -> str:
    found = program(name)
    if found is None:
        return "not installed"
    words = run(found, flag, with_errors=True).decode().split("\n")[0].replace("=", " ").replace("/", " ").split()
    return next((word.removeprefix("jq-") for word in words if any(each.isdigit() for each in word)), "?")
