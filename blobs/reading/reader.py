"""What a reader is: the plug-in for one format, stateless; it opens a source as a view of numbered items.

A reader is found by the entry point group `blobs.readers` or as a single file in a readers folder. Write a class with
`name`, `media_types`, `sniff` and `open`; give `open` a `BaseView` with `unit`, `count` and `items`, and everything
else is worked out. `blobs.testing.ReaderContract` checks the result.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from blobs.domain.ranges import ItemRange
from blobs.reading.source import Source
from blobs.reading.stretches import Needle, Stretch

BUILT_IN = "built in"
"""The origin of a reader that came with this distribution."""

SAMPLE_BYTES = 64 * 1024
"""How much of a blob's head a reader is shown to recognise it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a reader may look at to recognise its format."""

    head: bytes
    tail: bytes
    size: int
    declared_type: str | None = None

    @property
    def is_whole(self) -> bool:
        """The head is all there is."""
        return self.size <= len(self.head)


@dataclass(frozen=True, slots=True, order=True)
class Confidence:
    """How sure a reader is that the bytes are its format, and which media type they then have.

    `level` 0 means no; 10 anything of that class (any text, any bytes); 50 the structure fits; 100 a signature that
    nothing else has. The highest wins; a declared type that the reader accepts (any level over 0) wins over all but a
    signature that contradicts it.
    """

    level: int
    type: str = ""

    NO: ClassVar["Confidence"]


Confidence.NO = Confidence(0)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name as written, and its SQL type (`VARCHAR`, `BIGINT`, `DECIMAL(38,0)`, `JSON` …)."""

    name: str
    type: str = "VARCHAR"


@dataclass(frozen=True, slots=True)
class Part:
    """A named section of a blob: a sheet, a table, an archive member, an array of objects inside a document."""

    name: str
    unit: str
    count: int | None = None
    note: str = ""


class View(Protocol):
    """One blob seen as numbered items. `BaseView` gives every method; override what the format knows better."""

    unit: str | None
    count: int | None
    columns: list[Column] | None
    text_encoding: str | None
    text_source: Source | None
    bytes_source: Source | None
    parts: list[Part]
    notes: list[str]

    def items(self, span: ItemRange) -> Iterator[Any]: ...
    def glimpse(self, span: ItemRange) -> Iterator[Any]: ...
    def shape(self) -> Any: ...
    def facts(self) -> dict[str, Any]: ...
    def part(self, name: str) -> "View": ...
    def at(self, path: str) -> "View": ...
    def text_length(self) -> int: ...
    def text(self, start: int, stop: int) -> str: ...
    def text_offset(self, item: int) -> int: ...
    def search_texts(self, item: Any, columns: list[str] | None) -> Iterator[tuple[str | None, str]]: ...
    def place(self, index: int) -> dict[str, Any]: ...
    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None: ...
    def strays(self) -> Iterator[tuple[int, str]]: ...
    def slice(self, span: ItemRange) -> tuple[bytes, str]: ...
    def table(self) -> "Table | None": ...
    def index_bytes(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Table:
    """A view as a table, for the columnar copy: column names and rows of cells.

    A cell is `None`, a `str`, `bytes`, `bool`, `int`, `float`, `blobs.domain.exact_json.Number`, a `datetime.date` or
    `datetime.datetime` without a zone, or a list or dict (kept as JSON). `rows` starts a fresh pass at each call.
    `is_text` says that strings are the file's untyped text, so that columns may be given a type where every value
    survives the round trip; `texts`, which starts a pass too, may then give the same rows as `pyarrow.RecordBatch`es of
    `large_string` columns, which is quicker. So may `json_columns` where cells are JSON. A reader that has Arrow data
    gives `arrow` (a callable that makes a `pyarrow.RecordBatchReader`) instead of rows; `is_parquet` then says that the
    source itself is the Parquet file of just this table.
    """

    columns: Sequence[str]
    rows: Callable[[], Iterator[list[Any]]] | None = None
    arrow: Any = None
    is_text: bool = False
    texts: Callable[[], Iterator[Any]] | None = None
    json_columns: "Callable[[], JsonColumns] | None" = None
    is_parquet: bool = False


JsonColumns = Iterator[tuple[list[str], list[bytes] | Iterator[list[Any]]]]
"""Runs of the rows of a table. First the names of the columns, of which later runs may have more at the end. Then the
columns, each the strict JSON texts of its cells in UTF-8, joined by LF and without one inside, `null` where one is
missing; or, where they cannot be had so, the rows as `Table.rows` gives them, at least one."""


class StartOverError(Exception):
    """A pass over `Table.json_columns` showed that the columns are others: the next pass has them."""


class Reader(Protocol):
    """The plug-in for one format."""

    name: str
    media_types: tuple[str, ...]

    def sniff(self, sample: Sample) -> Confidence: ...
    def open(self, source: Source) -> View: ...


class IndexedReader(Reader, Protocol):
    """A reader whose views can be opened again without a pass over the blob.

    It says `takes_index = True`, and `open` takes what `View.index_bytes` of the same bytes once answered. An index
    that does not fit is to be ignored (see `blobs.reading.index`): it may be old, or of something else.
    """

    takes_index: bool

    def open(self, source: Source, index: memoryview | None = None) -> View: ...


class Scan(Protocol):
    """A reader that looks at a blob as its bytes pass by on their way into the store, so that nobody must do so again.

    It runs in the server's process, in constant memory but for what it notes.
    """

    def add(self, chunk: memoryview) -> None:
        """Take the next bytes, which are gone afterwards; whatever it raises ends the scan and nothing else."""
        ...

    def index_bytes(self, size: int) -> bytes | None:
        """The index of all `size` bytes that came, as `View.index_bytes` would give it; None where only that can."""
        ...


class ScanningReader(IndexedReader, Protocol):
    """A reader that finds its index on the way in; only of built-in ones is it asked."""

    def scan(self, head: bytes) -> Scan | None:
        """A scan of a blob that begins with `head`, at least `SAMPLE_BYTES` of it; those come again with `add`."""
        ...


@dataclass(frozen=True, slots=True)
class PlugIn:
    """A reader as the registry knows it: where it came from, and what is wrong with it if it is set aside."""

    name: str
    origin: str
    version: str
    media_types: tuple[str, ...] = ()
    reader: Reader | None = None
    problem: str = ""
    is_light: bool = False
    """Small blobs may be read in the server's own process: our own code over text, no native parser of a format."""
    aliases: tuple[str, ...] = field(default=())
    has_signature: bool = True
    """Its `sniff` may answer 100. One that never does says `has_signature = False`: it contradicts no declared type."""

    @property
    def is_built_in(self) -> bool:
        """It came with this distribution; everything else is somebody's."""
        return self.origin == BUILT_IN
