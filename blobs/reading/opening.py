"""From bytes to a view: choose a reader, open the blob, go to a part or a path; fall back rather than fail."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from blobs.domain.errors import BlobsError, UnreadableError
from blobs.domain.media_type import TEXT
from blobs.domain.ranges import ItemRange
from blobs.reading.guarding import GuardedView, ReaderError, open_view
from blobs.reading.reader import SAMPLE_BYTES, IndexedReader, PlugIn, Sample, View
from blobs.reading.registry import SIGNATURE_LEVEL, Choice, Registry
from blobs.reading.source import Readable, Source, TooMuchReadError

FALLBACKS = ("text", "binary")
"""Readers that take whatever the others could not open."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A view, the reader that gave it, the type that the bytes have, and why better readers did not serve."""

    view: View
    plug_in: PlugIn
    type: str
    notes: tuple[str, ...] = ()


def take_sample(source: Readable, declared_type: str | None) -> Sample:
    """What readers look at to recognise a format: head, tail, size and the declared type."""
    head = source.read(0, SAMPLE_BYTES)
    tail = source.read(max(len(head), source.size - 4096), source.size)
    return Sample(head, tail or head[-4096:], source.size, declared_type)


def recognise(
    registry: Registry,
    source: Source,
    declared_type: str | None,
    *,
    avoid: Iterable[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Opened:
    """Open a blob with the best reader that can; each that fails is noted and the next one tried. See `openings`."""
    for opened in openings(registry, source, declared_type, avoid=avoid, tell=tell):
        return opened
    raise UnreadableError("No reader opens this blob.", hint='Use unit "bytes".')


def openings(
    registry: Registry,
    source: Source,
    declared_type: str | None,
    *,
    avoid: Iterable[str] = (),
    tell: Callable[[str], None] = lambda _: None,
    indexes: Mapping[str, memoryview] | None = None,
) -> Iterator[Opened]:
    """Every way in which a blob opens, the best first: whoever finds the first one to be of no use takes the next.

    Bytes with the signature of a binary format are never taken for text, even where they could be: what a model reads
    as lines must be text.

    `tell` is given a line as each reader begins, so that whoever watches knows which was at work if this never returns;
    `indexes` are those of the source, by the names of their readers.
    """
    avoided = set(avoid)
    notes: list[str] = []
    is_binary = False
    for choice in choices(registry, take_sample(source, declared_type), avoid=avoided, tell=tell, notes=notes):
        if choice.plug_in.name in avoided or choice.plug_in.reader is None:
            continue
        if is_binary and choice.type == TEXT:
            continue
        is_binary = is_binary or (choice.level >= SIGNATURE_LEVEL and not choice.type.startswith("text/"))
        tell(f"reader {choice.plug_in.name} {choice.type}")
        view = _opened(choice, source, notes, tell, (indexes or {}).get(choice.plug_in.name))
        if view is not None:
            yield Opened(view, choice.plug_in, choice.type, tuple(notes))


def choices(
    registry: Registry,
    sample: Sample,
    *,
    avoid: Collection[str] = (),
    tell: Callable[[str], None] = lambda _: None,
    notes: list[str] | None = None,
) -> Iterator[Choice]:
    """`Registry.choose`, the first one as cheaply as it can be had; in `notes` that none reads it as declared."""
    first = registry.declared_choice(sample, avoid=avoid, tell=tell)
    if first is not None:
        yield first
    rest = registry.choose(sample, avoid=avoid, tell=tell)
    declared = registry.by_type(sample.declared_type) if sample.declared_type and sample.size else None
    is_read = declared is None or declared.name in {*avoid, *(each.plug_in.name for each in rest)}
    if notes is not None and not is_read:
        notes.append(f"declared as {sample.declared_type}, which it is not")
    yield from (each for each in rest if first is None or each.plug_in.name != first.plug_in.name)


def _opened(
    choice: Choice, source: Source, notes: list[str], tell: Callable[[str], None], index: memoryview | None
) -> View | None:
    """The view of a reader that opens the blob and keeps what it promises, else None and a note why not."""
    try:
        view = _by_index_or_all(choice.plug_in, source, index)
        _check(view)
        if isinstance(view, GuardedView):
            view.verify()
        return view
    except ReaderError as problem:
        tell(problem.line)
        notes.append(problem.message)
    except BlobsError as problem:
        notes.append(f"not readable as {choice.type}: {problem.message}")
    except (KeyboardInterrupt, SystemExit, TooMuchReadError):
        raise
    except BaseException as problem:  # noqa: BLE001  # the plug-in door: whatever a reader does, the blob stays readable
        tell(f"fault {choice.plug_in.name}: {type(problem).__name__}: {problem}")
        notes.append(f"the reader {choice.plug_in.name!r} failed on it")
    return None


def reopen(registry: Registry, source: Source, reader: str, index: memoryview | None = None) -> View:
    """Open a blob with the reader that its profile names, by its index where there is one."""
    plug_in = registry.by_name(reader)
    if plug_in is None or plug_in.reader is None:
        raise UnreadableError(
            f"The reader {reader!r} of this blob is not installed any more.",
            hint='Use unit "lines", "chars" or "bytes".',
        )
    return _by_index_or_all(plug_in, source, index)


def _by_index_or_all(plug_in: PlugIn, source: Source, index: memoryview | None) -> View:
    if index is not None and takes_index(plug_in):
        return cast("IndexedReader", plug_in.reader).open(source, index)
    return open_view(plug_in, source)


def takes_index(plug_in: PlugIn) -> bool:
    """The reader opens a blob again by an index that its view gave."""
    return bool(getattr(plug_in.reader, "takes_index", False))


def _check(view: View) -> None:
    """Refuse a view whose promise is broken before anything is built on it."""
    if view.unit is not None and (view.count is None or view.count < 0):
        raise UnreadableError("the reader does not say how many items there are")
    if view.count:
        last = list(view.glimpse(ItemRange(view.count - 1, view.count + 1)))
        if len(last) != 1:
            raise UnreadableError(f"the reader counts {view.count} {view.unit} but the last one is not where it ends")
