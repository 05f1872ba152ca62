"""Where a view's work is done: in this process for small blobs of our own light formats, else in a cell."""

import io
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, LimitError, SandboxError, ToolInputError
from blobs.domain.limits import KIB, MIB, Limits
from blobs.operations import view_task
from blobs.operations.answer_forms import fault_of
from blobs.operations.reader_faults import note_faults
from blobs.reading.index import facts_bytes
from blobs.reading.opening import choices, take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BoundedSource, BytesSource, FileSource, TooMuchReadError
from blobs.running.runner import CellFile, CellLimits, Job, Outcome, Runner
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog
from blobs.storage.outbox import Outbox
from blobs.storage.stored_blob import StoredBlob

LIGHT_BYTES_MAX = 1 * MIB
"""Up to this size light formats are read in the server's process: a cell costs more than the work."""

SEARCHED_BYTES_MAX = 4 * MIB
"""Up to this size they are searched there too if there is an index: most of it is a pass of RE2 over the bytes."""

PROFILED_BYTES_MAX = 4 * MIB
"""What the profile of a large blob may read of it here, where its index tells the rest: its ends, and samples."""

TYPED_BYTES_MAX = 64 * KIB
"""Up to this size a table's columns are given types here: for more rows the libraries are loaded that a cell has."""

MEMORY_BYTES_MAX = 1 * MIB
"""Of the bytes that a task answers: what is longer goes through a file in the scratch folder."""

_log = logging.getLogger("blobs.operations")


@dataclass(frozen=True, slots=True)
class Done:
    """What a task answered: its value, what it printed, and a file with the bytes that belong to it, at its beginning.

    A context manager: the file is gone at its end.
    """

    value: Any
    payload: BinaryIO
    printed: str = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.payload.close()


class TaskRefusal(ToolInputError):  # noqa: N818  # as below
    """What a task raised for its caller, with what it had `printed` before."""

    def __init__(self, outcome: Outcome) -> None:
        error = outcome.error or {}
        super().__init__(error.get("message", ""), code=error.get("code"), hint=error.get("hint", ""))
        self.printed = outcome.printed


class TaskFailure(BlobsError):  # noqa: N818  # it is told, never raised to a caller
    """A cell ended without an answer: too slow, too large, or broken. `printed` tells what was under way."""

    code = "task_failed"

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"the cell ended with {outcome.status!r}")
        self.outcome = outcome


