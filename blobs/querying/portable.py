"""The smaller Python of hosts that give no cell: whether it is installed, and what is in it. Loads nothing."""

from importlib import metadata

PACKAGE = "pydantic-monty"
EXTRA = "agent-blobs[portable]"

MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools"),
    *("hashlib", "itertools", "json", "math", "random", "re", "time", "typing", "unicodedata"),
)
"""What a program can import in it; of some only a part is there."""


def version() -> str:
    """The version that is installed; empty where there is none."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return ""
