"""`blobs scan` and `purge`: find what should never have been stored, and take it out. For all tenants of a store."""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from blobs.cli.options import common, wants_json
from blobs.cli.screen import Screen, progress
from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError, NotFoundError

if TYPE_CHECKING:
    from blobs.storage.keeping import BlobRecord
    from blobs.storage.scanning import HoldingBlob, HoldingTurn, Matches
    from blobs.wiring import Service


def register(subparsers: Any) -> None:
    """Add the two commands."""
    scan = subparsers.add_parser(
        "scan",
        help="list blobs that hold a string",
        description="List the blobs of all tenants that hold a string, and the turns whose answers do. Compressed "
        "contents are not looked into.",
        parents=[common()],
    )
    _add_match(scan, required=True)
    scan.set_defaults(run=_scan)

    purge = subparsers.add_parser(
        "purge",
        help="remove blobs at once, whatever names them",
        description="Remove blobs, and all that was derived from them, at once and for good, whatever names them: "
        "those of these digests, or those that hold a string (`blobs scan` lists them first). Their names stay taken "
        "and say that they were removed. What turns quote of them stays: delete those conversations.",
        parents=[common()],
    )
    purge.add_argument("digests", metavar="DIGEST", nargs="*")
    _add_match(purge, required=False)
    purge.add_argument("--tenant", metavar="NAME", help="only of this tenant; by default of every tenant")
    purge.set_defaults(run=_purge)


def _add_match(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--match", metavar="PATTERN", required=required, help="a string, as it stands in the bytes")
    parser.add_argument("--regex", action="store_true", help="PATTERN is an RE2 expression; it may match 8 KiB at most")


def _scan(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.storage.scanning import Scanner
    from blobs.wiring import build

    matches = _matches(args)
    service = build(store_settings(args))
    try:
        with progress("scanning"):
            scanner = Scanner(service.content, service.catalog)
            blobs, turns = list(scanner.blobs(matches)), list(scanner.turns(matches))
    finally:
        service.close()
    screen = Screen()
    if wants_json(args):
        screen.json({"blobs": [_blob_json(each) for each in blobs], "turns": [_turn_json(each) for each in turns]})
    else:
        for each in blobs:
            screen.line(f"{each.digest}  {each.size:,} bytes of tenant {each.tenant}")
        _tell_turns(screen, turns)
        screen.line(f"{len(blobs):,} blobs and {len(turns):,} turns hold it.")
    screen.flush()
    return 0


def _purge(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.storage.scanning import Scanner
    from blobs.wiring import build

    if bool(args.digests) == (args.match is not None):
        raise CallerError("Give either digests or --match.", hint="`blobs scan --match PATTERN` lists digests.")
    digests = [Digest.parse(each) for each in args.digests]
    matches = _matches(args) if args.match is not None else None
    service = build(store_settings(args))
    try:
        with progress("purging"):
            scanner = Scanner(service.content, service.catalog)
            if matches is None:
                wanted = [(tenant, each) for each in digests for tenant in _tenants(service, args)]
            else:
                wanted = [(each.tenant, each.digest) for each in scanner.blobs(matches)]
            wanted = [each for each in wanted if args.tenant in (None, each[0])]
            purged = [(tenant, each) for tenant, digest in wanted for each in service.store.purge(tenant, digest)]
            turns = [] if matches is None else list(scanner.turns(matches))
    finally:
        service.close()
    if digests and not purged:
        raise NotFoundError("None of these blobs is there.", hint="`blobs ls` lists those that there are.")
    _tell_purged(Screen(), purged, turns, as_json=wants_json(args))
    return 0


def _tenants(service: "Service", args: argparse.Namespace) -> Iterable[str]:
    """The tenants whose blobs are meant."""
    if args.tenant is not None:
        return [args.tenant]
    found: list[str] = []
    while page := service.catalog.list_tenants(after=found[-1] if found else None):
        found += page
    return found


def _tell_purged(
    screen: Screen, purged: "Sequence[tuple[str, BlobRecord]]", turns: "Sequence[HoldingTurn]", *, as_json: bool
) -> None:
    if as_json:
        removed = [{"tenant": tenant, "digest": str(each.digest), "size": each.size} for tenant, each in purged]
        screen.json({"purged": removed, "turns": [_turn_json(each) for each in turns]})
    else:
        for tenant, each in purged:
            screen.line(f"{each.digest}  {each.size:,} bytes of tenant {tenant}")
        screen.line(f"Purged {len(purged):,} blobs, what was derived from them included.")
        if turns:
            _tell_turns(screen, turns)
            screen.line(f"{len(turns):,} turns still quote it: delete these conversations.")
    screen.flush()


def _tell_turns(screen: Screen, turns: "Sequence[HoldingTurn]") -> None:
    for each in turns:
        screen.line(f"turn {each.turn} of {each.conversation} of tenant {each.tenant}")


def _blob_json(each: "HoldingBlob") -> dict[str, Any]:
    return {"tenant": each.tenant, "digest": str(each.digest), "size": each.size}


def _turn_json(each: "HoldingTurn") -> dict[str, Any]:
    return {"tenant": each.tenant, "conversation": each.conversation, "turn": each.turn}


def _matches(args: argparse.Namespace) -> "Matches":
    """Whether bytes hold the pattern of the flags."""
    from blobs.storage.scanning import OVERLAP_BYTES

    pattern = args.match.encode("utf-8", "surrogateescape")
    if not 0 < len(pattern) <= OVERLAP_BYTES:
        raise CallerError(f"--match: a pattern has 1 to {OVERLAP_BYTES} bytes.")
    if not args.regex:
        return lambda stretch: pattern in stretch
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise CallerError(f"--match: not an RE2 expression: {error}.") from None
    return lambda stretch: compiled.search(stretch) is not None
