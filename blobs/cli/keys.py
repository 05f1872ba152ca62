"""`blobs keys`: who may come in over HTTP."""

import argparse
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from blobs.cli.options import common, settings_of, wants_json
from blobs.cli.rendering import table_lines
from blobs.cli.screen import Screen
from blobs.domain.errors import CallerError, NotFoundError
from blobs.domain.keys import ROLES, hash_key, new_key

if TYPE_CHECKING:
    from blobs.storage.access import KeyRecord
    from blobs.storage.catalog import Catalog

_PAGE = 1000


def register(subparsers: Any) -> None:
    """Add the command and its three verbs."""
    keys = subparsers.add_parser(
        "keys",
        help="make, list and revoke API keys",
        description="The keys by which tenants come in over HTTP. Of a key only a hash is kept.",
        parents=[common()],
    )
    verbs = keys.add_subparsers(metavar="VERB", required=True, dest="verb")
    create = verbs.add_parser(
        "create",
        help="make a key and print it, once",
        description="Make a key for a tenant and print it; it is never shown again. A running server takes it at once.",
        parents=[common()],
    )
    create.add_argument("tenant", metavar="TENANT")
    create.add_argument("--role", choices=ROLES, default="runtime", help="what it may do (runtime)")
    create.set_defaults(run=_create)
    listing = verbs.add_parser("list", help="list the keys, without what is secret of them", parents=[common()])
    listing.set_defaults(run=_list)
    revoke = verbs.add_parser("revoke", help="let a key in no more, from now on", parents=[common()])
    revoke.add_argument("id", metavar="ID", help="its id, as `blobs keys list` shows it")
    revoke.set_defaults(run=_revoke)


def _create(args: argparse.Namespace) -> int:
    from blobs.storage.access import KeyRecord
    from blobs.storage.blob_store import now_ms
    from blobs.wiring import build

    if not args.tenant.strip() or not args.tenant.isprintable():
        raise CallerError("The name of a tenant is empty or cannot be printed.", hint="Give it a name such as acme.")
    settings = settings_of(args)
    if settings.store == ":memory:":
        raise CallerError("A store in memory keeps no keys.", hint="Name a folder with --store DIR.")
    key = new_key()
    record = KeyRecord(secrets.token_hex(6), hash_key(key), args.tenant, args.role, now_ms())
    service = build(settings)
    try:
        service.catalog.add_key(record)
    finally:
        service.close()
    screen = Screen()
    if wants_json(args):
        screen.json({**_shown(record), "key": key})
    else:
        screen.line(key)
    screen.flush()
    return 0


def _list(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.wiring import build

    service = build(store_settings(args))
    try:
        keys = [_shown(each) for each in _all(service.catalog)]
    finally:
        service.close()
    screen = Screen()
    if wants_json(args):
        screen.json({"keys": keys})
    else:
        rows = [[each["id"], each["tenant"], each["role"], _time(each["created_ms"])] for each in keys]
        for line in table_lines(["id", "tenant", "role", "created"], rows):
            screen.line(line)
    screen.flush()
    return 0


def _revoke(args: argparse.Namespace) -> int:
    from blobs.cli.bench import store_settings
    from blobs.wiring import build

    service = build(store_settings(args))
    try:
        if not service.catalog.remove_key(args.id):
            raise NotFoundError(f"There is no key {args.id}.", hint="`blobs keys list` shows those that there are.")
    finally:
        service.close()
    return 0


def _all(catalog: "Catalog") -> "Iterator[KeyRecord]":
    after = None
    while page := catalog.list_keys(after=after, limit=_PAGE):
        yield from page
        after = page[-1].id


def _shown(record: "KeyRecord") -> dict[str, Any]:
    return {"id": record.id, "tenant": record.tenant, "role": record.role, "created_ms": record.created_ms}


def _time(created_ms: int) -> str:
    return datetime.fromtimestamp(created_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
