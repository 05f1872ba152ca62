"""`Blobs`: one tenant's blobs and conversations."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from blobs.client.conversation import Conversation
from blobs.client.files import declared_type, open_file
from blobs.conversations import conversation as talk
from blobs.conversations.check import check_tools
from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.media_type import BINARY, parse_media_type
from blobs.domain.reference import Reference
from blobs.operations.definitions import tool_definitions
from blobs.operations.dialects import in_dialect
from blobs.querying import portable
from blobs.settings import Settings, load_settings
from blobs.storage.blob_store import NewContent, now_ms
from blobs.storage.content import PACKED_BYTES_MAX
from blobs.storage.keeping import Pin
from blobs.storage.room import Room
from blobs.storage.stored_blob import StoredBlob
from blobs.wiring import Service, build


class Blobs:
    """One tenant's blobs and conversations, over a store that this process opened.

    What it answers can be written by any JSON library. With `is_exact` numbers that a float would change are
    `exact_json.Number` instead of strings, for those who write with `exact_json.dumps`.
    """

    def __init__(self, service: Service, *, tenant: str | None = None, is_exact: bool = False) -> None:
        self.service = service
        self.is_exact = is_exact
        self.tenant_name = tenant or service.settings.tenant
        self._desk = service.desk(self.tenant_name)

    @classmethod
    def open(cls, store: str | Path | Settings | None = None, **flags: Any) -> Self:
        """Open a store: a folder (made where there is none), `":memory:"`, or `Settings`.

        Without an argument the folder is the setting `store`. Keywords are settings and limits by name. Raises
        `SettingsError` for unknown ones and `StoreError` where the folder cannot be used.
        """
        if isinstance(store, Settings):
            return cls(build(store))
        return cls(build(load_settings({**flags, "store": None if store is None else str(store)})))

    def tenant(self, name: str) -> "Blobs":
        """The same service for another tenant."""
        return Blobs(self.service, tenant=name, is_exact=self.is_exact)

    def ready(self, value: Any) -> Any:
        """A value as this front door gives it out."""
        return value if self.is_exact else exact_json.plain(value)

    def close(self) -> None:
        """End the cells and close the store."""
        self.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Blobs

    def put(
        self,
        content: bytes | str | Path | BinaryIO | Iterator[bytes],
        *,
        type: str | None = None,  # noqa: A002  # the word of the design
        name: str | None = None,
        expected: str | None = None,
        room: Room | None = None,
    ) -> dict[str, Any]:
        """Store bytes, a file by its path, or a stream; answers the reference. Durable on return.

        `expected` is the digest that they must have; `room` what `room` held for them.
        """
        media_type = parse_media_type(type) if type is not None else declared_type(name or content)
        wanted = Digest.parse(expected) if expected is not None else None
        put = partial(self._desk.store.put, self.tenant_name, media_type=media_type, expected=wanted, room=room)
        if isinstance(content, str | Path):
            with open_file(Path(content)) as file:
                stored = put(file)
        else:
            stored = put(content)
        return stored.reference.to_json()

    def new_content(
        self,
        content: bytes,
        *,
        type: str | None = None,  # noqa: A002  # the word of the design
        name: str | None = None,
        expected: str | None = None,
    ) -> NewContent:
        """What `put` is given, for `BlobStore.put_all`, which stores contents of many tenants together."""
        media_type = parse_media_type(type) if type is not None else declared_type(name)
        wanted = Digest.parse(expected) if expected is not None else None
        return NewContent(self.tenant_name, content, media_type, wanted)

    def room(self, size: int | None, *, expected: str | None = None) -> Room:
        """Hold room for a large body of this length before it is read; `LimitError` where there is none.

        What is small, of unknown length, or said to be a blob that is there is looked at by `put`. To be released.
        """
        store, tenant = self._desk.store, self.tenant_name
        room = store.room(tenant)
        if room.is_bounded and size is not None and size > PACKED_BYTES_MAX:
            wanted = Digest.parse(expected) if expected is not None else None
            if store.needs_room(tenant, wanted):
                room.hold(size)
        return room

    def content(self, reference: Mapping[str, Any] | str) -> bytes:
        """All bytes of a blob, by its reference or digest; `NotFoundError` where this tenant has none of it."""
        return b"".join(self.chunks(reference))

    def chunks(self, reference: Mapping[str, Any] | str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes of a blob, or a range of them, piece by piece."""
        return self._desk.store.open(self.tenant_name, _digest(reference)).chunks(start, stop)

    def blob(self, reference: Mapping[str, Any] | str) -> StoredBlob:
        """A blob opened for reading: its digest, size, and `read(start, stop)`. `NotFoundError` as of `content`."""
        return self._desk.store.open(self.tenant_name, _digest(reference))

    def blob_at_once(self, digest: str) -> StoredBlob:
        """As `blob`, for `read_at_once`; `BlockingIOError` where a disk would have to be waited for."""
        return self._desk.store.open_at_once(self.tenant_name, Digest.parse(digest))

    def named(self, conversation: str, name: str) -> dict[str, Any]:
        """The reference of a blob by its name in a conversation; `NotFoundError` where either is not there."""
        record = talk.Conversation(self._desk, conversation).find(name)
        return Reference(record.digest, record.size, record.type).to_json()

    def profile(self, reference: Mapping[str, Any] | str) -> dict[str, Any]:
        """What is known of a blob: type, reader, unit, items, cost, preview, facts."""
        digest = _digest(reference)
        size = self._desk.store.open(self.tenant_name, digest).size
        declared = reference["type"] if isinstance(reference, Mapping) else BINARY
        profile = self._desk.offloader.placed(Reference(digest, size, declared)).profile
        found: dict[str, Any] = self.ready(profile.to_json())
        return found

    def list_blobs(self, *, after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        """Digest, size and time (Unix, ms) of this tenant's blobs, in the order of their digests."""
        start = Digest.parse(after) if after is not None else None
        records = self.service.catalog.list_blobs(self.tenant_name, after=start, limit=limit)
        return [
            {"digest": str(each.digest), "size": each.size, "created_ms": each.created_ms}
            | ({"purged": True} if each.is_purged else {})
            for each in records
        ]

    def pin(self, reference: Mapping[str, Any] | str, name: str, *, lease_ms: int | None = None) -> None:
        """Keep a blob from being collected under a name of yours, for good or for so long; again replaces it.

        `NotFoundError` as of `content`.
        """
        until_ms = None if lease_ms is None else now_ms() + lease_ms
        self.service.catalog.pin_blob(self.tenant_name, _digest(reference), Pin(name, until_ms))

    def unpin(self, reference: Mapping[str, Any] | str, name: str) -> bool:
        """Let go of a blob that `pin` kept under this name; was it kept?"""
        return self.service.catalog.unpin_blob(self.tenant_name, _digest(reference), name)

    # Conversations

    def conversation(
        self,
        id: str | None = None,  # noqa: A002  # the word of the design
        *,
        carry_on: Mapping[str, Any] | None = None,
        service: str | None = None,
        tools: Sequence[str] | None = None,
    ) -> "Conversation":
        """The conversation with this id, made where there is none; or one carried on from a dump under a new id.

        `service` names the model service for what is sent whole, `tools` the names of the tools that the model has.
        """
        if carry_on is None and id is not None:
            found = talk.Conversation(self._desk, id)
            if self.service.catalog.find_conversation(self.tenant_name, id) is not None:
                return Conversation(found, self, service=service, tools=tools)
        return self.create_conversation(id, carry_on=carry_on, service=service, tools=tools)

    def create_conversation(
        self,
        id: str | None = None,  # noqa: A002  # the word of the design
        *,
        carry_on: Mapping[str, Any] | None = None,
        service: str | None = None,
        tools: Sequence[str] | None = None,
    ) -> "Conversation":
        """A new conversation; `ConflictError` where the id is taken."""
        offered = None if tools is None else [*tools]
        made = talk.open_conversation(self._desk, id, carry_on=carry_on, service=service, tools=offered)
        return Conversation(made, self, service=service, tools=tools)

    def find_conversation(self, id: str) -> "Conversation":  # noqa: A002  # the word of the design
        """The conversation with this id; `NotFoundError` where there is none."""
        found = talk.Conversation(self._desk, id)
        tools = found.record().tools
        return Conversation(found, self, tools=None if tools is None else exact_json.loads(tools))

    def list_conversations(self) -> list[str]:
        """Ids of this tenant's conversations, in order."""
        return [each.id for each in self.service.catalog.list_conversations(self.tenant_name)]

    # About the service

    def tools(self, dialect: str = "mcp") -> Any:
        """The three tools in the dialect of a model service."""
        found = self.service.runner.describe()
        python, is_small = None, "python" in found["stand_ins"]
        if found["runs_untrusted"]:
            python = ", ".join(f"{name} {version}" for name, version in found["libraries"].items())
        elif is_small:
            python = ", ".join(portable.MODULES)
        return in_dialect(tool_definitions(python=python, is_small=is_small, limits=self.service.limits), dialect)

    @staticmethod
    def check_tools(tools: Sequence[Mapping[str, Any]], *, reserved: Sequence[str] = ()) -> list[str]:
        """Problems of a tool list, none where it is good."""
        return check_tools(tools, reserved)

    def readers(self) -> list[dict[str, Any]]:
        """Every reader with its types, version and origin; those set aside with their problem."""
        return [
            {
                "name": each.name,
                "types": [*each.media_types],
                "version": each.version,
                "origin": each.origin,
                **({"problem": each.problem} if each.problem else {}),
            }
            for each in self.service.workshop.registry.plug_ins()
        ]

    def doctor(self) -> dict[str, Any]:
        """What this host gives: the sandbox and its layers, libraries, the store."""
        return {"sandbox": self.service.runner.describe(), "store": self.service.settings.store}


def _digest(reference: Mapping[str, Any] | str) -> Digest:
    return Digest.parse(reference) if isinstance(reference, str) else Reference.parse(dict(reference)).digest
