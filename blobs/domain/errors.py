"""Errors: one root, and a second row that says whose fault it is.

The status of an HTTP answer, the exit code of the command line and whether a model may read the message are looked up
on the second row and nowhere else. Every message says what is wrong; `hint` says the next step.
"""

from typing import ClassVar


class BlobsError(Exception):
    """Root of every error that leaves this package.

    `code` is a stable identifier for programs, `hint` the next step for whoever reads the message, and `is_retryable`
    says that the same call may succeed later.
    """

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    is_for_model: ClassVar[bool] = False
    code: str = "internal_error"
    is_retryable: bool = False

    def __init__(self, message: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if code is not None:
            self.code = code

    @property
    def message(self) -> str:
        """What is wrong, without the hint."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.args[0]} {self.hint}".strip()


class CallerError(BlobsError):
    """The caller's fault: the call can never succeed as it is."""

    status = 400
    exit_code = 2
    is_for_model = True
    code = "invalid_call"


class ToolInputError(CallerError):
    """A tool call that the model must correct; its text reaches the model word for word."""

    status = 422
    code = "invalid_tool_input"


class ConflictError(CallerError):
    """The call contradicts what is already recorded, such as a turn that is not the last."""

    status = 409
    code = "conflict"


class DigestMismatchError(CallerError):
    """The bytes do not have the digest that the caller declared; nothing was stored."""

    status = 422
    code = "digest_mismatch"


class NotFoundError(BlobsError):
    """What the caller names does not exist, or is not the caller's to see: the two cannot be told apart."""

    status = 404
    exit_code = 3
    is_for_model = True
    code = "not_found"


class LimitError(BlobsError):
    """The call asks for more than a limit allows; the message names the limit and its value."""

    status = 413
    exit_code = 4
    is_for_model = True
    code = "limit_exceeded"


class BusyError(LimitError):
    """All places are taken; the same call succeeds when one is free, perhaps in `retry_s` seconds."""

    status = 429
    code = "busy"
    is_retryable = True
    retry_s: int = 1


class UnreadableError(BlobsError):
    """A blob cannot be read as its format."""

    status = 422
    exit_code = 5
    is_for_model = True
    code = "unreadable"


class StoreError(BlobsError):
    """The store failed: a full disk, a lost folder, a corrupt blob. Nothing was half written."""

    status = 507
    exit_code = 6
    code = "store_failed"


class CorruptError(StoreError):
    """Stored bytes no longer match their digest."""

    status = 500
    code = "corrupt"


class SandboxError(BlobsError):
    """The cell cannot be had or broke; untrusted code was not run outside of it."""

    status = 503
    exit_code = 7
    is_for_model = True
    code = "sandbox_unavailable"


class SettingsError(BlobsError):
    """A setting is unknown, malformed or missing; raised at start."""

    exit_code = 2
    code = "invalid_settings"
