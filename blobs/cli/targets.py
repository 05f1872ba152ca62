"""What a command is about: a file, standard input, a digest, a named blob, a conversation, a dumped conversation."""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, CallerError, NotFoundError
from blobs.domain.handle import parse_blob_name
from blobs.domain.reference import Reference

TARGETS_HELP = (
    "A TARGET is a file, - for standard input, a digest (sha256:…), CONVERSATION/blob1, "
    "or FILE/blob1 where FILE is a dumped conversation."
)
DUMP_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file that is looked at where it lies."""

    path: Path


@dataclass(frozen=True, slots=True)
class InputTarget:
    """Standard input."""


@dataclass(frozen=True, slots=True)
class DigestTarget:
    """A blob of the store."""

    digest: Digest


@dataclass(frozen=True, slots=True)
class ConversationTarget:
    """A conversation of the store, or one of its blobs."""

    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DumpTarget:
    """A conversation as it was dumped into a file, or one of its blobs; `blobs` in the order of their names."""

    origin: str
    blobs: dict[str, Reference]
    turns: tuple[Reference, ...]
    name: str | None = None


Target = FileTarget | InputTarget | DigestTarget | ConversationTarget | DumpTarget


def parse_target(text: str) -> Target:
    """What a word of the command line names; what is there wins over what may be meant.

    Raises `NotFoundError` for a path where nothing is, and `CallerError` for what cannot be a target.
    """
    if text == "-":
        return InputTarget()
    if text.startswith("sha256:"):
        return DigestTarget(Digest.parse(text))
    if _exists(Path(text)):
        return _file(Path(text))
    before, _, name = text.rpartition("/")
    if before and parse_blob_name(name) is not None:
        if _exists(Path(before)):
            return _inside(before, name)
        return ConversationTarget(before, name)
    if not text or "/" in text or text.startswith("."):
        raise NotFoundError(f"There is no file {text!r}.", hint=TARGETS_HELP)
    return ConversationTarget(text)


def is_in_store(target: Target) -> bool:
    """Whether only a store can tell what the target holds."""
    return not isinstance(target, FileTarget | InputTarget)


def size_of(target: Target) -> int | None:
    """The bytes of a file that is a regular one; None where they show only at the end."""
    if not isinstance(target, FileTarget):
        return None
    found = target.path.stat()
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a file name, or with a NUL in it: not a path
        return False


def _file(path: Path) -> Target:
    if path.is_dir():
        raise CallerError(f"{path} is a folder.", hint="Name a file in it.")
    return _dump(path) or FileTarget(path)


def _inside(path: str, name: str) -> DumpTarget:
    target = _file(Path(path))
    if not isinstance(target, DumpTarget):
        raise NotFoundError(f"{path} is no dumped conversation, so there is no {name} in it.")
    return DumpTarget(target.origin, target.blobs, target.turns, name)


def _dump(path: Path) -> DumpTarget | None:
    """The dumped conversation in a file, or None where the file holds anything else."""
    try:
        if not path.is_file() or path.stat().st_size > DUMP_BYTES_MAX:
            return None
        with path.open("rb") as file:
            if not file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                return None
            file.seek(0)
            value = exact_json.loads(file.read())
    except (OSError, ValueError):
        return None
    return _dump_of(value, str(path))


def _dump_of(value: Any, origin: str) -> DumpTarget | None:
    if not isinstance(value, dict) or set(value) != {"blobs", "turns"}:
        return None
    if not isinstance(value["blobs"], dict) or not isinstance(value["turns"], list):
        return None
    try:
        numbered = {parse_blob_name(name): Reference.parse(each) for name, each in value["blobs"].items()}
        turns = tuple(Reference.parse(each) for each in value["turns"])
    except BlobsError:
        return None
    if None in numbered:
        return None
    return DumpTarget(origin, {f"blob{number}": numbered[number] for number in sorted(filter(None, numbered))}, turns)
