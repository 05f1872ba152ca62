"""`Turn`: made step by step, committed or rolled back as a whole."""

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from blobs.conversations import conversation as talk
from blobs.conversations.offload import is_mcp_result, is_tool_result
from blobs.conversations.turn import CallInput, TurnDraft, with_blocks
from blobs.domain.errors import CallerError, ConflictError
from blobs.storage.catalog import ConversationRecord

if TYPE_CHECKING:
    from blobs.client.front import Blobs


class Turn:
    """A turn made step by step. Names are given in the order of its calls; nothing is kept if the block raises."""

    def __init__(
        self,
        inner: talk.Conversation,
        blobs: "Blobs",
        service: str | None,
        tools: list[str] | None,
        record: Any,
    ) -> None:
        self._inner = inner
        self._blobs = blobs
        self._desk = blobs.service.desk(blobs.tenant_name)
        self._service = service
        self._tools = tools
        self._record = record
        self._is_open = False

    @cached_property
    def _state(self) -> ConversationRecord:
        return self._inner.record()

    @cached_property
    def _draft(self) -> TurnDraft:
        number = 1 if self._state.last_turn is None else self._state.last_turn + 1
        names = self._inner.names(turn=number)
        service = self._service or self._state.service
        outbox = self._desk.outbox()
        return TurnDraft(self._desk, names, outbox, number=number, service=service, offered=self._tools)

    def __enter__(self) -> Self:
        for each in ("_state", "_draft"):
            vars(self).pop(each, None)  # it begins here, however long ago it was made
        _ = self._draft
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
        self._draft.outbox.settle()  # what is sent whole is read
        answer = with_blocks(self._draft.answer(), self._desk, self._draft.names, self._service)
        results: list[dict[str, Any]] = self._blobs.ready(answer["results"])
        return results

    @property
    def handles(self) -> list[dict[str, Any]]:
        """The handles shown in this turn so far."""
        handles: list[dict[str, Any]] = self._blobs.ready(self._draft.handles)
        return handles

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
        self._draft.outbox.settle()  # a reference is to something that is there
        resolved: dict[str, Any] = self._blobs.ready(self._desk.resolve(schema, arguments, self._draft.names))
        return resolved

    def _add(self, tool: str | None, kind: str, value: Any, inline_bytes_max: int | None) -> dict[str, Any]:
        if not self._is_open:
            raise CallerError("The turn is not open.", hint="Use it in a with block: with chat.turn() as turn.")
        call = CallInput(str(len(self._draft.results)), tool, kind, value, inline_bytes_max)
        result: dict[str, Any] = self._blobs.ready(self._draft.add(call))
        return result


def _kind(value: Any) -> str:
    if is_tool_result(value):
        return "tool_result"
    return "mcp_result" if is_mcp_result(value) and "content" in value else "result"
