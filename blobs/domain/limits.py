"""Every limit, in one table: name, default, reason. Each is a setting of the same name."""

from dataclasses import dataclass, field, fields
from typing import Any

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


def _limit(default: int | None, reason: str) -> Any:
    return field(default=default, metadata={"reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that the service will do. Sizes are bytes, durations milliseconds; `None` means no limit."""

    inline_bytes_max: int = _limit(
        32 * KIB, "over this a result becomes a handle; also the most a tool's answer may be"
    )
    inline_tokens_max: int | None = _limit(None, "a second trigger beside the bytes, for text that is dear in tokens")
    preview_bytes_max: int = _limit(2 * KIB, "shown once, so it may be rich; never a page")
    error_bytes_max: int = _limit(4 * KIB, "a message is an instruction")
    pattern_bytes_max: int = _limit(1 * KIB, "nothing a model writes by hand is longer")
    sql_bytes_max: int = _limit(32 * KIB, "the SQL parser cannot be interrupted")
    code_bytes_max: int = _limit(64 * KIB, "nothing a model writes by hand is longer")
    call_ms_max: int = _limit(10_000, "search, SQL and Python: a turn waits")
    preview_ms_max: int = _limit(5_000, "the preview of one blob: a turn waits")
    cell_memory_bytes_max: int = _limit(1 * GIB, "RLIMIT_DATA of one cell, measured to hold")
    cells_max: int | None = _limit(None, "cells at work at once; none means one per core")
    blob_bytes_max: int = _limit(64 * GIB, "one blob")
    tenant_bytes_max: int | None = _limit(None, "all blobs of a tenant; reserved before writing")
    grace_ms: int = _limit(24 * 3600 * 1000, "collect: longer than the longest upload")
    python_result_bytes_max: int = _limit(64 * MIB, "what a cell may answer; over inline_bytes_max it becomes a blob")
    printed_bytes_max: int = _limit(16 * KIB, "what model-written Python may print into its answer")
    base64_bytes_min: int = _limit(1 * KIB, "a base64 string of this length inside JSON is a blob, not text")
    request_json_bytes_max: int = _limit(64 * MIB, "a JSON request body; larger results are uploaded and referenced")
    head_bytes_max: int = _limit(64 * KIB, "request line and headers; what is large belongs in the body")
    head_ms_max: int = _limit(20_000, "the head of a request: a slow one holds a connection")
    body_idle_ms_max: int = _limit(60_000, "a body of which nothing came for so long counts as cut off")
    calls_max: int = _limit(1_000, "tool calls in one turn")
    cached_bytes_max: int = _limit(4 * GIB, "local copies of blobs that do not lie in files of their own")


def limit_table() -> list[tuple[str, int | None, str]]:
    """Name, default and reason of every limit, in order."""
    return [(each.name, each.default, each.metadata["reason"]) for each in fields(Limits)]  # type: ignore[misc]  # the defaults of this class are all int or None
