"""Finds the readers and chooses among them for the bytes of a blob.

Built-in readers come through the same door as anybody's: the entry point group `blobs.readers`. A single file dropped
into a readers folder works too. A broken plug-in is set aside with its cause and never stops the others.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from blobs.domain.errors import CallerError
from blobs.domain.media_type import BINARY, TEXT, parse_media_type
from blobs.reading.reader import Confidence, PlugIn, Reader, Sample

UNFINISHED = "did not load within"
"""What the problem of a file says that took too long: it is not to be loaded again."""

ENTRY_POINT_GROUP = "blobs.readers"
OWN_DISTRIBUTION = "agent-blobs"
SIGNATURE_LEVEL = 100
_CAUSE_CHARS_MAX = 300
_PARENT_TYPES = {"json": "application/json", "xml": "application/xml", "zip": "application/zip"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A reader that may read a blob, the media type the blob then has, and how sure the reader was."""

    plug_in: PlugIn
    type: str
    level: int

    @property
    def reader(self) -> Reader:
        """The reader itself."""
        assert self.plug_in.reader is not None  # for the type checker: only readers in use are chosen
        return self.plug_in.reader


@dataclass(frozen=True, slots=True)
class _Found:
    """One reader-like thing, or the cause why there is none, before it is checked."""

    name: str
    origin: str
    version: str
    candidate: Any = None
    problem: str = ""
    is_built_in: bool = False


