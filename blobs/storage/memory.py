"""Stores in memory: the reference that every other one is compared with."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.storage import refusals
from blobs.storage.catalog import Change, ConversationRecord, NameRecord, TurnRecord, named_blobs
from blobs.storage.content import State
from blobs.storage.memory_access import MemoryAccess
from blobs.storage.memory_keeping import require_recordable


class MemoryContentStore:
    """A `ContentStore` in memory; gone with the process."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._written_ms: dict[str, int] = {}
        self._incarnations = itertools.count()

    def put(self, digest: Digest, content: bytes) -> str:
        key = f"{digest.hex}.{next(self._incarnations)}"
        self._written_ms[key] = time.time_ns() // 1_000_000
        self._contents[key] = bytes(content)
        return key

    def put_all(self, contents: Sequence[tuple[Digest, bytes]]) -> list[str]:
        return [self.put(*each) for each in contents]

    def writer(self) -> "_MemoryWriter":
        return _MemoryWriter(self)

    def read(self, key: str, start: int, stop: int) -> bytes:
        return self._content(key)[start:stop]

    def read_at_once(self, key: str, start: int, stop: int) -> bytes:
        return self.read(key, start, stop)

    def state(self, key: str) -> State | None:  # noqa: ARG002  # nobody else can write there, and nobody asks
        return None

    def size(self, key: str) -> int:
        return len(self._content(key))

    def delete(self, key: str) -> bool:
        self._written_ms.pop(key, None)
        return self._contents.pop(key, None) is not None

    def keys(self) -> Iterator[str]:
        return iter(list(self._contents))

    def written_ms(self, key: str) -> int:
        try:
            return self._written_ms[key]
        except KeyError:
            raise _gone() from None

    def tidy(self) -> int:
        return 0  # a writer's bytes go with it

    def path(self, key: str) -> Path | None:  # noqa: ARG002  # no content in memory has a file
        return None

    def close(self) -> None:
        """Nothing to release: what was stored stays readable as long as the object lives."""

    def _content(self, key: str) -> bytes:
        try:
            return self._contents[key]
        except KeyError:
            raise _gone() from None


def _gone() -> NotFoundError:
    return NotFoundError("The content is gone.", hint="Look the blob up again.")


