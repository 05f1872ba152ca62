"""What readers did wrong in a cell, told to the operator: by `blobs readers` of the running service, and in the log."""

import logging
import re

from blobs.reading.reader import PlugIn
from blobs.reading.registry import Registry
from blobs.running.runner import Outcome

_AT_WORK = re.compile(r"^reader (\S+)(?: (\S+))?$", re.MULTILINE)
_UNLOADED = re.compile(r"^unloaded (\S+): (.*)$", re.MULTILINE)
_FAULT = re.compile(r"^fault (\S+): (.*)$", re.MULTILINE)
_FAULTS_MAX = 20
_log = logging.getLogger("blobs.operations")

REASONS = {
    "timeout": "did not answer in time",
    "memory": "took too much memory",
    "killed": "crashed",
    "protocol": "answered in a form that is refused",
    "error": "failed",
}
"""What a reader did whose process ended without an answer, by the status of that."""


def at_work(printed: str) -> tuple[str, str]:
    """Name and type of the reader that was at work when its process ended."""
    lines = _AT_WORK.findall(printed)
    return lines[-1] if lines else ("", "")


def load_faults(registry: Registry) -> list[str]:
    """Lines for the host on what of the readers' code this process could not load: its own may have been able to."""
    return [f"unloaded {each.name}: {each.problem}" for each in registry.plug_ins() if each.reader is None]


def note_faults(registry: Registry, outcome: Outcome, reader: str) -> None:
    """Note and log what the readers that are somebody's did wrong; `reader` is the one that was asked, if it is known.

    What a built-in does wrong over damaged bytes is said in the blob's notes, and is no news to an operator.
    """
    foreign = {each.name: each for each in registry.plug_ins() if not each.is_built_in}
    if not foreign:
        return
    found = _FAULT.findall(outcome.printed)[:_FAULTS_MAX]
    has_no_answer = outcome.status in REASONS and outcome.status != "error"
    if has_no_answer or (outcome.error or {}).get("code") == "internal_error":
        found.append((reader or at_work(outcome.printed)[0], REASONS[outcome.status]))
    for name, cause in found:
        if name in foreign:
            _log.warning("the reader %s (%s): %s", name, foreign[name].origin, cause)
            registry.note_fault(name, cause)
    for name, cause in _UNLOADED.findall(outcome.printed):
        _note_unloaded(registry, [foreign[name]] if name in foreign else list(foreign.values()), cause)


def _note_unloaded(registry: Registry, plug_ins: list[PlugIn], cause: str) -> None:
    """A file, or the folder of all of them, cannot be read in cells; said once."""
    for each in plug_ins:
        if each.reader is not None and registry.note_fault(each.name, f"not in use, as cells cannot load it: {cause}"):
            _log.warning("the reader %s (%s) is not in use, as cells cannot load it: %s", each.name, each.origin, cause)
