"""The refusals that every catalog words alike."""

from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError, ConflictError, NotFoundError


def no_blob(digest: Digest) -> NotFoundError:
    """The tenant holds no such blob; whether somebody else does cannot be told."""
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


def blob_in_use(digest: Digest) -> ConflictError:
    """A conversation names the blob."""
    return ConflictError(
        f"{digest} is named by a conversation.", code="blob_in_use", hint="Delete the conversation or its turn first."
    )


def unrecordable() -> CallerError:
    """A value that no catalog can write."""
    return CallerError(
        "A value cannot be recorded.", hint="Text must be Unicode without lone surrogates, numbers below 2**63."
    )
