"""`blobs collect` and `verify`: what nothing names goes, and what is kept is looked at. For all tenants of a store."""

import argparse
from typing import TYPE_CHECKING, Any

from blobs.cli.options import common, wants_json
from blobs.cli.rendering import table_lines
from blobs.cli.screen import Screen, progress
from blobs.domain.errors import CallerError, CorruptError

if TYPE_CHECKING:
    from blobs.storage.verifying import Verified


def register(subparsers: Any) -> None:
    """Add the two commands."""
    collect = subparsers.add_parser(
        "collect",
        help="remove blobs that nothing names",
        description="Remove the blobs of all tenants that no conversation, pin or lease names and that were not used "
        "within grace_ms; their bytes are freed by a collection that runs grace_ms later. Safe while others work.",
        parents=[common()],
    )
    collect.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")
    collect.set_defaults(run=_collect)

    verify = subparsers.add_parser(
        "verify",
        help="hash stored bytes anew",
        description="Compare the stored bytes of all tenants with their digests. Exits with 6 where any are damaged: "
        "reads of those fail until the same bytes are put again. Damaged derived copies are dropped, and made anew "
        "when they are needed.",
        parents=[common()],
    )
    verify.add_argument("--sample", metavar="SHARE", help="look at a random share of the blobs, such as 5%%")
    verify.set_defaults(run=_verify)


def _collect(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.wiring import build

    screen = Screen()
    service = build(store_settings(args))
    try:
        if args.dry_run:
            _tell_unused(screen, service, as_json=wants_json(args))
        else:
            with progress("collecting"):
                done = service.collector().collect()
            if wants_json(args):
                screen.json(
                    {
                        "blobs": done.blobs,
                        "bytes": done.size_bytes,
                        "freed": done.keys_freed,
                        "left_behind": done.left_behind,
                        "tidied": done.tidied,
                    }
                )
            else:
                screen.line(f"Removed {done.blobs:,} blobs of {done.size_bytes:,} bytes.")
                screen.line(f"Freed the bytes of {done.keys_freed:,} that were removed earlier or never recorded.")
    finally:
        service.close()
    screen.flush()
    return 0


def _tell_unused(screen: Screen, service: Any, *, as_json: bool) -> None:
    unused = list(service.collector().unused())
    size = sum(each.record.size for each in unused)
    if as_json:
        found = [
            {"tenant": each.tenant, "digest": str(each.record.digest), "size": each.record.size} for each in unused
        ]
        screen.json({"blobs": len(unused), "bytes": size, "dry_run": True, "unused": found})
        return
    if unused:
        rows = [[each.tenant, str(each.record.digest), each.record.size] for each in unused]
        for line in table_lines(["tenant", "digest", "bytes"], rows):
            screen.line(line)
    screen.line(f"{len(unused):,} blobs of {size:,} bytes would be removed.")


def _verify(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.wiring import build

    share = 1.0 if args.sample is None else _share(args.sample)
    screen = Screen()
    service = build(store_settings(args))
    count, damaged = 0, []
    try:
        with progress("verifying"):
            for each in service.verifier().verify(share=share):
                count += 1
                if each.fault is not None:
                    damaged.append(each)
    finally:
        service.close()
    _tell_verified(screen, count, damaged, as_json=wants_json(args))
    screen.flush()
    return CorruptError.exit_code if damaged else 0


def _tell_verified(screen: Screen, count: int, damaged: "list[Verified]", *, as_json: bool) -> None:
    if as_json:
        found = [
            {
                "tenant": each.tenant,
                "digest": str(each.digest),
                "size": each.size,
                "fault": each.fault,
                "derived": each.is_derived,
            }
            for each in damaged
        ]
        screen.json({"verified": count, "damaged": found})
        return
    for each in damaged:
        heals = "a derived copy, made anew when needed" if each.is_derived else "put the same bytes again to heal it"
        screen.line(f"{each.digest}  {each.fault}  {each.size:,} bytes of tenant {each.tenant} ({heals})")
    screen.line(f"Verified {count:,} blobs, {len(damaged):,} damaged.")


def _share(text: str) -> float:
    """A share such as `5%`, as a number from 0 to 1."""
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if is_percent else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise CallerError(f"--sample: not a share: {text}.", hint="Give --sample 5%.")
    return share