class _MemoryWriter:
    def __init__(self, store: MemoryContentStore) -> None:
        self._store = store
        self._content = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._content.clear()

    def write(self, chunk: bytes | memoryview) -> None:
        self._content += chunk

    def commit(self, digest: Digest) -> str:
        return self._store.put(digest, bytes(self._content))


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation as one immutable value, so that a change is one assignment."""

    version: int
    service: str | None
    tools: str | None
    created_ms: int
    names: dict[int, NameRecord]
    turns: dict[int, TurnRecord]

    def uses(self, digest: Digest) -> bool:
        return any(name.digest == digest for name in self.names.values()) or any(
            turn.record is not None and turn.record.digest == digest for turn in self.turns.values()
        )


class MemoryCatalog(MemoryAccess):
    """A `Catalog` in memory; gone with the process."""

    def __init__(self) -> None:
        super().__init__()
        self._conversations: dict[tuple[str, str], _Conversation] = {}

    def version(self) -> int | None:
        return None

    def find_finding(self, tenant: str, digest: Digest, kind: str) -> str | None:
        return self._findings.get((tenant, digest, kind))

    def save_finding(self, tenant: str, digest: Digest, kind: str, text: str) -> None:
        require_recordable(kind, text)
        with self._lock:
            self._require_blobs(tenant, digest)
            self._findings[tenant, digest, kind] = text

    def create_conversation(
        self,
        tenant: str,
        conversation: str,
        *,
        created_ms: int,
        service: str | None = None,
        tools: str | None = None,
        names: tuple[NameRecord, ...] = (),
        turns: tuple[TurnRecord, ...] = (),
    ) -> ConversationRecord:
        require_recordable(tenant, conversation, created_ms, service, tools, names, turns)
        with self._lock:
            if (tenant, conversation) in self._conversations:
                raise refusals.conversation_exists(conversation)
            self._require_blobs(tenant, *named_blobs(names, turns))
            state = _Conversation(
                1,
                service,
                tools,
                created_ms,
                {each.number: each for each in names},
                {each.number: each for each in turns},
            )
            self._conversations[tenant, conversation] = state
            self._label_all(tenant, names)
            return _record(conversation, state)

    def find_conversation(self, tenant: str, conversation: str) -> ConversationRecord | None:
        state = self._conversations.get((tenant, conversation))
        return None if state is None else _record(conversation, state)

    def list_conversations(
        self, tenant: str, *, after: str | None = None, limit: int = 1000
    ) -> list[ConversationRecord]:
        with self._lock:
            found = [(id_, each) for (owner, id_), each in self._conversations.items() if owner == tenant]
        later = sorted((each for each in found if after is None or each[0] > after), key=lambda each: each[0])
        return [_record(*each) for each in later[:limit]]

    def delete_conversation(self, tenant: str, conversation: str) -> bool:
        with self._lock:
            return self._conversations.pop((tenant, conversation), None) is not None

    def names(self, tenant: str, conversation: str) -> list[NameRecord]:
        state = self._conversations.get((tenant, conversation))
        return [] if state is None else [state.names[number] for number in sorted(state.names)]

    def find_name(self, tenant: str, conversation: str, number: int) -> NameRecord | None:
        state = self._conversations.get((tenant, conversation))
        return None if state is None else state.names.get(number)

    def turns(self, tenant: str, conversation: str, *, after: int = -1, limit: int = 1000) -> list[TurnRecord]:
        state = self._conversations.get((tenant, conversation))
        if state is None:
            return []
        return [state.turns[number] for number in sorted(state.turns) if number > after][:limit]

    def find_turn(self, tenant: str, conversation: str, number: int) -> TurnRecord | None:
        state = self._conversations.get((tenant, conversation))
        return None if state is None else state.turns.get(number)

    def commit(self, tenant: str, conversation: str, expected_version: int, change: Change) -> int:
        require_recordable(change)
        with self._lock:
            state = self._conversations.get((tenant, conversation))
            if state is None:
                raise refusals.no_conversation(conversation)
            if state.version != expected_version:
                raise refusals.version_moved(conversation, expected=expected_version, found=state.version)
            for blob in change.blobs:
                self._require_untrashed(blob)
            new = {each.digest for each in change.blobs}
            wanted = [each.digest for each in change.findings]
            wanted += named_blobs(change.names, () if change.turn is None else (change.turn,))
            self._require_blobs(tenant, *(each for each in wanted if each not in new))
            changed = _changed(state, change)
            for blob in change.blobs:
                self._record(tenant, blob)
            self._findings.update({(tenant, each.digest, each.kind): each.text for each in change.findings})
            self._conversations[tenant, conversation] = changed
            self._label_all(tenant, change.names)
            return changed.version

    def close(self) -> None:
        """Nothing to release: what was recorded stays readable as long as the object lives."""

    def _is_named(self, tenant: str, digest: Digest) -> bool:
        return any(owner == tenant and each.uses(digest) for (owner, _), each in self._conversations.items())

    def _label_all(self, tenant: str, names: tuple[NameRecord, ...]) -> None:
        for each in names:
            self._label(tenant, each.digest, each.type, each.tool)


def _record(conversation: str, state: _Conversation) -> ConversationRecord:
    return ConversationRecord(
        conversation,
        state.version,
        max(state.turns, default=None),
        max(state.names, default=0) + 1,
        state.service,
        state.tools,
        state.created_ms,
    )


def _changed(state: _Conversation, change: Change) -> _Conversation:
    names, turns = dict(state.names), dict(state.turns)
    if change.drop_turns_from is not None:
        turns = {number: each for number, each in turns.items() if number < change.drop_turns_from}
        names = {
            number: _unshown(each, change.drop_turns_from)
            for number, each in names.items()
            if each.turn is None or each.turn < change.drop_turns_from
        }
    if change.turn is not None:
        if change.turn.number in turns:
            raise refusals.turn_exists(change.turn.number)
        turns[change.turn.number] = change.turn
    names.update({each.number: each for each in change.names})
    return _Conversation(
        state.version + 1,
        state.service if change.service is None else change.service,
        state.tools if change.tools is None else change.tools,
        state.created_ms,
        names,
        turns,
    )


def _unshown(name: NameRecord, dropped_from: int) -> NameRecord:
    if name.previewed_turn is None or name.previewed_turn < dropped_from:
        return name
    return replace(name, is_previewed=False, previewed_turn=None)
