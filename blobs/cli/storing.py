"""`blobs put`, `ls` and `cat`: bytes into the store, what is there, bytes out."""

import argparse
import codecs
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from blobs.cli.options import common, settings_of, wants_json
from blobs.cli.rendering import table_lines
from blobs.cli.screen import Screen, progress
from blobs.cli.targets import TARGETS_HELP, FileTarget, parse_target
from blobs.domain.errors import CallerError, LimitError
from blobs.reading.cutting import strip_escapes

_PAGE = 1000
_RANGE = re.compile(r"(\d*)-(\d*)\Z", re.ASCII)
_CHUNK_BYTES = 1024 * 1024


def register(subparsers: Any) -> None:
    """Add the three commands."""
    put = subparsers.add_parser(
        "put",
        help="store files",
        description="Store files, or standard input as -, and print their references. Makes the store if it is absent.",
        parents=[common()],
    )
    put.add_argument("files", metavar="FILE", nargs="+")
    put.add_argument("--type", metavar="TYPE", help="their media type; by default told from name and bytes")
    put.set_defaults(run=_put)

    ls = subparsers.add_parser(
        "ls", help="list blobs and conversations", description="List the blobs and conversations.", parents=[common()]
    )
    ls.set_defaults(run=_ls)

    cat = subparsers.add_parser(
        "cat",
        help="write a blob's bytes",
        description=f"Write the raw bytes of a blob. {TARGETS_HELP}",
        parents=[common()],
    )
    cat.add_argument("target", metavar="TARGET")
    cat.add_argument(
        "--range", metavar="A-B", help="bytes A to B, both included, as in HTTP; A- to the end, -N the last N"
    )
    cat.set_defaults(run=_cat, type=None)


def _put(args: argparse.Namespace) -> int:
    from blobs.cli.bench import references
    from blobs.client import Blobs

    targets = [(name, parse_target(name) if name == "-" else _file(name)) for name in args.files]
    screen = Screen()
    with Blobs.open(settings_of(args)) as blobs:
        for name, target in targets:
            reference = references(blobs, target, declared=args.type)[0]
            if wants_json(args):
                screen.json(reference.to_json())
            else:
                screen.line(f"{reference.digest}  {reference.type}  {reference.size:,} bytes  {name}")
            screen.flush()
    return 0


def _file(name: str) -> FileTarget:
    """A file by its path, also where it is a dumped conversation or its name looks like a digest."""
    from pathlib import Path

    path = Path(name)
    if path.is_dir():
        raise CallerError(f"{path} is a folder.", hint="Name the files in it.")
    return FileTarget(path)


def _ls(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.client import Blobs

    screen = Screen()
    with Blobs.open(store_settings(args)) as blobs:
        stored = list(_all_blobs(blobs))
        conversations = list(_all_conversations(blobs))
    if wants_json(args):
        screen.json({"blobs": stored, "conversations": conversations})
    else:
        lines = [[each["digest"], each["size"], _time(each["created_ms"])] for each in stored]
        for line in table_lines(["digest", "bytes", "created"], lines):
            screen.line(line)
        if conversations:
            screen.line()
            for line in table_lines(
                ["conversation", "created"], [[each["id"], _time(each["created_ms"])] for each in conversations]
            ):
                screen.line(line)
    screen.flush()
    return 0


def _all_blobs(blobs: Any) -> Iterator[dict[str, Any]]:
    after = None
    while page := blobs.list_blobs(after=after, limit=_PAGE):
        yield from page
        after = page[-1]["digest"]


def _all_conversations(blobs: Any) -> Iterator[dict[str, Any]]:
    after = None
    while page := blobs.service.catalog.list_conversations(blobs.tenant_name, after=after, limit=_PAGE):
        yield from ({"id": each.id, "created_ms": each.created_ms} for each in page)
        after = page[-1].id


def _time(created_ms: int) -> str:
    return datetime.fromtimestamp(created_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _cat(args: argparse.Namespace) -> int:
    from blobs.cli.bench import one_reference, opened

    screen = Screen()
    wanted = _parse_range(args.range) if args.range is not None else (0, None)
    with opened(args, [args.target], keeps=False) as (blobs, targets):
        with progress(f"opening {args.target}"):
            reference = one_reference(blobs, targets[0])
        start, stop = _within(wanted, reference.size)
        chunks = blobs.chunks(str(reference.digest), start, stop)
        for chunk in _for_terminal(chunks) if screen.is_terminal else chunks:
            screen.raw(chunk)
        screen.flush()
    return 0


def _parse_range(text: str) -> tuple[int | None, int | None]:
    match = _RANGE.match(text)
    if match is None or text == "-":
        raise CallerError(
            f"--range: not a range of bytes: {text}.", hint="Give --range=0-99, --range=100- or --range=-100."
        )
    first, last = (int(each) if each else None for each in match.groups())
    if first is not None and last is not None and last < first:
        raise CallerError(f"--range: {text} ends before it begins.")
    return first, last


def _within(wanted: tuple[int | None, int | None], size: int) -> tuple[int, int]:
    """Start and stop, half-open, of a range as HTTP says it; `LimitError` for one that begins past the end."""
    first, last = wanted
    if first is None:
        return max(0, size - (last or 0)), size
    if first >= size and first > 0:
        raise LimitError(f"--range: the blob has {size} bytes.", hint=f"Begin before {size}.")
    return first, size if last is None else min(size, last + 1)


def _for_terminal(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Text without what could steer the terminal; `CallerError` for bytes that are no text."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = ""
    for chunk in chunks:
        if b"\0" in chunk:
            raise CallerError("These bytes are no text, so a terminal is spared them.", hint="Redirect them to a file.")
        held += decoder.decode(chunk)
        stop = held.rfind("\n") + 1 or (len(held) if len(held) > _CHUNK_BYTES else 0)
        yield strip_escapes(held[:stop]).encode()
        held = held[stop:]
    yield strip_escapes(held + decoder.decode(b"", final=True)).encode()
