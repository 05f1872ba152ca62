"""`blobs tools`, `readers` and `doctor`: what this installation offers."""

import argparse
import json
import platform
from dataclasses import replace
from importlib import metadata
from typing import Any

from blobs.cli.options import common, settings_of, wants_json
from blobs.cli.rendering import table_lines
from blobs.cli.screen import Screen, progress
from blobs.domain import exact_json
from blobs.domain.errors import SandboxError


def register(subparsers: Any) -> None:
    """Add the three commands."""
    tools = subparsers.add_parser(
        "tools",
        help="the three tools as JSON Schema",
        description="Print the definitions of blob_read, blob_search and blob_code, as JSON.",
        parents=[common()],
    )
    tools.add_argument(
        "--dialect", default="mcp", help="plain, anthropic, openai, openai-chat, gemini or mcp (the default)"
    )
    tools.set_defaults(run=_tools)
    readers = subparsers.add_parser(
        "readers",
        help="the readers, and those set aside",
        description="List every reader with its types and origin, and what is wrong with those set aside.",
        parents=[common()],
    )
    readers.set_defaults(run=_readers)
    doctor = subparsers.add_parser(
        "doctor",
        help="what this host gives: sandbox, libraries, store",
        description="Show what this host gives. Exits with 7 where Python is refused, for want of a sandbox.",
        parents=[common()],
    )
    doctor.set_defaults(run=_doctor)


def _tools(args: argparse.Namespace) -> int:
    from blobs.client import Blobs

    screen = Screen()
    with Blobs.open(replace(settings_of(args), store=":memory:")) as blobs, progress("asking the sandbox"):
        tools = blobs.tools(args.dialect)
    if wants_json(args):
        screen.json(tools)
    else:
        screen.line(json.dumps(json.loads(exact_json.text(tools)), indent=2, ensure_ascii=False))
    screen.flush()
    return 0


def _readers(args: argparse.Namespace) -> int:
    from blobs.client import Blobs

    screen = Screen()
    with Blobs.open(replace(settings_of(args), store=":memory:")) as blobs:
        readers = blobs.readers()
    if wants_json(args):
        screen.json(readers)
    else:
        rows = [[each["name"], each["origin"], each["version"], " ".join(each["types"])] for each in readers]
        for line in table_lines(["reader", "origin", "version", "types"], rows):
            screen.line(line)
        for each in readers:
            if "problem" in each:
                screen.line(f"set aside: {each['name']} ({each['origin']}): {each['problem']}")
    screen.flush()
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from blobs.client import Blobs
    from blobs.reading.tokens import tokenizer_problem
    from blobs.wiring import has_store

    settings = settings_of(args)
    screen = Screen()
    with Blobs.open(replace(settings, store=":memory:")) as blobs, progress("testing the sandbox"):
        sandbox = blobs.doctor()["sandbox"]
        set_aside = [each for each in blobs.readers() if "problem" in each]
    found = {
        "version": metadata.version("agent-blobs"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "store": {"folder": settings.store, "exists": has_store(settings)},
        "tokens": tokenizer_problem() or "exact",
        "readers_set_aside": [each["name"] for each in set_aside],
        "sandbox": sandbox,
    }
    if wants_json(args):
        screen.json(found)
    else:
        for line in _doctor_lines(found):
            screen.line(line)
    screen.flush()
    return 0 if sandbox["runs_untrusted"] or "python" in sandbox["stand_ins"] else SandboxError.exit_code


def _doctor_lines(found: dict[str, Any]) -> list[str]:
    sandbox, store = found["sandbox"], found["store"]
    lines = [
        f"agent-blobs {found['version']}, Python {found['python']}, {found['system']}",
        f"store      {store['folder']}{'' if store['exists'] else ' (not there yet)'}",
        f"tokens     {found['tokens']}",
        f"sandbox    tier {sandbox['tier']}: {', '.join(sandbox['layers']) or 'none'}; {sandbox['cells_max']} cells",
        *(f"           {reason}" for reason in sandbox["reasons"]),
        f"libraries  {', '.join(f'{name} {version}' for name, version in sandbox['libraries'].items())}",
    ]
    lines += [f"missing    {name}" for name in sandbox["missing"]]
    lines += [f"broken     {name}: {problem}" for name, problem in sandbox["broken"].items()]
    lines += [f"set aside  reader {name}" for name in found["readers_set_aside"]]
    if not sandbox["runs_untrusted"]:
        lines.append(f"{_python_without_cell(sandbox)}; SQL and readers run in a plain process with limits.")
    return lines


def _python_without_cell(sandbox: dict[str, Any]) -> str:
    from blobs.querying import portable

    if "python" in sandbox["stand_ins"]:
        return (
            f"Python is the smaller one of {portable.PACKAGE} {portable.version()} here: no pandas and other libraries"
        )
    return f"Python is refused here (the extra {portable.EXTRA} has a smaller one)"