class Registry:
    """All readers of this installation and of one readers folder, in a fixed order.

    The order is that of registration: the built-ins by name, then those of other distributions by distribution and
    name, then the files of the folder by file name. Nothing is loaded before the first question. Safe to use from
    several threads.
    """

    def __init__(self, readers_dir: str | Path | None = None, *, load_s_max: float | None = None) -> None:
        """`load_s_max` bounds the seconds that a file of the folder may take to be run; it takes a thread for each."""
        self._readers_dir = Path(readers_dir) if readers_dir is not None else None
        self._load_s_max = load_s_max
        self._lock = threading.Lock()
        self._plug_ins: list[PlugIn] | None = None
        self._failed: dict[str, str] = {}
        self._last_sniffed: tuple[Sample | None, Mapping[str, Confidence]] = (None, {})
        """What each reader said of the last sample: the same blob is often asked about twice in a row."""

    def plug_ins(self) -> list[PlugIn]:
        """Every plug-in found, in registration order.

        Those set aside have no `reader` and their cause in `problem`; a reader in use whose `sniff` failed names that.
        """
        return [
            replace(each, problem=self._failed[each.name])
            if each.reader is not None and each.name in self._failed
            else each
            for each in self._load()
        ]

    def note_fault(self, name: str, cause: str) -> bool:
        """Keep what a reader did wrong for `plug_ins` to tell, the first thing that it did; answers if it is that."""
        with self._lock:
            is_first = name not in self._failed
            self._failed.setdefault(name, cause[:_CAUSE_CHARS_MAX])
            return is_first

    def by_name(self, name: str) -> PlugIn | None:
        """The reader in use of this name, or None."""
        return next((each for each in self._in_use() if each.name == name), None)

    def by_type(self, media_type: str) -> PlugIn | None:
        """The first reader in use that names this media type, as one of its own or as an alias."""
        in_use = self._in_use()
        return next(
            (each for each in in_use if media_type in each.media_types),
            next((each for each in in_use if media_type in each.aliases), None),
        )

    def choose(
        self, sample: Sample, *, avoid: Collection[str] = (), tell: Callable[[str], None] = lambda _: None
    ) -> list[Choice]:
        """The readers that may read these bytes, the one to try first at the front.

        The reader of a declared type comes first if it accepts the bytes, unless another one finds a signature in
        them; the rest follow by confidence, equals in registration order. Text (if the bytes can be text) and binary
        close the list, so that a blob always opens. A declared type that no reader knows goes by its family (`+json`,
        `text/*`) and is kept where nothing in the bytes speaks against it; `application/octet-stream` declares
        nothing. A `sniff` that raises counts as no. Readers named in `avoid` are not asked at all; `tell` is given a
        line before each other one is, so that whoever watches knows which does not come back.
        """
        declared = sample.declared_type if sample.declared_type != BINARY else None
        if sample.size == 0:
            return self._choose_for_nothing(declared)
        sniffed = self._sniffed([each for each in self._in_use() if each.name not in avoid], sample, tell)
        accepted = [_choice(each, confidence) for each, confidence in sniffed if confidence.level > 0]
        known = self.by_type(declared) if declared else None
        family = self._family(declared) if declared and known is None else None
        wanted = known or family

        def preference(choice: Choice) -> tuple[bool, bool, int]:
            is_wanted = wanted is not None and choice.plug_in.name == wanted.name
            is_fallback = bool({TEXT, BINARY} & set(choice.plug_in.media_types)) and not is_wanted
            return is_fallback, choice.level < SIGNATURE_LEVEL and not is_wanted, -choice.level

        ordered = sorted(accepted, key=preference)
        if wanted is not None:
            ordered = _declared_first(ordered, wanted.name)
        kept = declared if known is None else None
        return self._with_binary([_typed(each, wanted, declared, kept) for each in ordered], kept)

    def declared_choice(
        self, sample: Sample, *, avoid: Collection[str] = (), tell: Callable[[str], None] = lambda _: None
    ) -> Choice | None:
        """What `choose` puts first, where that is the reader of the declared type; None where it may be another one.

        Asks that reader and those that may find a signature, and so costs a tenth of `choose`.
        """
        declared = sample.declared_type if sample.declared_type != BINARY and sample.size else None
        wanted = self.by_type(declared) if declared else None
        if wanted is None or wanted.name in avoid:
            return None
        ((_, confidence),) = self._sniffed([wanted], sample, tell)
        if confidence.level <= 0:
            return None
        others = [each for each in self._in_use() if each.has_signature and each.name not in {wanted.name, *avoid}]
        if any(other.level >= SIGNATURE_LEVEL for _, other in self._sniffed(others, sample, tell)):
            return None
        return _typed(_choice(wanted, confidence), wanted, declared, None)

    def _sniffed(
        self, plug_ins: Iterable[PlugIn], sample: Sample, tell: Callable[[str], None]
    ) -> list[tuple[PlugIn, Confidence]]:
        """What these readers say of a sample, each asked once."""
        last, known_levels = self._last_sniffed
        levels = {**known_levels} if last == sample else {}
        sniffed = []
        for each in plug_ins:
            if each.name not in levels:
                tell(f"reader {each.name}")
                levels[each.name] = self._sniff(each, sample, tell)
            sniffed.append((each, levels[each.name]))
        self._last_sniffed = (sample, levels)
        return sniffed

    def _choose_for_nothing(self, declared: str | None) -> list[Choice]:
        """Zero bytes: no lines of text where text was declared, else nothing that a format could be told by."""
        text = self.by_type(TEXT)
        choices = []
        if text is not None and declared is not None and declared.startswith("text/"):
            choices.append(Choice(text, declared, 1))
        return self._with_binary(choices, declared)

    def _with_binary(self, choices: list[Choice], kept: str | None) -> list[Choice]:
        binary = self.by_type(BINARY)
        if binary is None:
            return choices
        found = next((each for each in choices if each.plug_in.name == binary.name), None)
        rest = [each for each in choices if each.plug_in.name != binary.name]
        return [*rest, found or Choice(binary, kept or BINARY, 1)]

    def _family(self, declared: str) -> PlugIn | None:
        parent = _PARENT_TYPES.get(declared.rpartition("+")[2]) if "+" in declared else None
        if parent is None and declared.startswith("text/"):
            parent = TEXT
        return self.by_type(parent) if parent else None

    def _sniff(self, plug_in: PlugIn, sample: Sample, tell: Callable[[str], None]) -> Confidence:
        try:
            confidence = plug_in.reader.sniff(sample) if plug_in.reader is not None else Confidence.NO
            problem = "" if plug_in.is_built_in else _wrong_with(confidence)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the plug-in door: a foreign reader may raise anything
            problem = f"sniff failed: {_cause(error)}"
        if problem:
            self.note_fault(plug_in.name, problem)
            tell(f"fault {plug_in.name}: {problem}")
            return Confidence.NO
        return confidence

    def _in_use(self) -> list[PlugIn]:
        return [each for each in self._load() if each.reader is not None]

    def _load(self) -> list[PlugIn]:
        with self._lock:
            if self._plug_ins is None:
                found = [*_from_entry_points(), *_from_folder(self._readers_dir, self._load_s_max)]
                self._plug_ins = list(_checked(found))
                self._introduce(self._plug_ins)
            return self._plug_ins

    def _introduce(self, plug_ins: list[PlugIn]) -> None:
        """Tell readers of blobs that hold others (`InsideReader`) which registry opens those."""
        for each in plug_ins:
            if each.is_built_in and hasattr(each.reader, "registry"):
                setattr(each.reader, "registry", self)  # noqa: B010  # the protocol of readers does not have it


