"""Tools as a runtime offers them, checked before the first turn."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from blobs.conversations.schemas import find_blob_marks
from blobs.domain.errors import CallerError
from blobs.operations.problems import shown, shown_name
from blobs.operations.tools import TOOL_NAMES

RESERVED_NAMES = ("turn", "preview", "open", *TOOL_NAMES)
"""Names that mean something to a runtime or are taken by the three tools."""

NAME_CHARS_MAX = 64
"""The longest name of a tool that every service takes."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_SCHEMA_KEYS = ("schema", "inputSchema", "input_schema", "parameters")
_PLACES_SHOWN_MAX = 5


def check_tools(tools: Iterable[Any], reserved: Iterable[str] = ()) -> list[str]:
    """What is wrong with these tools, a line each that names the tool and the next step; none is none.

    A tool is `{"name", "schema"?, "listed"?}`; the schema is looked for under its names in the dialects too, and other
    keys are not looked at. `listed` says that the tool comes from a list of somebody else's, such as an MCP server:
    nobody replaces names in its arguments, so its schema may not mark a blob. `reserved` are more names to keep free.
    """
    kept_free = {*RESERVED_NAMES, *reserved}
    problems: list[str] = []
    seen: set[str] = set()
    for place, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str) or not name:
            problems.append(f'tools.{place}: give the tool as an object with a name, such as {{"name": "read_pdf"}}.')
            continue
        problems += [f"{shown_name(name)}: {each}" for each in _name_problems(name, kept_free)]
        if name in seen:
            problems.append(f"{shown_name(name)}: another tool has this name. Rename one of them.")
        seen.add(name)
        problems += [f"{shown_name(name)}: {each}" for each in _schema_problems(tool)]
    return problems


def _name_problems(name: str, kept_free: set[str]) -> list[str]:
    problems = []
    if name in kept_free:
        problems.append(f"this name is reserved. Rename the tool, for example to {shown_name('my_' + name)}.")
    if len(name) > NAME_CHARS_MAX:
        problems.append(f"the name has {len(name)} characters. Shorten it to {NAME_CHARS_MAX} or fewer.")
    if not _NAME.match(name):
        problems.append("this cannot be a name. Use letters, digits, _ and -, and begin with a letter or _.")
    return problems


def _schema_problems(tool: Mapping[Any, Any]) -> list[str]:
    schemas = [tool[key] for key in _SCHEMA_KEYS if tool.get(key) is not None]
    is_listed = tool.get("listed", False)
    problems = [] if isinstance(is_listed, bool) else [f"listed: give true or false, not {shown(is_listed)}."]
    for schema in schemas[:1]:
        try:
            marks = find_blob_marks(schema)
        except CallerError as error:
            return [*problems, f"schema: {error}"]
        if marks and is_listed:
            more = f" and {len(marks) - _PLACES_SHOWN_MAX} more" if len(marks) > _PLACES_SHOWN_MAX else ""
            places = ", ".join(marks[:_PLACES_SHOWN_MAX]) + more
            problems.append(
                f"a listed tool cannot take blobs, and its schema marks one at {places}. "
                "Wrap it in a tool of your own, or take the mark away."
            )
    return problems
