"""The command line: what a person types, over the front door."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answers its exit code. `arguments` are those of the process where none are given."""
    from blobs.cli.program import run

    return run(arguments)
