"""Conversations: the scope of blob names, its turns, its dump."""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from blobs.conversations.desk import Desk, request_digest
from blobs.conversations.naming import Names
from blobs.conversations.turn import CallInput, TurnDraft, with_blocks
from blobs.domain import exact_json
from blobs.domain.errors import CallerError, ConflictError, NotFoundError
from blobs.domain.handle import Profile, blob_name, handle, parse_blob_name
from blobs.domain.media_type import JSON
from blobs.domain.reference import Reference
from blobs.domain.services import service_profile
from blobs.storage.catalog import Change, ConversationRecord, NameRecord, TurnRecord

_TRIES = 20
"""How often a commit is made anew when others committed meanwhile; each try only names again, nothing is recomputed."""


class Conversation:
    """One conversation of one tenant, looked up anew at every call: processes share it and none holds its state."""

    def __init__(self, desk: Desk, identity: str) -> None:
        self.id = identity
        self._desk = desk

    # State

    def record(self) -> ConversationRecord:
        """The conversation as it is now; `NotFoundError` where it is gone."""
        found = self._desk.catalog.find_conversation(self._desk.tenant, self.id)
        if found is None:
            raise NotFoundError(f"There is no conversation {self.id[:80]!r}.", hint="Create it first.")
        return found

    def names(self, *, turn: int | None = None) -> Names:
        """The names of the conversation, for looking up or for a turn to add to."""
        return Names(self._desk.catalog.names(self._desk.tenant, self.id), turn=turn)

    def handles(self) -> list[dict[str, Any]]:
        """The handle of every name, without previews."""
        return [self._handle(record, with_preview=False) for record in self._name_records()]

    def describe(self, name: str) -> dict[str, Any]:
        """One handle with its preview, beside `profile` and `reference`; `NotFoundError` for an unknown name."""
        record = self.find(name)
        reference = Reference(record.digest, record.size, record.type)
        profile = self._profile(record)
        return {
            **handle(name, profile, record.size, with_preview=True),
            "reference": reference.to_json(),
            "profile": profile.to_json(),
        }

    def find(self, name: str) -> NameRecord:
        """What a name means here; `NotFoundError` where it means nothing."""
        number = parse_blob_name(name)
        found = self._desk.catalog.find_name(self._desk.tenant, self.id, number) if number else None
        if found is None:
            self.record()  # there is no name without its conversation, so it is asked for only to say which is missing
            raise NotFoundError(f"There is no {name[:40]} in this conversation.")
        return found

    def _name_records(self) -> list[NameRecord]:
        self.record()
        return self._desk.catalog.names(self._desk.tenant, self.id)

    def _profile(self, record: NameRecord) -> Profile:
        return self._desk.offloader.placed(Reference(record.digest, record.size, record.type)).profile

    def _handle(self, record: NameRecord, *, with_preview: bool) -> dict[str, Any]:
        try:
            profile = self._profile(record)
        except NotFoundError:  # purged; whoever wants to read it is told so
            profile = Profile(record.type, "binary", None, None, 0, {"notes": ["removed"]}, {})
        return handle(blob_name(record.number), profile, record.size, with_preview=with_preview)

    # Turns

    def put_turn(
        self,
        number: int,
        calls: Sequence[CallInput],
        *,
        request: Any,
        service: str | None = None,
        offered: list[str] | None = None,
        record: Any = None,
    ) -> dict[str, Any]:
        """Take in all calls of turn `number`, in call order, and answer what the model reads.

        The same request again gives the same bytes; another one replaces the turn if it is the last. Raises
        `ConflictError` for another request to an earlier turn.
        """
        if service is not None:
            service_profile(service)  # an unknown one is the caller's mistake, told before anything is stored
        digest = request_digest(request)
        prepared, outbox = None, self._desk.outbox()
        for _ in range(_TRIES):
            state = self.record()
            known = self._desk.catalog.find_turn(self._desk.tenant, self.id, number)
            if known is not None and known.request_digest == digest:
                return self._again(known, service or state.service)
            last = -1 if state.last_turn is None else state.last_turn
            if number <= last and (known is None or number != last):
                raise ConflictError(
                    f"Turn {number} is not the last one, and this is another request than the one it was made of.",
                    hint=f"The last turn is {last}. Delete turn {number} first, or hand in a later one.",
                )
            records = self._desk.catalog.names(self._desk.tenant, self.id)
            names = Names(_before(records, number), turn=number)
            draft = TurnDraft(
                self._desk, names, outbox, number=number, service=service or state.service, offered=offered
            )
            if prepared is None:
                prepared = draft.prepare(calls)
            draft.place_all(calls, prepared)
            answer = exact_json.text(draft.answer())
            turn = TurnRecord(number, digest, answer, self._keep_record(draft, record))
            change = Change(drop_turns_from=number, turn=turn, names=names.changed)
            try:
                outbox.commit(self.id, state.version, change)
            except ConflictError:
                continue
            return self._again(turn, service or state.service)
        raise ConflictError("The conversation keeps changing.", hint="Hand in the turns of one conversation in turn.")

    def commit_draft(self, draft: TurnDraft, state: ConversationRecord, record: Any = None) -> None:
        """Commit a turn that was made step by step upon `state`; `ConflictError` where that moved on."""
        answer = exact_json.text(draft.answer())
        turn = TurnRecord(draft.number, request_digest(draft.answer()), answer, self._keep_record(draft, record))
        draft.outbox.commit(self.id, state.version, Change(turn=turn, names=draft.names.changed))

    def _again(self, turn: TurnRecord, service: str | None) -> dict[str, Any]:
        answer: dict[str, Any] = exact_json.loads(turn.answer)
        return with_blocks(answer, self._desk, self.names(), service)

    def _keep_record(self, draft: TurnDraft, record: Any) -> Reference:
        """The turn's record as a blob: the caller's own account of it, or what the model was shown."""
        content = exact_json.dumps(draft.answer() if record is None else record)
        return draft.outbox.put(content, media_type=JSON)

    def delete_turn(self, number: int) -> bool:
        """Roll back a turn and all after it: their names and preview flags go, bytes stay. Was there anything?"""
        for _ in range(_TRIES):
            state = self.record()
            if state.last_turn is None or number > state.last_turn:
                return False
            try:
                change = Change(drop_turns_from=number)
                self._desk.catalog.commit(self._desk.tenant, self.id, state.version, change)
            except ConflictError:
                continue
            return True
        raise ConflictError("The conversation keeps changing.", hint="Try again when its calls have ended.")

    # Outside turns

    def attach(self, reference: Reference) -> dict[str, Any]:
        """Name a stored blob: an attachment or an input. Answers its handle, previewed if that was not shown yet."""
        placed = self._desk.offloader.placed(reference)
        shown: dict[str, Any] = self._committed(lambda names: names.handle(placed, None))
        return shown

    def call(self, tool: str, arguments: Any, *, offered: list[str] | None = None) -> dict[str, Any]:
        """Run one tool call outside a turn."""
        self.record()
        called = self._desk.run_tool(tool, arguments, self.names(), offered=offered)
        if called.blob is None:
            return self._desk.say(called, self.names())
        said: dict[str, Any] = self._committed(lambda names: self._desk.say(called, names))
        return said

    def _committed(self, act: Any) -> Any:
        for _ in range(_TRIES):
            state = self.record()
            names = self.names()
            result = act(names)
            if not names.changed:
                return result
            try:
                self._desk.catalog.commit(self._desk.tenant, self.id, state.version, Change(names=names.changed))
            except ConflictError:
                continue
            return result
        raise ConflictError("The conversation keeps changing.", hint="Try again when its calls have ended.")

    def resolve(self, schema: Any, arguments: Any) -> dict[str, Any]:
        """Arguments with references in place of names, or the problems as a message for the model."""
        self.record()
        return self._desk.resolve(schema, arguments, self.names())

    # Carrying on

    def dump(self) -> dict[str, Any]:
        """The conversation as references: `{"blobs": {name: reference}, "turns": [reference]}`."""
        blobs = {
            blob_name(record.number): Reference(record.digest, record.size, record.type).to_json()
            for record in self._name_records()
        }
        turns = [turn.record.to_json() for turn in self._turns() if turn.record is not None]
        return {"blobs": blobs, "turns": turns}

    def fork(self, identity: str | None = None) -> "Conversation":
        """A copy with its own id: same names, same turns, from then on each its own."""
        state = self.record()
        copy = identity or new_id()
        self._desk.catalog.create_conversation(
            self._desk.tenant,
            copy,
            created_ms=now_ms(),
            service=state.service,
            tools=state.tools,
            names=tuple(self._name_records()),
            turns=tuple(self._turns()),
        )
        return Conversation(self._desk, copy)

    def _turns(self) -> list[TurnRecord]:
        turns: list[TurnRecord] = []
        while page := self._desk.catalog.turns(self._desk.tenant, self.id, after=turns[-1].number if turns else -1):
            turns.extend(page)
        return turns

    def delete(self) -> bool:
        """Forget the conversation; its blobs stay until they are collected. Was it there?"""
        return self._desk.catalog.delete_conversation(self._desk.tenant, self.id)


