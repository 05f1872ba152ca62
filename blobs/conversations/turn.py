"""A turn: the results of one model call's tools, committed together or not at all."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from blobs.conversations.desk import Called, Desk
from blobs.conversations.naming import Names
from blobs.conversations.offload import Draft, Shown
from blobs.conversations.whole import whole_block
from blobs.domain import exact_json
from blobs.domain.errors import CallerError
from blobs.domain.handle import parse_blob_name
from blobs.domain.reference import Reference
from blobs.domain.services import accepts
from blobs.reading.opening import FALLBACKS
from blobs.storage.outbox import Outbox

KINDS = ("result", "tool_result", "mcp_result", "error", "denied", "reference", "arguments")
"""What a call of a turn brings, under the key of the same name; `arguments` are a call that the service runs itself."""

WORKERS_MAX = 8
"""Calls of one turn that are worked on side by side."""


@dataclass(frozen=True, slots=True)
class CallInput:
    """One tool call of a turn: its id and tool as the model gave them, and what it brings."""

    id: str
    tool: str | None
    kind: str
    value: Any
    inline_bytes_max: int | None = None


class TurnDraft:
    """A turn being made: results are prepared side by side and placed one after another, in call order."""

    def __init__(
        self,
        desk: Desk,
        names: Names,
        outbox: Outbox,
        *,
        number: int,
        service: str | None,
        offered: list[str] | None,
    ) -> None:
        """What the turn stores waits in the `outbox` until it is committed."""
        self.number = number
        self.names = names
        self.results: list[dict[str, Any]] = []
        self.handles: list[dict[str, Any]] = []
        self.outbox = outbox
        self._desk = desk
        self._offloader = desk.offloader.with_outbox(outbox)
        self._service = service
        self._offered = offered

    def prepare(self, calls: Sequence[CallInput]) -> list[Draft | Called]:
        """Do the work of all calls, side by side."""
        if len(calls) <= 1:
            return [self._prepare(call) for call in calls]
        with ThreadPoolExecutor(min(WORKERS_MAX, len(calls)), thread_name_prefix="blobs-turn") as workers:
            return list(workers.map(self._prepare, calls))

    def place_all(self, calls: Sequence[CallInput], prepared: Sequence[Draft | Called]) -> None:
        """Take prepared calls into the turn, in call order."""
        for call, each in zip(calls, prepared, strict=True):
            self.place(call, each)

    def add(self, call: CallInput) -> dict[str, Any]:
        """Prepare and place one call; answers its result."""
        if call.kind == "arguments":
            self.outbox.settle()  # it may be about what was stored in this turn
        return self.place(call, self._prepare(call))

    def _prepare(self, call: CallInput) -> Draft | Called:
        if call.kind == "arguments":
            return self._desk.run_tool(call.tool or "", call.value, self.names, offered=self._offered)
        return self._offloader.prepare(
            call.value, tool=call.tool, kind=call.kind, inline_bytes_max=call.inline_bytes_max
        )

    def place(self, call: CallInput, prepared: Draft | Called) -> dict[str, Any]:
        """Give names to a prepared call's blobs and take its result into the turn."""
        before = {record.number for record in self.names.changed if record.is_previewed}
        if isinstance(prepared, Called):
            content = self._desk.say(prepared, self.names)
            shown = Shown(content, exact_json.text(content), is_error=not prepared.answer.is_ok)
            placed = [prepared.blob] if prepared.blob is not None else []
        else:
            shown = self._offloader.place(prepared, self.names)
            placed = prepared.blobs
        result: dict[str, Any] = {
            "id": call.id,
            "content": shown.content,
            "text": shown.text,
            "is_error": shown.is_error,
        }
        new = [record for record in self.names.changed if record.is_previewed and record.number not in before]
        whole = [f"blob{record.number}" for record in new if self._goes_whole(record.number, placed)]
        if whole:
            result["whole"] = whole
        self.results.append(result)
        self._collect_handles(shown.content)
        return result

    def _goes_whole(self, number: int, placed: list[Any]) -> bool:
        """Whether the service takes this blob as a content block of its own, beside the handle."""
        record = self.names.find(number)
        if self._service is None or record is None:
            return False
        profile = next((each.profile for each in placed if each.reference.digest == record.digest), None)
        if profile is None or profile.reader in FALLBACKS:
            return False  # bytes that only look like their format would fail at the service
        return accepts(self._service, record.type, record.size, profile.facts) is None

    def _collect_handles(self, content: Any) -> None:
        if isinstance(content, dict):
            if _is_handle(content):
                known = next((i for i, each in enumerate(self.handles) if each["blob"] == content["blob"]), None)
                if known is None:
                    self.handles.append(content)
                return
            for each in content.values():
                self._collect_handles(each)
        elif isinstance(content, list):
            for each in content:
                self._collect_handles(each)

    def answer(self) -> dict[str, Any]:
        """The turn's answer as it is kept: blobs that go whole are named, not copied into it."""
        return {"turn": self.number, "results": self.results, "handles": self.handles}


def with_blocks(answer: dict[str, Any], desk: Desk, names: Names, service: str | None) -> dict[str, Any]:
    """A kept answer as it is sent: the service's own content blocks in place of the names of what goes whole."""
    if not any("whole" in result for result in answer["results"]):
        return answer
    results = [dict(result) for result in answer["results"]]
    for result in results:
        if "whole" in result:
            blocks = [_block(name, desk, names, service) for name in result["whole"]]
            result["whole"] = [block for block in blocks if block is not None]
    return {**answer, "results": results}


def _block(name: str, desk: Desk, names: Names, service: str | None) -> dict[str, Any] | None:
    record = names.find(parse_blob_name(name) or 0)
    if record is None or service is None:
        return None
    blob = desk.store.open(desk.tenant, record.digest)
    facts = desk.offloader.placed(Reference(record.digest, record.size, record.type)).profile.facts
    if accepts(service, record.type, record.size, facts) is not None:
        return None  # shown under another service, which took it
    return whole_block(service, name, record.type, blob.read(0, blob.size))


def _is_handle(value: dict[str, Any]) -> bool:
    return isinstance(value.get("blob"), str) and {"type", "size", "cost"} <= set(value)


def parse_call(value: Any, place: int) -> CallInput:
    """One call of a turn from its JSON form; raises `CallerError` naming the place."""
    at = f"calls.{place}"
    if not isinstance(value, dict):
        raise CallerError(f"{at}: not an object.", code="invalid_turn", hint='Give {"id", "tool", and what it brings}.')
    given = [kind for kind in KINDS if kind in value]
    if len(given) != 1:
        raise CallerError(
            f"{at}: {'nothing' if not given else ' and '.join(given)} given.",
            code="invalid_turn",
            hint=f"Give exactly one of {', '.join(KINDS)}.",
        )
    unknown = sorted(set(value) - {"id", "tool", "inline_bytes_max", *KINDS})
    if unknown:
        raise CallerError(f"{at}.{unknown[0]}: there is no such key.", code="invalid_turn")
    identity, tool, most = value.get("id", str(place)), value.get("tool"), value.get("inline_bytes_max")
    if not isinstance(identity, str) or not (tool is None or isinstance(tool, str)):
        raise CallerError(f"{at}: id and tool are strings.", code="invalid_turn")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise CallerError(f"{at}.inline_bytes_max: not a number of bytes.", code="invalid_turn")
    return CallInput(identity, tool, given[0], value[given[0]], most)
