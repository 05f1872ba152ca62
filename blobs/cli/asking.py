"""`blobs read`, `search`, `sql` and `py`: the three tools, by hand."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blobs.cli.options import common, wants_json
from blobs.cli.rendering import (
    CELL_CHARS_MAX,
    TERMINAL_CELL_CHARS_MAX,
    command_text,
    counted,
    handle_line,
    item_lines,
    match_lines,
    preview_lines,
    table_lines,
    value_text,
)
from blobs.cli.screen import Screen, progress, warn
from blobs.cli.targets import TARGETS_HELP
from blobs.domain.errors import CallerError

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".txt": "text",
}


def register(subparsers: Any) -> None:
    """Add the four commands."""
    read = _command(subparsers, "read", _read, "read items: lines, rows, entries, pages")
    read.add_argument("target", metavar="TARGET")
    read.add_argument("--start", type=int, metavar="N", help="the first item, counted from 0; negative: from the end")
    read.add_argument("--count", type=int, metavar="N", help="how many; left out, as many as fit in one answer")
    read.add_argument("--unit", choices=("items", "lines", "chars", "bytes"), help="what to count (default items)")
    _place_flags(read)

    search = _command(subparsers, "search", _search, "find text in a whole blob")
    search.add_argument("target", metavar="TARGET")
    search.add_argument("pattern", metavar="PATTERN")
    search.add_argument("--regex", action="store_true", help="PATTERN is a regular expression (RE2)")
    search.add_argument("-i", "--ignore-case", action="store_true", help="let A and a match each other")
    search.add_argument("--start", type=int, metavar="N", help="the first item to search")
    search.add_argument("--limit", type=int, metavar="N", help="the most matches to show (default 20)")
    search.add_argument("--context", type=int, metavar="N", help="items around each match")
    _place_flags(search)

    tables = "The targets are the tables blob1, blob2 … in their order, all blobs of a conversation each in its turn."
    sql = _command(subparsers, "sql", _sql, "run one SELECT over targets", tables)
    sql.add_argument("targets", metavar="TARGET", nargs="+")
    sql.add_argument("code", metavar="QUERY")
    _output_flags(sql)

    objects = (
        tables.replace("the tables", "the objects")
        + " They have .bytes() .text() .lines() .json() .rows() .arrow() .df() .path."
    )
    py = _command(subparsers, "py", _py, "run Python over targets, in the sandbox", objects)
    py.add_argument("targets", metavar="TARGET", nargs="+")
    py.add_argument("code", metavar="CODE")
    _output_flags(py)


def _command(subparsers: Any, name: str, run: Any, summary: str, about: str = "") -> argparse.ArgumentParser:
    described = f"{summary[:1].upper()}{summary[1:]}. {about} {TARGETS_HELP}".replace("  ", " ")
    added: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=described, parents=[common()]
    )
    added.add_argument("--type", metavar="TYPE", help="the media type of a file or of standard input")
    added.set_defaults(run=run)
    return added


def _place_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--part", metavar="PART", help="a sheet, a table, a member")
    command.add_argument("--path", metavar="POINTER", help="a JSON Pointer into a document, such as /results/0")
    command.add_argument("--columns", metavar="A,B", help='of a table only these; or a JSON list: \'["a","b, c"]\'')


def _output_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", help="write the whole result into a file")
    command.add_argument("--save-as", metavar="FORMAT", help="its format: csv, tsv, json, ndjson, parquet, text")


def _read(args: argparse.Namespace) -> int:
    given = _given(args, ("start", "count", "unit", "part", "path"))
    return _over_one(args, "read", {**given, **_columns(args)})


def _search(args: argparse.Namespace) -> int:
    given = _given(args, ("pattern", "regex", "ignore_case", "start", "limit", "context", "part", "path"))
    return _over_one(args, "search", {**given, **_columns(args)})


def _sql(args: argparse.Namespace) -> int:
    return _over_all(args, "sql")


def _py(args: argparse.Namespace) -> int:
    return _over_all(args, "python")


def _given(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """The flags that were given, as arguments of the tool."""
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _columns(args: argparse.Namespace) -> dict[str, Any]:
    if args.columns is None:
        return {}
    return {"columns": args.columns if args.columns.startswith("[") else args.columns.split(",")}


def _over_one(args: argparse.Namespace, command: str, arguments: dict[str, Any]) -> int:
    from blobs.cli.bench import Bench, one_reference, opened

    with opened(args, [args.target]) as (blobs, targets):
        bench = Bench(blobs)
        with progress(f"opening {args.target}"):
            name = bench.lay(one_reference(blobs, targets[0], declared=args.type))
        with progress(command):
            answered = bench.ask(f"blob_{command}", {"blob": name, **arguments})
        return _show(args, answered, command, [args.target])


def _over_all(args: argparse.Namespace, language: str) -> int:
    from blobs.cli.bench import Bench, opened, references

    with opened(args, args.targets) as (blobs, targets):
        bench = Bench(blobs)
        with progress("opening the targets"):
            names = [bench.lay(each) for target in targets for each in references(blobs, target, declared=args.type)]
        arguments: dict[str, Any] = {"blobs": list(dict.fromkeys(names)), "language": language, "code": args.code}
        save_as = args.save_as or (_FORMATS.get(Path(args.output).suffix.lower()) if args.output else None)
        arguments |= {"save": True} if args.output else {}
        arguments |= {"save_as": save_as} if save_as else {}
        with progress(f"running {language}"):
            answered = bench.ask("blob_code", arguments)
        if args.output and answered.blob is not None:
            _write(blobs.chunks(str(answered.blob.digest)), args.output)
        return _show(args, answered, "sql" if language == "sql" else "py", args.targets)


def _write(chunks: Any, path: str) -> None:
    try:
        with Path(path).open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise CallerError(f"{path} cannot be written: {error.strerror}.") from None


def _show(args: argparse.Namespace, answered: Any, command: str, targets: Sequence[str]) -> int:
    """Print an answer; its exit code. JSON is the tool's answer itself, also where it is a refusal."""
    screen = Screen()
    answer = answered.answer
    if wants_json(args):
        screen.json(answer)
    elif not answer["ok"]:
        warn(answer["message"])
    else:
        chars_max = TERMINAL_CELL_CHARS_MAX if screen.is_terminal else CELL_CHARS_MAX
        for line in _answer_lines(args, answer, answered.blob, command, targets, chars_max):
            screen.line(line)
    screen.flush()
    return int(answered.exit_code)


