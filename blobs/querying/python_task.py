"""The task `python`: a model's program over blobs.

Arguments: `code`; `blobs`, from names to `{"file", "type", "reader", "table"?, "tables"?}`, where `file`, `table` and
the values of `tables` are names in `files`: the blob itself and columnar copies of it and of its parts;
`result_bytes_max`, the most that a payload may be; `inline_bytes_max`, over which a result is a payload; `save`, to
have a payload however small the result; `readers_dir`; `wall_ms` and `memory_bytes`, what the call may take, for an
interpreter with limits of its own. All but the first two have defaults.

The answer: `{"result": value}`; for tables the value is `{"columns", "rows", "count"}`. Or `{"payload_type"}`, with
`columns` (`["id BIGINT", …]`) and `count` for tables, and the bytes in the reply. `is_repr` and a `note` say that
objects were replaced by their `repr`. What is printed goes to stdout.
"""

import ast
import asyncio
import builtins
import inspect
import linecache
import sys
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from blobs.domain.errors import CallerError, ToolInputError
from blobs.domain.limits import GIB, KIB, MIB, Limits
from blobs.querying import python_errors
from blobs.querying.columnar import Sink
from blobs.querying.python_answer import Answer
from blobs.querying.python_blob import Blob


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """The task's arguments."""

    code: str
    blobs: dict[str, dict[str, Any]]
    result_bytes_max: int = 64 * MIB
    inline_bytes_max: int = 32 * KIB
    save: bool = False
    readers_dir: str | None = None
    wall_ms: int = 10_000
    memory_bytes: int = 1 * GIB


def run(arguments: dict[str, Any], files: dict[str, str], reply: Sink) -> dict[str, Any]:
    """Run the program and answer its last expression, or `result`.

    Raises `ToolInputError` with code `python_error`, `python_memory` or `result_too_large`.
    """
    call, blobs, answer = prepared(arguments, files, reply)
    paths = {name: blob.path for name, blob in blobs.items()}
    try:
        result = _result(call.code, blobs)
    except BaseException as error:  # the tool door: a program may raise anything
        raise python_errors.told(error, call.code, paths) from error
    try:
        return answer.of(result)
    except ToolInputError:
        raise
    except BaseException as error:  # the result's own methods run here
        raise python_errors.told(error, call.code, paths) from error


def prepared(
    arguments: dict[str, Any], files: dict[str, str], reply: Sink
) -> tuple[PythonCall, dict[str, Blob], Answer]:
    """The call, its blobs by name and where its result goes. Raises `ToolInputError` where the program is too long."""
    try:
        call = PythonCall(**arguments)
        blobs = {name: Blob(name, described, files, call.readers_dir) for name, described in call.blobs.items()}
    except (TypeError, KeyError, OSError) as error:
        raise CallerError(f"python: wrong arguments: {error}") from error
    if len(call.code.encode("utf-8", "replace")) > Limits().code_bytes_max:
        raise ToolInputError(
            f"code: longer than {Limits().code_bytes_max:,} bytes.",
            code="python_error",
            hint="Write a shorter program.",
        )
    answer = Answer(
        reply, inline_bytes_max=call.inline_bytes_max, result_bytes_max=call.result_bytes_max, save=call.save
    )
    return call, blobs, answer


def _result(code: str, blobs: dict[str, Blob]) -> Any:
    """Run the program as the main module."""
    body, last = _compiled(code)
    main = ModuleType("__main__")
    main.__dict__.update({"__builtins__": builtins, **blobs})
    linecache.cache[python_errors.FILE] = (len(code), None, code.splitlines(keepends=True), python_errors.FILE)
    before = sys.modules.get("__main__")
    sys.modules["__main__"] = main
    try:
        return _evaluated(body, last, main.__dict__)
    finally:
        if before is not None:
            sys.modules["__main__"] = before


def _evaluated(body: CodeType, last: CodeType | None, names: dict[str, Any]) -> Any:
    value = None
    try:
        _run(body, names)
        value = _run(last, names) if last is not None else None
    except SystemExit as stop:
        if stop.code not in (None, 0):
            raise
    value = names.get("result") if value is None else value
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _run(code: CodeType, names: dict[str, Any]) -> Any:
    value = eval(code, names)  # noqa: S307  # this is what the cell is for
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def _compiled(code: str) -> tuple[CodeType, CodeType | None]:
    """The program without its last expression, and that."""
    tree = ast.parse(code, python_errors.FILE)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = tree.body.pop()
        assert isinstance(expression, ast.Expr)
        last = _code(ast.Expression(expression.value), "eval")
    return _code(tree, "exec"), last


def _code(tree: ast.Module | ast.Expression, mode: str) -> CodeType:
    compiled = compile(tree, python_errors.FILE, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    assert isinstance(compiled, CodeType)
    return compiled
