"""The front door: `Blobs`, `Conversation`, `Turn`. Everything that goes in and comes out is plain JSON-ready data."""

import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from blobs.conversations import conversation as talk
from blobs.conversations.check import check_tools
from blobs.conversations.offload import is_mcp_result, is_tool_result
from blobs.conversations.turn import CallInput, TurnDraft, parse_call, with_blocks
from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError, ConflictError, NotFoundError
from blobs.domain.media_type import BINARY, NDJSON, PARQUET, parse_media_type
from blobs.domain.reference import Reference
from blobs.operations.definitions import tool_definitions
from blobs.operations.dialects import in_dialect
from blobs.settings import Settings, load_settings
from blobs.storage.blob_store import StoredBlob
from blobs.wiring import Service, build

_TYPES_BY_SUFFIX = {
    ".parquet": PARQUET,
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".tsv": "text/tab-separated-values",
    ".md": "text/markdown",
    ".log": "text/plain",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
}
"""Beside what `mimetypes` knows on every machine."""


class Blobs:
    """One tenant's blobs and conversations, over a store that this process opened."""

    def __init__(self, service: Service, *, tenant: str | None = None) -> None:
        self.service = service
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
        return Blobs(self.service, tenant=name)

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
    ) -> dict[str, Any]:
        """Store bytes, a file by its path, or a stream; answers the reference. Durable on return."""
        media_type = parse_media_type(type) if type is not None else _guess(name or content)
        wanted = Digest.parse(expected) if expected is not None else None
        if isinstance(content, str | Path):
            with _open(Path(content)) as file:
                stored = self._desk.store.put(self.tenant_name, file, media_type=media_type, expected=wanted)
        else:
            stored = self._desk.store.put(self.tenant_name, content, media_type=media_type, expected=wanted)
        return stored.reference.to_json()

    def content(self, reference: Mapping[str, Any] | str) -> bytes:
        """All bytes of a blob, by its reference or digest; `NotFoundError` where this tenant has none of it."""
        return b"".join(self.chunks(reference))

    def chunks(self, reference: Mapping[str, Any] | str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes of a blob, or a range of them, piece by piece."""
        return self._desk.store.open(self.tenant_name, _digest(reference)).chunks(start, stop)

    def blob(self, reference: Mapping[str, Any] | str) -> StoredBlob:
        """A blob opened for reading: its digest, size, and `read(start, stop)`. `NotFoundError` as of `content`."""
        return self._desk.store.open(self.tenant_name, _digest(reference))

    def profile(self, reference: Mapping[str, Any] | str) -> dict[str, Any]:
        """What is known of a blob: type, reader, unit, items, cost, preview, facts."""
        digest = _digest(reference)
        size = self._desk.store.open(self.tenant_name, digest).size
        declared = reference["type"] if isinstance(reference, Mapping) else BINARY
        return self._desk.offloader.placed(Reference(digest, size, declared)).profile.to_json()

    def list_blobs(self, *, after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        """Digest, size and time (Unix, ms) of this tenant's blobs, in the order of their digests."""
        start = Digest.parse(after) if after is not None else None
        records = self.service.catalog.list_blobs(self.tenant_name, after=start, limit=limit)
        return [{"digest": str(each.digest), "size": each.size, "created_ms": each.created_ms} for each in records]

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
        return in_dialect(tool_definitions(python=self._python(), limits=self.service.limits), dialect)

    def _python(self) -> str | None:
        libraries = self.service.runner.describe().get("libraries") or {}
        return ", ".join(f"{name} {version}" for name, version in libraries.items())

    @staticmethod
    def check_tools(tools: Sequence[Mapping[str, Any]], *, reserved: Sequence[str] = ()) -> list[str]:
        """Problems of a tool list, none where it is good."""
        return check_tools([dict(each) for each in tools], reserved)

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


class Conversation:
    """One conversation: turns, attachments, tool calls, its dump."""

    def __init__(
        self, inner: talk.Conversation, blobs: Blobs, *, service: str | None = None, tools: Sequence[str] | None = None
    ) -> None:
        self.id = inner.id
        self._inner = inner
        self._blobs = blobs
        self._service = service
        self._tools = None if tools is None else [*tools]

    def turn(self, *, service: str | None = None, tools: Sequence[str] | None = None, record: Any = None) -> "Turn":
        """A turn to be made step by step in a `with` block; rolled back if the block raises."""
        return Turn(self, self._inner, self._blobs, service or self._service, _names(tools, self._tools), record)

    def put_turn(
        self,
        number: int,
        calls: Sequence[Mapping[str, Any]],
        *,
        service: str | None = None,
        tools: Sequence[str] | None = None,
        record: Any = None,
    ) -> dict[str, Any]:
        """Hand in all calls of a turn at once, as over HTTP; the same calls again give the same bytes."""
        if number < 1:
            raise CallerError("Turns are numbered from 1.", code="invalid_turn")
        request = {"calls": [*calls], "service": service, "tools": tools, "record": record}
        return self._inner.put_turn(
            number,
            [parse_call(call, i) for i, call in enumerate(calls)],
            request=request,
            service=service or self._service,
            offered=_names(tools, self._tools),
            record=record,
        )

    def delete_turn(self, number: int) -> bool:
        """Roll back a turn and all after it; was there anything?"""
        return self._inner.delete_turn(number)

    def attach(
        self,
        content: bytes | str | Path | Mapping[str, Any],
        *,
        type: str | None = None,  # noqa: A002  # the word of the design
        name: str | None = None,
    ) -> dict[str, Any]:
        """Take in a file by its path, bytes, or a reference, outside any turn; answers its handle."""
        self._inner.record()
        if isinstance(content, Mapping):
            given = Reference.parse(content)
            reference = Reference(given.digest, self._blobs.blob(content).size, given.type)
        else:
            reference = Reference.parse(self._blobs.put(content, type=type, name=name))
        return self._inner.attach(reference)

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        """Run one tool call outside a turn; answers what the model reads."""
        return self._inner.call(tool, arguments, offered=self._tools)

    def resolve(self, schema: Any, arguments: Any) -> dict[str, Any]:
        """`{"ok": True, "arguments"}` with references in place of names, or `{"ok": False, "message"}`."""
        return self._inner.resolve(schema, arguments)

    def dump(self) -> dict[str, Any]:
        """`{"blobs": {name: reference}, "turns": [reference]}`, to be carried on from."""
        return self._inner.dump()

    def fork(self, id: str | None = None) -> "Conversation":  # noqa: A002  # the word of the design
        """A copy with its own id."""
        return Conversation(self._inner.fork(id), self._blobs, service=self._service, tools=self._tools)

    def handles(self) -> list[dict[str, Any]]:
        """The handles of all names, without previews."""
        return self._inner.handles()

    def describe(self, name: str) -> dict[str, Any]:
        """One handle with its preview, reference and profile."""
        return self._inner.describe(name)

    def reference(self, name: str) -> dict[str, Any]:
        """The reference of a named blob, for programs; never to be shown to a model."""
        record = self._inner.find(name)
        return Reference(record.digest, record.size, record.type).to_json()

    def content(self, name: str) -> bytes:
        """All bytes of a named blob."""
        return self._blobs.content(str(self._inner.find(name).digest))

    def delete(self) -> bool:
        """Forget the conversation; was it there?"""
        return self._inner.delete()


class Turn:
    """A turn made step by step. Names are given in the order of its calls; nothing is kept if the block raises."""

    def __init__(
        self,
        conversation: Conversation,
        inner: talk.Conversation,
        blobs: Blobs,
        service: str | None,
        tools: list[str] | None,
        record: Any,
    ) -> None:
        self._conversation = conversation
        self._inner = inner
        self._desk = blobs.service.desk(blobs.tenant_name)
        self._service = service
        self._tools = tools
        self._record = record
        self._state = inner.record()
        self._is_open = False
        self._draft = self._new_draft()

    def _new_draft(self) -> TurnDraft:
        number = self._state.last_turn + 1
        names = self._inner.names(turn=number)
        service = self._service or self._state.service
        return TurnDraft(self._desk, names, number=number, service=service, offered=self._tools)

    def __enter__(self) -> Self:
        self._state = self._inner.record()
        self._draft = self._new_draft()
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is None:
            try:
                self._inner.commit_draft(self._draft, self._state, self._record)
            except ConflictError:
                raise ConflictError(
                    f"Another turn of {self._inner.id!r} was committed meanwhile; this one was rolled back.",
                    hint="Make the turns of one conversation one after another.",
                ) from None

    @property
    def number(self) -> int:
        """The number that the turn has."""
        return self._draft.number

    @property
    def results(self) -> list[dict[str, Any]]:
        """What the model reads, one `{"id", "content", "text", "is_error", "whole"?}` a call."""
        return list(with_blocks(self._draft.answer(), self._desk, self._draft.names, self._service)["results"])

    @property
    def handles(self) -> list[dict[str, Any]]:
        """The handles shown in this turn so far."""
        return list(self._draft.handles)

    def offload(
        self, value: Any, *, tool: str | None = None, kind: str | None = None, inline_bytes_max: int | None = None
    ) -> Any:
        """Take in a tool's result; answers it inline or as a handle, ready for the model.

        `kind` says what the value is (`result`, `tool_result`, `mcp_result`, `error`, `denied`, `reference`); without
        it a tool result and an MCP result are known by their shape, and anything else is a result.
        """
        return self._add(tool, kind or _kind(value), value, inline_bytes_max)["content"]

    def error(self, text: str, *, tool: str | None = None) -> Any:
        """Take in a tool's failure; a long text is cut and kept whole as a blob."""
        return self._add(tool, "error", text, None)["content"]

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        """Run one of the three tools as a call of this turn; answers what the model reads."""
        content: dict[str, Any] = self._add(tool, "arguments", arguments, None)["content"]
        return content

    def resolve(self, schema: Any, arguments: Any) -> dict[str, Any]:
        """As `Conversation.resolve`, with the names of this turn too."""
        return self._desk.resolve(schema, arguments, self._draft.names)

    def _add(self, tool: str | None, kind: str, value: Any, inline_bytes_max: int | None) -> dict[str, Any]:
        if not self._is_open:
            raise CallerError("The turn is not open.", hint="Use it in a with block: with chat.turn() as turn.")
        return self._draft.add(CallInput(str(len(self._draft.results)), tool, kind, value, inline_bytes_max))


def _kind(value: Any) -> str:
    if is_tool_result(value):
        return "tool_result"
    return "mcp_result" if is_mcp_result(value) and "content" in value else "result"


def _names(tools: Sequence[str] | None, otherwise: list[str] | None) -> list[str] | None:
    return otherwise if tools is None else [*tools]


def _digest(reference: Mapping[str, Any] | str) -> Digest:
    return Digest.parse(reference) if isinstance(reference, str) else Reference.parse(dict(reference)).digest


def _guess(content: Any) -> str:
    """The type that a file name declares; it decides only between kinds that the bytes allow."""
    if not isinstance(content, str | Path):
        return BINARY
    path = Path(content)
    return _TYPES_BY_SUFFIX.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or BINARY


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None
    except OSError as error:
        raise CallerError(f"{path} cannot be read: {error.strerror}.") from None
