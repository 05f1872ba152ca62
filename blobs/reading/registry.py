"""Finds the readers and chooses among them for the bytes of a blob.

Built-in readers come through the same door as anybody's: the entry point group `blobs.readers`. A single file dropped
into a readers folder works too. A broken plug-in is set aside with its cause and never stops the others.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blobs.domain.media_type import BINARY, TEXT, parse_media_type
from blobs.reading.plug_ins import CAUSE_CHARS_MAX, cause_of, find_plug_ins
from blobs.reading.reader import Confidence, PlugIn, Reader, Sample

SIGNATURE_LEVEL = 100
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
            self._failed.setdefault(name, cause[:CAUSE_CHARS_MAX])
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
            problem = f"sniff failed: {cause_of(error)}"
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
                self._plug_ins = find_plug_ins(self._readers_dir, self._load_s_max)
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


def _wrong_with(confidence: Any) -> str:
    """What an answer of `sniff` lacks to be one, or ""."""
    if not isinstance(confidence, Confidence):
        return "sniff did not answer with a Confidence"
    if not isinstance(confidence.level, int) or not 0 <= confidence.level <= 100:
        return f"sniff answered with the level {confidence.level!r}"[:CAUSE_CHARS_MAX]
    if not isinstance(confidence.type, str) or (
        confidence.type and parse_media_type(confidence.type) != confidence.type
    ):
        return f"sniff answered with the type {confidence.type!r}"[:CAUSE_CHARS_MAX]
    return ""
