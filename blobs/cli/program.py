"""The program `blobs`: its commands, and what becomes of their errors."""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NoReturn

from blobs.cli import about, asking, demo, inspecting, keeping, keys, scrubbing, storing
from blobs.cli.options import common
from blobs.cli.screen import tell_fault, warn
from blobs.domain.errors import BlobsError, CallerError
from blobs.settings import is_debugging

COMMANDS_GROUP = "blobs.commands"
"""Entry points of this group add commands: each is a function `register(subparsers)` that adds a parser with
`set_defaults(run=...)`, a function of the parsed arguments that answers the exit code."""

INTERRUPTED = 130
"""What a shell calls a command that Ctrl-C ended."""

_ABOUT = "Keeps large tool results whole, and lets a model read, search and compute over them in bounded answers."
_EXIT_CODES = (
    "exit codes: 0 done, 1 internal error, 2 the caller's fault, 3 not found, 4 over a limit, 5 unreadable, "
    "6 the store, 7 the sandbox"
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose faults are errors like any other."""

    def error(self, message: str) -> NoReturn:
        """Raise `CallerError` instead of printing the usage."""
        raise CallerError(f"{message[:1].upper()}{message[1:]}.", hint=f"See `{self.prog} --help`.")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; no error leaves it."""
    _quiet_logs()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered goes nowhere, instead of failing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BlobsError as error:
        tell_fault(error)
        _trace()
        return error.exit_code
    except Exception as error:  # noqa: BLE001  # the door to the outside: no traceback for users
        warn(f"internal error ({type(error).__name__}). Set BLOBS_DEBUG=1 to see where.")
        _trace()
        return BlobsError.exit_code
    return code


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    args = parser().parse_args(given)
    command: Callable[[argparse.Namespace], int] = args.run
    return command(args)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = Parser(prog="blobs", description=_ABOUT, epilog=_EXIT_CODES, parents=[common()])
    top.add_argument("--version", action=_Version, nargs=0, help="show the version")
    subparsers = top.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for built_in in (inspecting, storing, asking, keeping, scrubbing, keys, about, demo):
        built_in.register(subparsers)
    for entry_point in sorted(metadata.entry_points(group=COMMANDS_GROUP), key=lambda each: each.name):
        _plug_in(subparsers, entry_point)
    return top


def _plug_in(subparsers: Any, entry_point: metadata.EntryPoint) -> None:
    """Add the commands of an entry point; one that is broken says so when it is called, and stops no other."""
    try:
        entry_point.load()(subparsers)
    except Exception as error:  # noqa: BLE001  # the plug-in door: somebody else's code may do anything
        problem = CallerError(f"The command {entry_point.name!r} cannot be loaded: {type(error).__name__}: {error}.")

        def refuse(_args: argparse.Namespace) -> NoReturn:
            raise problem

        if entry_point.name not in subparsers.choices:
            # No prefix means no flags: whatever follows is taken, and the cause is told instead.
            broken = subparsers.add_parser(entry_point.name, help="cannot be loaded", add_help=False, prefix_chars="\0")
            broken.add_argument("rest", nargs="*")
            broken.set_defaults(run=refuse)


class _Version(argparse.Action):
    """Prints the installed version and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        """As argparse calls it."""
        print(f"agent-blobs {metadata.version('agent-blobs')}")
        parser.exit()


def _quiet_logs() -> None:
    """Keep the library's log off the terminal, where it would be taken for the answer."""
    log = logging.getLogger("blobs")
    if is_debugging():
        logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
    elif not log.handlers:
        log.addHandler(logging.NullHandler())
        log.propagate = False


def _trace() -> None:
    if is_debugging():
        traceback.print_exc()