def _choice(plug_in: PlugIn, confidence: Confidence) -> Choice:
    return Choice(plug_in, confidence.type or plug_in.media_types[0], confidence.level)


def _declared_first(ordered: list[Choice], wanted: str) -> list[Choice]:
    """The wanted reader at the front, but behind signatures that contradict it."""
    mine = [each for each in ordered if each.plug_in.name == wanted]
    others = [each for each in ordered if each.plug_in.name != wanted]
    if mine and mine[0].level >= SIGNATURE_LEVEL:
        return mine + others
    signed = [each for each in others if each.level >= SIGNATURE_LEVEL]
    return signed + mine + [each for each in others if each.level < SIGNATURE_LEVEL]


def _typed(choice: Choice, wanted: PlugIn | None, declared: str | None, kept: str | None) -> Choice:
    """The choice with the declared type, where the bytes do not say otherwise."""
    if choice.level >= SIGNATURE_LEVEL or declared is None:
        return choice
    if wanted is not None and choice.plug_in.name == wanted.name and declared not in wanted.aliases:
        return replace(choice, type=declared)
    if kept is not None and wanted is None and {TEXT, BINARY} & set(choice.plug_in.media_types):
        return replace(choice, type=kept)
    return choice


# Finding


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
            yield _Found(point.name, origin, version, problem=f"cannot be loaded: {_cause(error)}")
            continue
        yield _Found(point.name, origin, version, loaded, is_built_in=is_built_in)


def _from_folder(folder: Path | None, load_s_max: float | None) -> Iterator[_Found]:
    if folder is None:
        return
    try:
        files = sorted(each for each in folder.iterdir() if each.suffix == ".py" and each.name[0] not in "._")
    except OSError as error:
        yield _Found(folder.name, str(folder), "", problem=f"the readers folder cannot be read: {_cause(error)}")
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
        yield _Found(file.stem, file.name, "", problem=f"cannot be loaded: {_cause(error)}")
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
            yield PlugIn(each.name, each.origin, each.version, problem=_cause(error))
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


def _wrong_with(confidence: Any) -> str:
    """What an answer of `sniff` lacks to be one, or ""."""
    if not isinstance(confidence, Confidence):
        return "sniff did not answer with a Confidence"
    if not isinstance(confidence.level, int) or not 0 <= confidence.level <= 100:
        return f"sniff answered with the level {confidence.level!r}"[:_CAUSE_CHARS_MAX]
    if not isinstance(confidence.type, str) or (
        confidence.type and parse_media_type(confidence.type) != confidence.type
    ):
        return f"sniff answered with the type {confidence.type!r}"[:_CAUSE_CHARS_MAX]
    return ""


def _types(value: Any, attribute: str) -> tuple[str, ...]:
    if not isinstance(value, tuple | list) or not all(isinstance(each, str) for each in value):
        raise CallerError(f"{attribute} is not a tuple of media types")
    if attribute == "media_types" and not value:
        raise CallerError("media_types is empty")
    return tuple(parse_media_type(each) for each in value)


def _cause(error: BaseException) -> str:
    """What went wrong, in one bounded line."""
    told = " ".join(str(error).split())
    if isinstance(error, CallerError):
        return told[:_CAUSE_CHARS_MAX]
    return f"{type(error).__name__}: {told}".removesuffix(": ")[:_CAUSE_CHARS_MAX]
