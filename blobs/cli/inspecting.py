"""`blobs inspect`: what is known of a target. It only looks: nothing is stored, and no program of the target runs."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from blobs.cli.options import common, wants_json
from blobs.cli.rendering import CELL_CHARS_MAX, TERMINAL_CELL_CHARS_MAX, counted, preview_lines, table_lines
from blobs.cli.screen import Screen, progress
from blobs.cli.targets import TARGETS_HELP, ConversationTarget, DumpTarget, parse_target
from blobs.domain import exact_json
from blobs.domain.reference import Reference

_LIFTED = ("shape", "notes")
"""What the preview says that is shown beside it too."""


def register(subparsers: Any) -> None:
    """Add the command."""
    inspect = subparsers.add_parser(
        "inspect",
        help="what a file, blob or conversation holds",
        description=f"Show type, items, cost and a preview. Stores nothing and runs nothing. {TARGETS_HELP}",
        parents=[common()],
    )
    inspect.add_argument("target", metavar="TARGET")
    inspect.add_argument("--type", metavar="TYPE", help="the media type of a file or of standard input")
    inspect.set_defaults(run=_inspect)


def _inspect(args: argparse.Namespace) -> int:
    from blobs.cli.bench import conversation_of, one_reference, opened

    target = parse_target(args.target)
    if isinstance(target, DumpTarget) and target.name is None:
        return _show_conversation(
            args, None, {name: each.to_json() for name, each in target.blobs.items()}, target.turns
        )
    with opened(args, [args.target], keeps=False) as (blobs, _):
        if isinstance(target, ConversationTarget) and target.name is None:
            dump = conversation_of(blobs, target.id).dump()
            turns = tuple(Reference.parse(each) for each in dump["turns"])
            return _show_conversation(args, target.id, dump["blobs"], turns)
        with progress(f"inspecting {args.target}"):
            reference = one_reference(blobs, target, declared=args.type)
            profile = blobs.profile(reference.to_json())
    return _show_blob(args, reference, profile)


def _show_blob(args: argparse.Namespace, reference: Reference, profile: Mapping[str, Any]) -> int:
    screen = Screen()
    preview = profile["preview"]
    found = {
        "type": profile["type"],
        "size": reference.size,
        "digest": str(reference.digest),
        "reader": profile["reader"],
        "unit": profile["unit"],
        "items": profile["items"],
        "cost": profile["cost"],
        "columns": profile["columns"],
        "parts": profile["parts"],
        "facts": profile["facts"],
        **{key: preview[key] for key in _LIFTED if key in preview},
        "preview": preview,
    }
    if wants_json(args):
        screen.json(found)
    else:
        chars_max = TERMINAL_CELL_CHARS_MAX if screen.is_terminal else CELL_CHARS_MAX
        for line in _blob_lines(args.target, found, chars_max):
            screen.line(line)
    screen.flush()
    return 0


def _blob_lines(target: str, found: Mapping[str, Any], chars_max: int) -> Iterator[str]:
    yield f"{target}: {found['type']}, {counted(found['size'], 'bytes')}"
    yield f"digest   {found['digest']}"
    yield f"reader   {found['reader']}"
    yield f"items    {counted(found['items'], found['unit'])}" if found["unit"] else "items    none"
    yield f"cost     {found['cost']:,} tokens to read it all"
    for name, value in found["facts"].items():
        yield f"{name:8} {exact_json.text(value) if isinstance(value, list | dict) else value}"
    if found["columns"]:
        yield f"columns  {', '.join(found['columns'])}"
    yield from preview_lines(found["preview"], chars_max=chars_max)


def _show_conversation(
    args: argparse.Namespace, identity: str | None, named: Mapping[str, Any], turns: tuple[Reference, ...]
) -> int:
    screen = Screen()
    if wants_json(args):
        shown = {"blobs": dict(named), "turns": [each.to_json() for each in turns]}
        screen.json(shown if identity is None else {"conversation": identity, **shown})
    else:
        screen.line(f"{args.target}: a conversation, {counted(len(named), 'blobs')}, {counted(len(turns), 'turns')}")
        if named:
            screen.line()
            rows = [[name, each["type"], each["size"], each["$blob"]] for name, each in named.items()]
            for line in table_lines(["blob", "type", "bytes", "digest"], rows):
                screen.line(line)
        if turns:
            screen.line()
            records = [[number, each.size, str(each.digest)] for number, each in enumerate(turns, start=1)]
            for line in table_lines(["turn", "bytes of its record", "digest of its record"], records):
                screen.line(line)
    screen.flush()
    return 0
