"""What the book of records promises, and the records. The catalog alone decides what exists."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from blobs.domain.digest import Digest
from blobs.domain.reference import Reference
from blobs.storage.access import Access
from blobs.storage.keeping import BlobRecord, BlobRecords, Quotas, Retention


@dataclass(frozen=True, slots=True)
class NameRecord:
    """What `blob<number>` means in a conversation.

    `turn` is the turn that gave the name, `None` outside any turn (attachments, names carried on); `tool` whose result
    it was. `previewed_turn` is the turn that showed the preview, if one did.
    """

    number: int
    digest: Digest
    size: int
    type: str
    turn: int | None = None
    tool: str | None = None
    is_previewed: bool = False
    previewed_turn: int | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A committed turn.

    `request_digest` identifies the request, so that a retry is known as one; `answer` is the JSON text that the model
    read, kept because it is never computed anew; `record` is the blob with the caller's own account of the turn.
    """

    number: int
    request_digest: str
    answer: str
    record: Reference | None = None


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """The state of a conversation at one version.

    `last_turn` (None where there is none) and `next_name` follow from the turns and names that are there: a rollback
    takes both back, and a retry gives the same names. `service` and `tools` (JSON text) are what the caller last said.
    """

    id: str
    version: int
    last_turn: int | None
    next_name: int
    service: str | None
    tools: str | None
    created_ms: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a blob, under a kind."""

    digest: Digest
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one commit does to a conversation, in this order.

    `blobs`, whose bytes are durable, are recorded as `add_blob` does, and `findings` about them or others kept.
    `drop_turns_from` removes that turn and all after it, the names they gave and the preview flags they set. `turn` is
    then added. Each of `names` is added, or takes the place of the one with its number. `service` and `tools` replace
    what was there; `None` leaves it.
    """

    drop_turns_from: int | None = None
    turn: TurnRecord | None = None
    names: tuple[NameRecord, ...] = ()
    service: str | None = None
    tools: str | None = None
    blobs: tuple[BlobRecord, ...] = ()
    findings: tuple[Finding, ...] = ()


def named_blobs(names: Iterable[NameRecord], turns: Iterable[TurnRecord]) -> list[Digest]:
    """The blobs that must be recorded before these names and turns can be, in the order in which they are missed."""
    return [each.digest for each in names] + [each.record.digest for each in turns if each.record is not None]


class Catalog(BlobRecords, Retention, Quotas, Access, Protocol):
    """Records of tenants, none of whom can see another's.

    Every verb is atomic and, where it writes, durable on return (save for findings); each may be called from many
    threads, and several processes may share one catalog. Text is Unicode without lone surrogates, numbers are below
    2**63; `CallerError` otherwise. A record can name only a blob that is recorded, and a blob that is named is not
    removed, so what a conversation holds is never lost. Every verb raises `StoreError` where the store fails; nothing
    was changed then.
    """

    def version(self) -> int | None:
        """What changes with everything that any process writes, `None` where that is not known.

        One object answers the same number twice only where nothing was written in between.
        """
        ...

    def find_finding(self, tenant: str, digest: Digest, kind: str) -> str | None:
        """What was found out about a blob under this kind."""
        ...

    def save_finding(self, tenant: str, digest: Digest, kind: str, text: str) -> None:
        """Keep or replace a finding about a blob; `NotFoundError` where the blob is not recorded.

        A power cut may undo it until something is written after it: what was found can be found again.
        """
        ...

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
        """Begin a conversation at version 1, with what it carries on from another.

        Raises `ConflictError` where the id is taken and `NotFoundError` where a blob is not recorded.
        """
        ...

    def find_conversation(self, tenant: str, conversation: str) -> ConversationRecord | None:
        """The conversation as it is now."""
        ...

    def list_conversations(
        self, tenant: str, *, after: str | None = None, limit: int = 1000
    ) -> list[ConversationRecord]:
        """Conversations in the order of their ids (by code point), `limit` at a time."""
        ...

    def delete_conversation(self, tenant: str, conversation: str) -> bool:
        """Remove a conversation with its names and turns, not its blobs; was it there?"""
        ...

    def names(self, tenant: str, conversation: str) -> list[NameRecord]:
        """All names of a conversation by number; none where there is no such conversation."""
        ...

    def find_name(self, tenant: str, conversation: str, number: int) -> NameRecord | None:
        """What `blob<number>` means in a conversation."""
        ...

    def turns(self, tenant: str, conversation: str, *, after: int = -1, limit: int = 1000) -> list[TurnRecord]:
        """Turns of a conversation by number, `limit` at a time; none where there is no such conversation."""
        ...

    def find_turn(self, tenant: str, conversation: str, number: int) -> TurnRecord | None:
        """One turn of a conversation."""
        ...

    def commit(self, tenant: str, conversation: str, expected_version: int, change: Change) -> int:
        """Apply a change whole or not at all, if the conversation is still at this version; answers the new version.

        Raises `ConflictError` where it has moved on or the turn is there already, `NotFoundError` where the
        conversation, or a blob that the change names or tells of, does not exist, and a retryable `StoreError` where
        the key of a new blob is in the trash already.
        """
        ...

    def close(self) -> None:
        """Release files and connections; a second time does nothing."""
        ...
