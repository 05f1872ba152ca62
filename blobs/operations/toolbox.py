"""The three tools over named blobs, on the host's side: bounded answers, and instructions where there is none."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, SandboxError
from blobs.domain.limits import Limits
from blobs.operations.answers import Target, ToolAnswer
from blobs.operations.coding import run_python, run_sql
from blobs.operations.columnar_copies import ColumnarCopies
from blobs.operations.derived import DerivedBlobs
from blobs.operations.indexes import INDEXED_BYTES_MIN, Indexes
from blobs.operations.intake import Intake
from blobs.operations.profiles import Profiles
from blobs.operations.tools import CodeCall, ReadCall, SearchCall
from blobs.operations.workshop import Done, TaskFailure, TaskRefusal, Workshop, explain
from blobs.reading.cutting import cut_to_bytes_with_count
from blobs.running.runner import CellFile
from blobs.storage.content import PACKED_BYTES_MAX

_log = logging.getLogger("blobs.operations")


class Toolbox:
    """Runs calls whose names have been looked up."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        derived = DerivedBlobs(workshop)
        self._indexes = Indexes(workshop, derived)
        self.intake = Intake(workshop.registry, self._indexes)
        self.profiles = Profiles(workshop, self._indexes)
        self.copies = ColumnarCopies(workshop, derived, self._indexes)

    @property
    def limits(self) -> Limits:
        """The limits that answers keep."""
        return self.workshop.limits

    def run(self, tenant: str, call: ReadCall | SearchCall | CodeCall, targets: Mapping[str, Target]) -> ToolAnswer:
        """The answer to a call; a fault that the model can do something about is an answer too."""
        try:
            return self._done(tenant, call, targets)
        except TaskFailure as failure:
            problem = explain(failure, call.tool, self.limits.call_ms_max)
            hint = problem.hint or _easier(call)
            message = f"{problem.message} {hint}".strip()
            return ToolAnswer.refused(message + self._printed(call, failure.outcome.printed), fault=problem)
        except TaskRefusal as refusal:
            message = cut_to_bytes_with_count(str(refusal), self.limits.error_bytes_max)
            return ToolAnswer.refused(message + self._printed(call, refusal.printed), fault=refusal)
        except SandboxError as refusal:
            _log.warning("%s without a cell: %s", call.tool, refusal)
            return ToolAnswer.refused(f"This host gives no sandbox for this call. {_without_cell(call)}")
        except BlobsError as problem:
            if problem.is_retryable or not problem.is_for_model:
                raise  # the same call succeeds later: there is nothing for a model to correct
            return ToolAnswer.refused(str(problem), fault=problem)

    def _printed(self, call: ReadCall | SearchCall | CodeCall, printed: str) -> str:
        """What a program printed before it failed, to be told after the error."""
        if not printed or not isinstance(call, CodeCall) or call.language != "python":
            return ""
        return f"\nPrinted before: {cut_to_bytes_with_count(printed, self.limits.error_bytes_max // 4)}"

    def _done(self, tenant: str, call: ReadCall | SearchCall | CodeCall, targets: Mapping[str, Target]) -> ToolAnswer:
        if isinstance(call, ReadCall):
            return self._read(tenant, call, targets[call.blob])
        if isinstance(call, SearchCall):
            return self._search(tenant, call, targets[call.blob])
        run = run_sql if call.language == "sql" else run_python
        return run(self.workshop, self.copies, tenant, call, targets)

    def _read(self, tenant: str, call: ReadCall, target: Target) -> ToolAnswer:
        arguments = {
            "op": "read",
            "call": _arguments(call),
            "type": target.profile.type,
            "bytes_max": self.limits.inline_bytes_max,
        }
        digest, reader = target.reference.digest, target.profile.reader
        beside = self._beside(tenant, call, target)
        wall_ms = self.limits.call_ms_max
        with self.workshop.view(tenant, digest, reader, arguments, wall_ms=wall_ms, beside=beside) as done:
            if "data" in done.value:
                return ToolAnswer.done(data=done.value["data"])
            return self._slice(tenant, call, target, done)

    def _slice(self, tenant: str, call: ReadCall, target: Target, done: Done) -> ToolAnswer:
        """The answer to a call whose `count` does not fit: a blob of those items, or the source where they are all."""
        unit = done.value["unit"]
        count, fits, total = done.value["count"], done.value["fits"], done.value["total"]
        advice = f"Ask for count {fits} at most to read them here" if fits else "Leave count out to read it in pieces"
        if count == total and call.part is None and call.path is None and call.columns is None:
            message = f"{count} {unit} are all of {call.blob} and do not fit in one answer. {advice}."
            return ToolAnswer.done(message, blob=target.reference)
        stored = self.workshop.store.put(tenant, done.payload, media_type=done.value["type"])
        message = f"{count} {unit} do not fit in one answer, so they are a blob of their own. {advice}."
        return ToolAnswer.done(message, blob=stored.reference)

    def _search(self, tenant: str, call: SearchCall, target: Target) -> ToolAnswer:
        arguments = {
            "op": "search",
            "call": _arguments(call),
            "type": target.profile.type,
            "bytes_max": self.limits.inline_bytes_max,
            "wall_ms": self.limits.call_ms_max * 8 // 10,
        }
        digest, reader = target.reference.digest, target.profile.reader
        beside = self._beside(tenant, call, target)
        wall_ms = self.limits.call_ms_max
        with self.workshop.view(tenant, digest, reader, arguments, wall_ms=wall_ms, beside=beside) as done:
            data = done.value["data"]
        message = None
        if not data["found"] and data["complete"]:
            searched = data["searched"]
            message = (
                f"Nothing matches: all {searched['items']} {data['unit']} ({searched['bytes']} bytes) were searched."
                if data["unit"] != "members"
                else f"Nothing matches in the list of all {searched['items']} members; "
                "what is in them was not searched: name one with part to search in it."
            )
        return ToolAnswer.done(message, data=data)

    def _beside(self, tenant: str, call: ReadCall | SearchCall, target: Target) -> tuple[CellFile, ...]:
        """The indexes that a call needs: of the blob's reader, and of its text where the call counts in that."""
        digest, size, reader = target.reference.digest, target.reference.size, target.profile.reader
        unit = getattr(call, "unit", "items")
        if unit == "bytes" or size <= PACKED_BYTES_MAX:
            return ()
        if size <= INDEXED_BYTES_MIN:
            return self._indexes.kept(tenant, digest, reader)
        own = self._indexes.of(tenant, digest, reader, size)
        if reader == "text":
            return own
        if unit == "items" or not own or call.part is not None or call.path is not None:
            return own + self._indexes.kept(tenant, digest, "text")
        return own + self._indexes.of(tenant, digest, "text", size)


def _arguments(call: ReadCall | SearchCall) -> dict[str, Any]:
    given = asdict(call)
    if given.get("columns") is not None:
        given["columns"] = list(given["columns"])
    return given


def _without_cell(call: ReadCall | SearchCall | CodeCall) -> str:
    """A next call that needs no sandbox."""
    blob = call.blobs[0] if isinstance(call, CodeCall) else call.blob
    wanted = ReadCall(blob=blob, unit="bytes" if isinstance(call, ReadCall) else "items")
    return f"Call blob_read with {exact_json.text(wanted.arguments())}."


def _easier(call: ReadCall | SearchCall | CodeCall) -> str:
    """A next call that asks for less, with this call's own values."""
    match call:
        case ReadCall():
            return f"Call blob_read with {exact_json.text(replace(call, count=10, unit='items').arguments())}."
        case SearchCall():
            smaller = ReadCall(blob=call.blob)
            return f"Search for something rarer, or call blob_read with {exact_json.text(smaller.arguments())}."
        case CodeCall():
            return "Work on fewer rows or columns at a time: filter first, then compute."
