"""blob_code on the host's side: the tables and files that a program names, the cell, the answer or its blob."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, ToolInputError
from blobs.domain.limits import GIB
from blobs.domain.media_type import BINARY, PARQUET
from blobs.domain.reference import Reference
from blobs.operations.answers import ENVELOPE_BYTES, Target, ToolAnswer
from blobs.operations.columnar_copies import ColumnarCopies
from blobs.operations.exporting import EXPORTS
from blobs.operations.tools import CodeCall
from blobs.operations.workshop import Done, Workshop
from blobs.reading.cutting import cut_to_bytes_with_count
from blobs.running.runner import CellFile

_CELL_CHARS_MAX = 2_000
"""A cell of an SQL answer is cut after so many characters; `save` keeps it whole."""

_ROWS_MAX = 10_000

_COLUMNS_BYTES_MAX = 4_096
"""Of an SQL answer, what its column names and envelope may take."""

_RESULT_BYTES_MAX = 1 * GIB
"""The Parquet file of one result."""


def run_sql(
    workshop: Workshop, copies: ColumnarCopies, tenant: str, call: CodeCall, targets: Mapping[str, Target]
) -> ToolAnswer:
    """Run one SELECT over the columnar copies of the named blobs."""
    files: dict[str, CellFile] = {}
    tables = {}
    for target in targets.values():
        for table, part in _tables(target, call.code):
            digest = copies.of(tenant, target.reference.digest, target.profile.reader, part)
            file = f"{digest.hex}.parquet"
            files[file] = CellFile(file, workshop.store.open(tenant, digest).path())
            tables[table] = file
    if not tables:
        names = ", ".join(targets)
        raise ToolInputError(
            f"{names} has no rows that SQL could query.", hint='Use language "python".', code="no_table"
        )
    limits = workshop.limits
    arguments = {
        "sql": call.code,
        "tables": tables,
        "rows_max": _ROWS_MAX,
        "bytes_max": limits.inline_bytes_max - _COLUMNS_BYTES_MAX,
        "cell_chars_max": _CELL_CHARS_MAX,
        "memory_bytes": limits.cell_memory_bytes_max // 2,
        "wall_ms": limits.call_ms_max,
        "save": call.save,
        "result_bytes_max": _RESULT_BYTES_MAX,
    }
    result_bytes = _RESULT_BYTES_MAX + limits.inline_bytes_max
    with workshop.task(
        "sql", arguments, tuple(files.values()), wall_ms=limits.call_ms_max, result_bytes=result_bytes
    ) as done:
        value = done.value
        if value.get("payload_type"):
            stored = _store(workshop, tenant, done, call)
            return ToolAnswer.done(f"The result has {value['count']} rows and is a blob of its own.", blob=stored)
        return _sql_answer(value, call, limits.inline_bytes_max)


def _sql_answer(value: dict[str, Any], call: CodeCall, bytes_max: int) -> ToolAnswer:
    data = {
        "columns": value["columns"],
        "rows": value["rows"],
        "count": value["count"],
        "complete": value["complete"],
    }
    message = value.get("note")
    if not value["complete"] and value["is_exact"]:
        data["next"] = replace(call, save=True).arguments()
    if not value["is_exact"]:
        message = "The time ran out: there are at least this many rows. Filter or aggregate to see a whole result."
    if len(exact_json.dumps(data)) + ENVELOPE_BYTES + 200 > bytes_max:
        raise ToolInputError("The result does not fit in one answer.", hint="Select fewer columns, or save it.")
    return ToolAnswer.done(message, data=data)


def _tables(target: Target, code: str) -> list[tuple[str, str | None]]:
    """The tables of a blob that a query may mean: the blob's own, and the parts that the query mentions.

    A query that names the blob only before the dot of a part needs no copy of the whole.
    """
    said = code.lower().replace('""', '"')
    named = [part for part in target.profile.parts if part.lower().replace('""', '"') in said]
    unlisted = _unlisted_parts(target, code) if target.profile.parts else []
    parts: list[tuple[str, str | None]] = [(f"{target.name}.{part}", part) for part in (*named, *unlisted)]
    is_only_qualified = re.search(rf"\b{re.escape(target.name.lower())}\b(?!\"?\s*\.)", said) is None
    is_without_items = target.profile.unit is None and bool(target.profile.parts)
    if is_without_items or (parts and is_only_qualified):
        return parts
    return [(target.name, None), *parts]


def _unlisted_parts(target: Target, code: str) -> list[str]:
    """Parts that a query names and a profile does not list: past the first ones, or inside of another part.

    They are named as `"blob1.part"`; of archives, whose columns are known, as `blob1."part"` too.
    """
    name = re.escape(target.name)
    quoted = re.findall(rf'"{name}\.((?:[^"]|"")+)"', code, re.IGNORECASE)
    listed = {part.lower() for part in target.profile.parts}
    if target.profile.unit == "members":
        quoted += re.findall(rf'(?<!\w){name}"?\s*\.\s*"((?:[^"]|"")+)"', code, re.IGNORECASE)
        listed |= {column.partition(" ")[0].lower() for column in target.profile.columns}
    return list(dict.fromkeys(part for each in quoted if (part := each.replace('""', '"')).lower() not in listed))


def run_python(
    workshop: Workshop, copies: ColumnarCopies, tenant: str, call: CodeCall, targets: Mapping[str, Target]
) -> ToolAnswer:
    """Run a Python program over the named blobs."""
    files: list[CellFile] = []
    blobs: dict[str, dict[str, Any]] = {}
    for target in targets.values():
        blob = workshop.store.open(tenant, target.reference.digest)
        files.append(CellFile(target.name, blob.path()))
        blobs[target.name] = {
            "file": target.name,
            "type": target.profile.type,
            "size": target.reference.size,
            "reader": target.profile.reader,
        }
        if any(method in call.code for method in (".df(", ".arrow(")) and target.profile.unit is not None:
            copy = _copy_for(copies, tenant, target)
            if copy is not None:
                file = f"{target.name}.parquet"
                files.append(CellFile(file, workshop.store.open(tenant, copy).path()))
                blobs[target.name]["table"] = file
    limits = workshop.limits
    arguments = {
        "code": call.code,
        "blobs": blobs,
        "result_bytes_max": limits.python_result_bytes_max,
        "save": call.save,
        "readers_dir": workshop.readers_dir,
        "wall_ms": limits.call_ms_max,
        "memory_bytes": limits.cell_memory_bytes_max,
    }
    result_bytes = limits.python_result_bytes_max + limits.inline_bytes_max
    with workshop.task(
        "python", arguments, tuple(files), wall_ms=limits.call_ms_max, result_bytes=result_bytes
    ) as done:
        return _python_answer(workshop, tenant, call, done)


def _python_answer(workshop: Workshop, tenant: str, call: CodeCall, done: Done) -> ToolAnswer:
    value, printed = done.value, done.printed
    if value.get("payload_type"):
        return ToolAnswer.done(_said(printed, workshop), blob=_store(workshop, tenant, done, call))
    data = {"result": value.get("result"), "printed": printed, "complete": True}
    if call.save or len(exact_json.dumps(data)) + ENVELOPE_BYTES > workshop.limits.inline_bytes_max:
        return _large_result(workshop, tenant, call, value.get("result"), printed)
    return ToolAnswer.done(value.get("note"), data=data)


def _said(printed: str, workshop: Workshop) -> str | None:
    """What a program printed, for the message beside a result that is a blob."""
    return f"Printed: {cut_to_bytes_with_count(printed, workshop.limits.error_bytes_max)}" if printed else None


def _copy_for(copies: ColumnarCopies, tenant: str, target: Target) -> Any:
    """The columnar copy, or None where the blob has none: the program is told so when it asks."""
    try:
        return copies.of(tenant, target.reference.digest, target.profile.reader)
    except BlobsError:
        return None


def _large_result(workshop: Workshop, tenant: str, call: CodeCall, result: Any, printed: str) -> ToolAnswer:
    if isinstance(result, str):
        content, media_type = result.encode("utf-8", "replace"), call.save_as or BINARY
    else:
        content, media_type = exact_json.dumps(result), "application/json"
    stored = workshop.store.put(tenant, content, media_type=media_type).reference
    return ToolAnswer.done(_said(printed, workshop), blob=stored)


def _store(workshop: Workshop, tenant: str, done: Done, call: CodeCall) -> Reference:
    """Store the result, as the type that was asked for where a table can be written as that."""
    wanted, media_type = call.save_as, done.value["payload_type"]
    if wanted is not None and media_type == BINARY:
        media_type = wanted
    stored = workshop.store.put(tenant, done.payload, media_type=media_type).reference
    if media_type != PARQUET or wanted in (None, PARQUET):
        return stored
    if wanted not in EXPORTS:
        raise ToolInputError(
            f"save_as: a table cannot be written as {wanted}.", hint=f"Use {', '.join(EXPORTS)} or {PARQUET}."
        )
    arguments = {"op": "export", "type": wanted}
    wall_ms = workshop.limits.call_ms_max
    with workshop.view(tenant, stored.digest, "parquet", arguments, wall_ms=wall_ms, always_in_cell=True) as export:
        return workshop.store.put(tenant, export.payload, media_type=wanted).reference
