"""Finds the plug-ins of this installation and of a readers folder, and checks that they are readers.

Nothing that a plug-in does when it is loaded or made stops the others: it is set aside with its cause.
"""

import ctypes
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from blobs.domain.errors import CallerError
from blobs.domain.media_type import parse_media_type
from blobs.reading.reader import PlugIn

UNFINISHED = "did not load within"
"""What the problem of a file says that took too long: it is not to be loaded again."""

ENTRY_POINT_GROUP = "blobs.readers"
OWN_DISTRIBUTION = "agent-blobs"
CAUSE_CHARS_MAX = 300


@dataclass(frozen=True, slots=True)
class _Found:
    """One reader-like thing, or the cause why there is none, before it is checked."""

    name: str
    origin: str
    version: str
    candidate: Any = None
    problem: str = ""
    is_built_in: bool = False


def find_plug_ins(readers_dir: Path | None, load_s_max: float | None) -> list[PlugIn]:
    """All plug-ins, those set aside too, in the order of `Registry`; each file of the folder has so many seconds."""
    return list(_checked([*_from_entry_points(), *_from_folder(readers_dir, load_s_max)]))


def cause_of(error: BaseException) -> str:
    """What went wrong, in one bounded line."""
    told = " ".join(str(error).split())
    if isinstance(error, CallerError):
        return told[:CAUSE_CHARS_MAX]
    return f"{type(error).__name__}: {told}".removesuffix(": ")[:CAUSE_CHARS_MAX]


def _from_entry_points() -> Iterator[_Found]:
    from importlib.metadata import entry_points  # costs more than the rest of this module

    def order(point: Any) -> tuple[bool, str, str]:
        distribution = point.dist.name if point.dist is not None else ""
        return distribution != OWN_DISTRIBUTION, distribution, point.name

    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=order):
        distribution = point.dist.name if point.dist is not None else "unknown"
        version = point.dist.version if point.dist is not None else ""
        origin = "built in" if distribution == OWN_DISTRIBUTION else f"{distribution} ({point.value})"
        is_built_in = distribution == OWN_DISTRIBUTION
        try:
            loaded = point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the plug-in door: importing foreign code
            yield _Found(point.name, origin, version, problem=f"cannot be loaded: {cause_of(error)}")
            continue
        yield _Found(point.name, origin, version, loaded, is_built_in=is_built_in)


def _from_folder(folder: Path | None, load_s_max: float | None) -> Iterator[_Found]:
    if folder is None:
        return
    try:
        files = sorted(each for each in folder.iterdir() if each.suffix == ".py" and each.name[0] not in "._")
    except OSError as error:
        yield _Found(folder.name, str(folder), "", problem=f"the readers folder cannot be read: {cause_of(error)}")
        return
    for file in files:
        yield from _from_file(file, load_s_max)


def _from_file(file: Path, load_s_max: float | None) -> Iterator[_Found]:
    name = f"blobs_readers_{file.stem}"
    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module  # dataclasses look their module up while it is being run
    try:
        _run(compile(file.read_bytes(), str(file), "exec"), vars(module), load_s_max)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the plug-in door: running foreign code
        del sys.modules[name]
        yield _Found(file.stem, file.name, "", problem=f"cannot be loaded: {cause_of(error)}")
        return
    version = str(getattr(module, "__version__", ""))
    candidates = _candidates(module)
    if not candidates:
        problem = "has no reader: define a class with name, media_types, sniff and open"
        yield _Found(file.stem, file.name, version, problem=problem)
    for candidate in candidates:
        yield _Found(file.stem, file.name, version, candidate)