class Workshop:
    """Does view tasks over the blobs of a store."""

    def __init__(
        self,
        store: BlobStore,
        catalog: Catalog,
        runner: Runner,
        limits: Limits,
        *,
        registry: Registry,
        readers_dir: str | None,
        scratch: str | None,
    ) -> None:
        self.store = store
        self.catalog = catalog
        self.limits = limits
        self.registry = registry
        self._runner = runner
        self.readers_dir = readers_dir
        self._scratch = scratch
        self.has_foreign_readers = any(each.reader and not each.is_built_in for each in self.registry.plug_ins())

    def view(
        self,
        tenant: str,
        digest: Digest,
        reader: str,
        arguments: Mapping[str, Any],
        *,
        wall_ms: int,
        always_in_cell: bool = False,
        beside: tuple[CellFile, ...] = (),
    ) -> Done:
        """Do one op with the reader that the blob's profile names; a cell is given the files `beside` the blob."""
        blob = self.store.open(tenant, digest)
        wanted = {**arguments, "reader": reader}
        if not always_in_cell and self._is_light(reader):
            done = self._by_index(blob, wanted, beside) if beside and arguments["op"] == "read" else None
            if done is not None:
                return done
            is_short = arguments["op"] == "search" and beside and blob.size <= SEARCHED_BYTES_MAX
            if is_short or blob.size <= LIGHT_BYTES_MAX:
                return self._here(blob, wanted, beside)
        return self._in_cell(blob, wanted, beside, wall_ms=wall_ms)

    def first_view(
        self,
        tenant: str,
        digest: Digest,
        arguments: Mapping[str, Any],
        *,
        wall_ms: int,
        index_of: Callable[[str], tuple[CellFile, ...]],
        outbox: Outbox | None = None,
    ) -> Done:
        """Do one op that chooses its reader itself; `index_of` gives the index for a reader that is there already.

        A blob that waits in the `outbox` is put if a cell is to see it.
        """
        waiting = None if outbox is None else outbox.content(digest)
        blob = self.store.open(tenant, digest) if waiting is None else BytesSource(waiting)
        beside: tuple[CellFile, ...] = ()
        if not self.has_foreign_readers:
            sample = take_sample(blob, arguments.get("declared_type"))
            best = next(choices(self.registry, sample, avoid=arguments.get("avoid", ())), None)
            if best is not None and best.plug_in.is_light:
                beside = index_of(best.plug_in.name)
                heavy = [each.name for each in self.registry.plug_ins() if not each.is_light]
                light = {
                    **arguments,
                    "avoid": [*arguments.get("avoid", ()), *heavy],
                    "typed_bytes_max": TYPED_BYTES_MAX,
                }
                done = self._first_here(blob, light, beside)
                if done is not None:
                    return done
        if isinstance(blob, BytesSource):
            if outbox is not None:
                outbox.settle()
            blob = self.store.open(tenant, digest)
        is_indexed = blob.size > LIGHT_BYTES_MAX and not beside
        return self._in_cell(blob, {**arguments, "is_indexed": is_indexed}, beside, wall_ms=wall_ms)

    def _first_here(
        self, blob: StoredBlob | BytesSource, arguments: Mapping[str, Any], beside: tuple[CellFile, ...]
    ) -> Done | None:
        """Do it here where the blob is small or its index tells most; None where it takes more."""
        if beside and isinstance(blob, StoredBlob):
            return self._by_index(blob, arguments, beside, bytes_max=PROFILED_BYTES_MAX)
        if blob.size > LIGHT_BYTES_MAX:
            return None
        try:
            return self._here(blob, arguments)
        except TooMuchReadError:
            return None

    def task(
        self,
        name: str,
        arguments: Mapping[str, Any],
        files: tuple[CellFile, ...],
        *,
        wall_ms: int,
        result_bytes: int,
    ) -> Done:
        """Run any task in a cell. Raises what the task raised for its caller, and `TaskFailure` for no answer."""
        limits = CellLimits(
            wall_ms=wall_ms,
            memory_bytes=self.limits.cell_memory_bytes_max,
            result_bytes=result_bytes,
            printed_bytes=self.limits.printed_bytes_max,
        )
        payload = cast("BinaryIO", SpooledTemporaryFile(MEMORY_BYTES_MAX, dir=self._scratch))  # noqa: SIM115  # `Done` closes it
        try:
            outcome = self._runner.run(Job(name, arguments, files, limits), payload_to=payload)
            if name == "view":
                note_faults(self.registry, outcome, arguments.get("reader", ""))
            payload.seek(0)
            return Done(answer_of(name, outcome), payload, outcome.printed)
        except BaseException:
            payload.close()
            raise

    def _is_light(self, reader: str) -> bool:
        plug_in = self.registry.by_name(reader)
        return plug_in is not None and plug_in.is_light and plug_in.is_built_in

    def _here(
        self, blob: StoredBlob | BytesSource, arguments: Mapping[str, Any], beside: tuple[CellFile, ...] = ()
    ) -> Done:
        payload = io.BytesIO()
        source = BytesSource(blob.read(0, blob.size))
        with ExitStack() as files:
            indexes = _indexes(beside, files)
            try:
                value = view_task.work(source, arguments, payload, registry=self.registry, indexes=indexes)
            except (BlobsError, TooMuchReadError):
                raise
            except Exception as fault:  # a reader's own fault is no caller's: it is told as that of one in a cell
                _log.exception("reader: %s", arguments.get("reader"))
                error = {"code": "internal_error", "message": type(fault).__name__, "hint": ""}
                raise TaskFailure(Outcome("error", error=error)) from fault
        payload.seek(0)
        return Done(value, payload)

    def _by_index(
        self,
        blob: StoredBlob,
        arguments: Mapping[str, Any],
        beside: tuple[CellFile, ...],
        *,
        bytes_max: int = LIGHT_BYTES_MAX,
    ) -> Done | None:
        """Look at a few items of a large blob here, by its index; None where more than so many bytes must be read."""
        payload = io.BytesIO()
        with ExitStack() as files:
            source = files.enter_context(closing(FileSource(blob.path())))
            indexes = _indexes(beside, files)
            if sum(map(facts_bytes, indexes.values())) > LIGHT_BYTES_MAX:
                return None
            bounded = BoundedSource(source, bytes_max)
            try:
                value = view_task.work(bounded, arguments, payload, registry=self.registry, indexes=indexes)
            except BlobsError:
                raise
            except TooMuchReadError:
                return None
            except Exception:  # noqa: BLE001  # a reader's own fault is told by the cell, where it happens again
                _log.exception("reader: %s", arguments.get("reader"))
                return None
        payload.seek(0)
        return Done(value, payload)

    def _in_cell(
        self, blob: StoredBlob, arguments: Mapping[str, Any], beside: tuple[CellFile, ...], *, wall_ms: int
    ) -> Done:
        arguments = {**arguments, "readers_dir": self.readers_dir}
        files = (CellFile("blob", blob.path()), *beside)
        return self.task("view", arguments, files, wall_ms=wall_ms, result_bytes=self.limits.blob_bytes_max)


def _indexes(beside: tuple[CellFile, ...], files: ExitStack) -> dict[str, memoryview]:
    """The indexes among the files beside a blob by their readers; they are closed with `files`."""
    buffers = {each.name: files.enter_context(closing(FileSource(each.path))).buffer() for each in beside}
    return view_task.indexes_of(buffers)


def answer_of(task: str, outcome: Outcome) -> Any:
    """The value of a task's outcome, its form checked, or the error that it stands for.

    What a task raised for its caller is raised here again; `TaskFailure` stands for everything that is not an answer.
    """
    if outcome.status == "ok":
        if fault := fault_of(task, outcome.value):
            outcome = replace(outcome, status="protocol", error={"message": fault})
        else:
            return outcome.value
    error = outcome.error or {}
    code = error.get("code", "internal_error")
    if outcome.status == "error" and code != "internal_error":
        raise TaskRefusal(outcome)
    _log.warning("cell: %s %s %s", outcome.status, error.get("message", ""), outcome.traceback)
    raise TaskFailure(outcome)


def explain(failure: TaskFailure, what: str, wall_ms: int) -> BlobsError:
    """What a model is told where a cell ended without an answer."""
    match failure.outcome.status:
        case "timeout":
            return LimitError(f"{what} did not end within {wall_ms // 1000} s.", code="timeout")
        case "memory":
            return LimitError(f"{what} needed more memory than a call may have.", code="memory")
        case "error":
            return SandboxError("internal error", code="internal_error")
        case _:
            return SandboxError(f"{what} crashed.", code="crashed", hint="Ask for a smaller part.")