def _answer_lines(
    args: argparse.Namespace, answer: Mapping[str, Any], blob: Any, command: str, targets: Sequence[str], chars_max: int
) -> list[str]:
    data = answer.get("data") or {}
    lines = []
    if blob is not None:
        lines = _blob_lines(args, data, blob, chars_max)
    elif command == "read":
        lines = [*item_lines(data, chars_max=chars_max), "", _extent(data)]
    elif command == "search":
        lines = [*match_lines(data), _found(data)]
    elif command == "sql":
        lines = [*table_lines(data["columns"], data["rows"], chars_max=chars_max), "", _rows(data)]
    elif command == "py":
        printed = [data["printed"].rstrip("\n")] if data.get("printed") else []
        lines = [*printed, value_text(data.get("result"))]
    if "message" in answer:
        lines.append(answer["message"])
    if "note" in data:
        lines.append(data["note"])
    if not data.get("complete", True) and "next" in data:
        lines.append(f"next: {_next(args, data['next'], command, targets)}")
    return lines


def _blob_lines(args: argparse.Namespace, handle: Mapping[str, Any], blob: Any, chars_max: int) -> list[str]:
    preview = handle.get("preview") or {}
    lines = [handle_line(handle, preview.get("unit")), *preview_lines(preview, chars_max=chars_max), ""]
    if getattr(args, "output", None):
        return [*lines, f"written to {args.output}"]
    if hasattr(args, "store"):
        return [*lines, f"next: {command_text('cat', [str(blob.digest)], {'store': args.store})}"]
    return lines


def _extent(data: Mapping[str, Any]) -> str:
    start, count, total, unit = data["start"], data["count"], data["total"], data["unit"]
    if data["complete"] and count == total:
        return f"all {counted(total, unit)}" if total else f"no {unit}"
    end = ", to the end" if data["complete"] else ""
    return f"{unit} {start:,} to {start + count - 1:,} of {total:,}{end}" if count else f"no {unit} of {total:,}"


def _found(data: Mapping[str, Any]) -> str:
    searched = data["searched"]
    extent = f"{counted(data['found'], 'matches')} in {counted(searched['items'], data['unit'])}"
    shown = len(data["matches"])
    rest = f"; {shown:,} shown" if shown < data["found"] else ""
    return f"{extent} ({counted(searched['bytes'], 'bytes')} searched){rest}".replace("1 matche ", "1 match ")


def _rows(data: Mapping[str, Any]) -> str:
    shown = len(data["rows"])
    if data["complete"]:
        return f"all {counted(shown, 'rows')}"
    return f"{shown:,} of {counted(data['count'], 'rows')}; write them all with --output FILE"


def _next(args: argparse.Namespace, arguments: Mapping[str, Any], command: str, targets: Sequence[str]) -> str:
    """The command that goes on where the answer ends."""
    flags = {"store": getattr(args, "store", None), "readers": getattr(args, "readers", None), "type": args.type}
    flags |= {name: value for name, value in arguments.items() if name not in ("blob", "pattern")}
    return command_text(command, targets, flags, arguments.get("pattern"))