def _run(code: CodeType, names: dict[str, Any], load_s_max: float | None) -> None:
    """Run a file; in a thread that is left behind where it does not end in time, then raise `TimeoutError`."""
    if load_s_max is None:
        exec(code, names)  # noqa: S102  # the operator's own plug-in
        return
    raised: list[BaseException] = []

    def run() -> None:
        try:
            exec(code, names)  # noqa: S102  # the operator's own plug-in
        except BaseException as error:  # noqa: BLE001  # raised again for whoever waits
            raised.append(error)

    thread = threading.Thread(target=run, name="blobs-reader", daemon=True)
    thread.start()
    thread.join(load_s_max)
    if thread.is_alive():
        _stop(thread)
        raise TimeoutError(f"{UNFINISHED} {load_s_max:g} s")
    if raised:
        raise raised[0]


def _stop(thread: threading.Thread) -> None:
    """Have a thread raise `SystemExit` at its next step in Python; one that waits in C goes on waiting, at no cost."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def _candidates(module: Any) -> list[Any]:
    """What a file offers: READER or READERS if it names them, else all it defines that can sniff."""
    if hasattr(module, "READERS"):
        return list(module.READERS) if isinstance(module.READERS, Iterable) else [module.READERS]
    if hasattr(module, "READER"):
        return [module.READER]
    offered = []
    for name, value in vars(module).items():
        kind = value if isinstance(value, type) else type(value)
        if not name.startswith("_") and kind.__module__ == module.__name__ and hasattr(kind, "sniff"):
            offered.append(value)
    instances = {type(each) for each in offered if not isinstance(each, type)}
    return [each for each in offered if not (isinstance(each, type) and each in instances)]


# Checking


def _checked(found: Iterable[_Found]) -> Iterator[PlugIn]:
    """Plug-ins for what was found; one that is incomplete or takes what another has is set aside."""
    names: set[str] = set()
    owned: dict[str, str] = {}
    for each in found:
        if each.problem:
            yield PlugIn(each.name, each.origin, each.version, problem=each.problem)
            continue
        try:
            plug_in = _made(each)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the plug-in door: constructing foreign objects
            yield PlugIn(each.name, each.origin, each.version, problem=cause_of(error))
            continue
        taken = next((owned[media_type] for media_type in plug_in.media_types if media_type in owned), None)
        if plug_in.name in names:
            yield replace(plug_in, reader=None, problem=f"the name {plug_in.name} is taken")
        elif taken is not None:
            shared = next(media_type for media_type in plug_in.media_types if media_type in owned)
            yield replace(plug_in, reader=None, problem=f"{shared} is read by the built-in {taken}")
        else:
            names.add(plug_in.name)
            if each.is_built_in:
                owned.update(dict.fromkeys((*plug_in.media_types, *plug_in.aliases), plug_in.name))
            yield plug_in


def _made(found: _Found) -> PlugIn:
    reader = found.candidate() if isinstance(found.candidate, type) else found.candidate
    for needed in ("name", "media_types", "sniff", "open"):
        if not hasattr(reader, needed):
            raise CallerError(f"{type(reader).__name__} has no {needed}")
    if not isinstance(reader.name, str) or not reader.name.replace("-", "").replace("_", "").isalnum():
        raise CallerError("name is not a word of letters, digits, - and _")
    if not callable(reader.sniff) or not callable(reader.open):
        raise CallerError("sniff and open are not both callable")
    return PlugIn(
        name=reader.name,
        origin=found.origin,
        version=found.version,
        media_types=_types(reader.media_types, "media_types"),
        reader=reader,
        is_light=bool(getattr(reader, "is_light", False)),
        aliases=_types(getattr(reader, "aliases", ()), "aliases"),
        has_signature=not found.is_built_in or bool(getattr(reader, "has_signature", True)),
    )


def _types(value: Any, attribute: str) -> tuple[str, ...]:
    if not isinstance(value, tuple | list) or not all(isinstance(each, str) for each in value):
        raise CallerError(f"{attribute} is not a tuple of media types")
    if attribute == "media_types" and not value:
        raise CallerError("media_types is empty")
    return tuple(parse_media_type(each) for each in value)
