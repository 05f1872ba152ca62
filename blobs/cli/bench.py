"""A throw-away conversation over targets: they are named in their order, asked about, and forgotten."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from blobs.cli.options import is_store_named, patient, require_store, settings_of
from blobs.cli.screen import progress
from blobs.cli.targets import (
    TARGETS_HELP,
    ConversationTarget,
    DigestTarget,
    DumpTarget,
    FileTarget,
    InputTarget,
    Target,
    is_in_store,
    parse_target,
    size_of,
)
from blobs.client import Blobs, Conversation
from blobs.conversations.naming import Names
from blobs.domain.errors import BlobsError, CallerError, NotFoundError, UnreadableError
from blobs.domain.media_type import BINARY
from blobs.domain.reference import Reference
from blobs.settings import Settings
from blobs.wiring import build, has_store

MEMORY_BYTES_MAX = 32 * 1024 * 1024
"""Larger files without a store go through a temporary folder instead of memory."""

_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answered:
    """What a tool answered: its JSON, the exit code that says the same, and the result's blob if it is one."""

    answer: dict[str, Any]
    exit_code: int
    blob: Reference | None


class Bench:
    """Blobs under the names `blob1`, `blob2` …, and the three tools over them. Nothing of it is recorded."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._desk = blobs.service.desk(blobs.tenant_name)
        self._names = Names([], turn=None)

    def lay(self, reference: Reference) -> str:
        """Name a stored blob; the same blob keeps its name."""
        placed = self._desk.offloader.placed(reference)
        return str(self._names.handle(placed, None)["blob"])

    def ask(self, tool: str, arguments: dict[str, Any]) -> Answered:
        """Run one of the three tools."""
        called = self._desk.run_tool(tool, arguments, self._names)
        answer = self._desk.say(called, self._names)
        return Answered(answer, _exit_code(called.answer.fault), called.blob.reference if called.blob else None)


def _exit_code(fault: BlobsError | None) -> int:
    """Of a fault that was an answer. A reader's own complaint has come through a cell, where only its code survives."""
    if fault is None:
        return 0
    return UnreadableError.exit_code if fault.code == UnreadableError.code else fault.exit_code


@contextmanager
def opened(
    args: argparse.Namespace, texts: Sequence[str], *, keeps: bool = True
) -> Iterator[tuple[Blobs, list[Target]]]:
    """The store that these targets need, and the targets.

    Files and standard input without a named store go through a store that ends with the command; so they do where
    nothing is to be kept. A store that a target must lie in has to be there: `NotFoundError` where it is not.
    """
    targets = [parse_target(text) for text in texts]
    if targets.count(InputTarget()) > 1:
        raise CallerError("Standard input can be read once only.", hint="Name - once.")
    settings = patient(settings_of(args))
    with ExitStack() as stack:
        if any(is_in_store(target) for target in targets):
            chosen = _store_of(targets, settings)
        elif keeps and is_store_named(args, settings):
            chosen = settings
        else:
            chosen = replace(settings, store=_scratch(targets, stack))
        yield stack.enter_context(Blobs(build(chosen), is_exact=True)), targets


def _store_of(targets: Sequence[Target], settings: Settings) -> Settings:
    word = next((target.id for target in targets if isinstance(target, ConversationTarget)), None)
    if word is None or has_store(settings):
        return require_store(settings)
    raise NotFoundError(
        f"There is no file {word!r}, and no store in {settings.store} that could have a conversation of that name.",
        hint=TARGETS_HELP,
    )


def conversation_of(blobs: Blobs, identity: str) -> Conversation:
    """The conversation that a word names; `NotFoundError` where it is no file either."""
    try:
        return blobs.find_conversation(identity)
    except NotFoundError:
        raise NotFoundError(f"There is no file and no conversation {identity!r}.", hint=TARGETS_HELP) from None


def _scratch(targets: Sequence[Target], stack: ExitStack) -> str:
    """A store for what leaves nothing behind: memory, or a temporary folder for what is large or of unknown size."""
    sizes = [size_of(target) for target in targets]
    if None not in sizes and sum(filter(None, sizes)) <= MEMORY_BYTES_MAX:
        return ":memory:"
    return stack.enter_context(TemporaryDirectory(prefix="blobs-", ignore_cleanup_errors=True))


def references(blobs: Blobs, target: Target, *, declared: str | None = None) -> list[Reference]:
    """The blobs of a target: one, or all of a conversation in the order of their names. Files are stored for it."""
    match target:
        case DigestTarget(digest):
            size = blobs.service.store.open(blobs.tenant_name, digest).size
            return [Reference(digest, size, declared or BINARY)]
        case ConversationTarget(identity, name):
            dumped = conversation_of(blobs, identity).dump()["blobs"]
            return _named(identity, {each: Reference.parse(value) for each, value in dumped.items()}, name)
        case DumpTarget(origin, named, _, name):
            return _named(origin, named, name)
        case FileTarget(path):
            with progress(f"reading {path}"):
                return [Reference.parse(blobs.put(path, type=declared))]
        case InputTarget():
            with progress("reading standard input"):
                return [Reference.parse(blobs.put(_whole(sys.stdin.buffer), type=declared))]


def _named(origin: str, named: dict[str, Reference], name: str | None) -> list[Reference]:
    if name is None:
        return list(named.values())
    if name not in named:
        raise NotFoundError(f"There is no {name} in {origin}.", hint=f"It has {', '.join(named) or 'no blobs'}.")
    return [named[name]]


def one_reference(blobs: Blobs, target: Target, *, declared: str | None = None) -> Reference:
    """The only blob of a target; `CallerError` where it has several."""
    found = references(blobs, target, declared=declared)
    if len(found) == 1:
        return found[0]
    origin = target.id if isinstance(target, ConversationTarget) else getattr(target, "origin", "the target")
    raise CallerError(f"{origin} is a conversation of {len(found)} blobs.", hint=f"Name one, such as {origin}/blob1.")


def store_settings(args: argparse.Namespace) -> Settings:
    """The settings of a command that works on the store itself, which has to be there."""
    return require_store(settings_of(args))


def _whole(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK_BYTES), b"")
