"""The refusals that every catalog words alike."""

from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError, ConflictError, LimitError, NotFoundError, StoreError
from blobs.storage.keeping import Tombstone


def no_blob(digest: Digest, tombstone: Tombstone | None = None) -> NotFoundError:
    """The tenant holds no such blob; whether somebody else does cannot be told."""
    if tombstone is not None:
        origin = f", a result of {tombstone.tool}" if tombstone.tool else ""
        return NotFoundError(
            f"The blob {digest} was removed. It was {tombstone.type}, {tombstone.size:,} bytes{origin}.",
            code="removed",
            hint="Put its bytes again, or make the call that gave it again.",
        )
    return NotFoundError(f"There is no blob {digest}.", hint="Put its bytes first, or check the digest.")


def no_conversation(conversation: str) -> NotFoundError:
    """The tenant has no such conversation."""
    return NotFoundError(f"There is no conversation {conversation[:80]!r}.", hint="Create it first, or check its id.")


def conversation_exists(conversation: str) -> ConflictError:
    """The id is taken."""
    return ConflictError(
        f"There is a conversation {conversation[:80]!r} already.", code="conversation_exists", hint="Choose another id."
    )


def version_moved(conversation: str, *, expected: int, found: int) -> ConflictError:
    """Somebody else committed first."""
    return ConflictError(
        f"Conversation {conversation[:80]!r} is at version {found}, not {expected}.",
        code="version_conflict",
        hint="Read it again and redo the change.",
    )


def turn_exists(number: int) -> ConflictError:
    """The turn is there already."""
    return ConflictError(f"There is a turn {number} already.", code="turn_exists", hint="Drop it in the same change.")


def over_quota(size: int, *, used: int, bytes_max: int) -> LimitError:
    """The tenant has no room for so many bytes."""
    return LimitError(
        f"There is no room for {size:,} more bytes: tenant_bytes_max is {bytes_max:,}, and {used:,} are used.",
        code="over_quota",
        hint="Delete conversations and collect what nothing names, or have the limit raised.",
    )


def given_up(digest: Digest) -> StoreError:
    """The bytes waited so long for their record that they were taken for left behind."""
    error = StoreError(f"The bytes of {digest} were collected before they were recorded.", hint="Put them again.")
    error.is_retryable = True
    return error


def key_exists(identity: str) -> ConflictError:
    """The id or the hash of a key is taken."""
    return ConflictError(f"There is a key {identity[:80]!r} already.", code="key_exists", hint="Make another one.")


def unrecordable() -> CallerError:
    """A value that no catalog can write."""
    return CallerError(
        "A value cannot be recorded.", hint="Text must be Unicode without lone surrogates, numbers below 2**63."
    )