def open_conversation(
    desk: Desk,
    identity: str | None,
    *,
    carry_on: Mapping[str, Any] | None = None,
    service: str | None = None,
    tools: Any = None,
) -> Conversation:
    """Create a conversation, or carry one on from its dump; nothing passed in is changed.

    Raises `ConflictError` where the id is taken, `CallerError` where the dump is none, and `NotFoundError` where a blob
    of it is not the tenant's.
    """
    if service is not None:
        service_profile(service)
    names, turns = _from_dump(desk, carry_on) if carry_on is not None else ((), ())
    conversation = Conversation(desk, identity or new_id())
    desk.catalog.create_conversation(
        desk.tenant,
        conversation.id,
        created_ms=now_ms(),
        service=service,
        tools=None if tools is None else exact_json.text(tools),
        names=names,
        turns=turns,
    )
    return conversation


def _from_dump(desk: Desk, dump: Mapping[str, Any]) -> tuple[tuple[NameRecord, ...], tuple[TurnRecord, ...]]:
    hint = 'Give {"blobs": {name: reference}, "turns": [reference]} as `dump` gave it.'
    if not isinstance(dump, Mapping) or set(dump) != {"blobs", "turns"}:
        raise CallerError("conversation: not a dumped conversation.", code="invalid_dump", hint=hint)
    if not isinstance(dump["blobs"], Mapping) or not isinstance(dump["turns"], list | tuple):
        raise CallerError("conversation: not a dumped conversation.", code="invalid_dump", hint=hint)
    names = []
    for name, value in dump["blobs"].items():
        number = parse_blob_name(name) if isinstance(name, str) else None
        if number is None:
            raise CallerError(
                f"conversation.blobs: {str(name)[:40]!r} is not a blob name.", code="invalid_dump", hint=hint
            )
        reference = Reference.parse(value)
        size = desk.store.open(desk.tenant, reference.digest).size
        names.append(NameRecord(number, reference.digest, size, reference.type, is_previewed=True))
    turns = []
    for i, value in enumerate(dump["turns"]):
        reference = Reference.parse(value)
        desk.store.open(desk.tenant, reference.digest)
        turns.append(TurnRecord(i + 1, "", "null", reference))
    return tuple(names), tuple(turns)


def _before(records: list[NameRecord], turn: int) -> list[NameRecord]:
    """The names as they are without this turn and all after it."""
    kept = []
    for record in records:
        if record.turn is not None and record.turn >= turn:
            continue
        if record.previewed_turn is not None and record.previewed_turn >= turn:
            record = NameRecord(  # noqa: PLW2901  # the same name with its flag taken back
                record.number, record.digest, record.size, record.type, record.turn, record.tool
            )
        kept.append(record)
    return kept


def new_id() -> str:
    """An id for a conversation whose caller gave none."""
    return f"c-{uuid.uuid4().hex}"


def now_ms() -> int:
    """Unix time in milliseconds."""
    return int(time.time() * 1000)
