"""`Conversation`: turns, attachments, tool calls, its dump."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blobs.client.turn import Turn
from blobs.conversations import conversation as talk
from blobs.conversations.turn import parse_call
from blobs.domain.errors import CallerError
from blobs.domain.reference import Reference

if TYPE_CHECKING:
    from blobs.client.front import Blobs


class Conversation:
    """One conversation: turns, attachments, tool calls, its dump."""

    def __init__(
        self,
        inner: talk.Conversation,
        blobs: "Blobs",
        *,
        service: str | None = None,
        tools: Sequence[str] | None = None,
    ) -> None:
        self.id = inner.id
        self._inner = inner
        self._blobs = blobs
        self._service = service
        self._tools = None if tools is None else [*tools]

    def turn(self, *, service: str | None = None, tools: Sequence[str] | None = None, record: Any = None) -> "Turn":
        """A turn to be made step by step in a `with` block; rolled back if the block raises."""
        return Turn(self._inner, self._blobs, service or self._service, _names(tools, self._tools), record)

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
        if number < 0:
            raise CallerError("Turns are numbered from 0.", code="invalid_turn")
        request = {"calls": [*calls], "service": service, "tools": tools, "record": record}
        answer: dict[str, Any] = self._blobs.ready(
            self._inner.put_turn(
                number,
                [parse_call(call, i) for i, call in enumerate(calls)],
                request=request,
                service=service or self._service,
                offered=_names(tools, self._tools),
                record=record,
            )
        )
        return answer

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
        shown: dict[str, Any] = self._blobs.ready(self._inner.attach(reference))
        return shown

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        """Run one tool call outside a turn; answers what the model reads."""
        shown: dict[str, Any] = self._blobs.ready(self._inner.call(tool, arguments, offered=self._tools))
        return shown

    def resolve(self, schema: Any, arguments: Any) -> dict[str, Any]:
        """`{"ok": True, "arguments"}` with references in place of names, or `{"ok": False, "message"}`."""
        shown: dict[str, Any] = self._blobs.ready(self._inner.resolve(schema, arguments))
        return shown

    def dump(self) -> dict[str, Any]:
        """`{"blobs": {name: reference}, "turns": [reference]}`, to be carried on from."""
        return self._inner.dump()

    def fork(self, id: str | None = None) -> "Conversation":  # noqa: A002  # the word of the design
        """A copy with its own id."""
        return Conversation(self._inner.fork(id), self._blobs, service=self._service, tools=self._tools)

    def handles(self) -> list[dict[str, Any]]:
        """The handles of all names, without previews."""
        shown: list[dict[str, Any]] = self._blobs.ready(self._inner.handles())
        return shown

    def describe(self, name: str) -> dict[str, Any]:
        """One handle with its preview, reference and profile."""
        shown: dict[str, Any] = self._blobs.ready(self._inner.describe(name))
        return shown

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


def _names(tools: Sequence[str] | None, otherwise: list[str] | None) -> list[str] | None:
    return otherwise if tools is None else [*tools]
