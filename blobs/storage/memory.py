"""Stores in memory: the reference that every other one is compared with."""

import itertools
import re
import threading
from collections.abc import Iterator
from dataclasses import astuple, dataclass, is_dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError
from blobs.storage import refusals
from blobs.storage.catalog import BlobRecord, Change, ConversationRecord, NameRecord, TurnRecord, named_blobs

_SURROGATES = re.compile("[\ud800-\udfff]")


class MemoryContentStore:
    """A `ContentStore` in memory; gone with the process."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._incarnations = itertools.count()

    def put(self, digest: Digest, content: bytes) -> str:
        key = f"{digest.hex}.{next(self._incarnations)}"
        self._contents[key] = bytes(content)
        return key

    def writer(self) -> "_MemoryWriter":
        return _MemoryWriter(self)

    def read(self, key: str, start: int, stop: int) -> bytes:
        return self._content(key)[start:stop]

    def size(self, key: str) -> int:
        return len(self._content(key))

    def delete(self, key: str) -> bool:
        return self._contents.pop(key, None) is not None

    def keys(self) -> Iterator[str]:
        return iter(list(self._contents))

    def path(self, key: str) -> Path | None:  # noqa: ARG002  # no content in memory has a file
        return None

    def close(self) -> None:
        """Nothing to release: what was stored stays readable as long as the object lives."""

    def _content(self, key: str) -> bytes:
        try:
            return self._contents[key]
        except KeyError:
            raise NotFoundError("The content is gone.", hint="Look the blob up again.") from None


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


class MemoryCatalog:
    """A `Catalog` in memory; gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs: dict[tuple[str, Digest], BlobRecord] = {}
        self._findings: dict[tuple[str, Digest, str], str] = {}
        self._conversations: dict[tuple[str, str], _Conversation] = {}

    def find_blob(self, tenant: str, digest: Digest) -> BlobRecord | None:
        return self._blobs.get((tenant, digest))

    def add_blob(self, tenant: str, record: BlobRecord) -> BlobRecord:
        _require_recordable(tenant, record)
        return self._blobs.setdefault((tenant, record.digest), record)

    def list_blobs(self, tenant: str, *, after: Digest | None = None, limit: int = 1000) -> list[BlobRecord]:
        with self._lock:
            found = [each for (owner, _), each in self._blobs.items() if owner == tenant]
        later = [each for each in found if after is None or each.digest > after]
        return sorted(later, key=lambda each: each.digest)[:limit]

    def forget_blob(self, tenant: str, digest: Digest) -> BlobRecord | None:
        with self._lock:
            if any(owner == tenant and each.uses(digest) for (owner, _), each in self._conversations.items()):
                raise refusals.blob_in_use(digest)
            for finding in [each for each in self._findings if each[:2] == (tenant, digest)]:
                del self._findings[finding]
            return self._blobs.pop((tenant, digest), None)

    def find_finding(self, tenant: str, digest: Digest, kind: str) -> str | None:
        return self._findings.get((tenant, digest, kind))

    def save_finding(self, tenant: str, digest: Digest, kind: str, text: str) -> None:
        _require_recordable(kind, text)
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
        _require_recordable(tenant, conversation, created_ms, service, tools, names, turns)
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
        _require_recordable(change)
        with self._lock:
            state = self._conversations.get((tenant, conversation))
            if state is None:
                raise refusals.no_conversation(conversation)
            if state.version != expected_version:
                raise refusals.version_moved(conversation, expected=expected_version, found=state.version)
            self._require_blobs(tenant, *named_blobs(change.names, () if change.turn is None else (change.turn,)))
            changed = _changed(state, change)
            self._conversations[tenant, conversation] = changed
            return changed.version

    def close(self) -> None:
        """Nothing to release: what was recorded stays readable as long as the object lives."""

    def _require_blobs(self, tenant: str, *digests: Digest) -> None:
        for digest in digests:
            if (tenant, digest) not in self._blobs:
                raise refusals.no_blob(digest)


def _require_recordable(*values: Any) -> None:
    """Refuse what other catalogs cannot write: lone surrogates and numbers of more than 63 bits, at any depth."""
    for value in values:
        if is_dataclass(value):
            _require_recordable(*astuple(value))  # type: ignore[arg-type]  # only instances come here
        elif isinstance(value, tuple):
            _require_recordable(*value)
        elif (isinstance(value, str) and _SURROGATES.search(value)) or (isinstance(value, int) and value >= 2**63):
            raise refusals.unrecordable()


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
