"""Files that a caller names: what their names declare, and opening them."""

import mimetypes
from pathlib import Path
from typing import Any, BinaryIO

from blobs.domain.errors import CallerError, NotFoundError
from blobs.domain.media_type import BINARY, NDJSON, PARQUET

_TYPES_BY_SUFFIX = {
    ".parquet": PARQUET,
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".tsv": "text/tab-separated-values",
    ".md": "text/markdown",
    ".log": "text/plain",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
}
"""Beside what `mimetypes` knows on every machine."""

_TYPES_BY_ENCODING = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}

_known = mimetypes.MimeTypes()
"""Without the tables of this machine: a name declares the same everywhere."""


def declared_type(content: Any) -> str:
    """The type that a file name declares; it decides only between kinds that the bytes allow."""
    if not isinstance(content, str | Path):
        return BINARY
    path = Path(content)
    found, encoding = _known.guess_type(path.name)
    if encoding is not None:
        return _TYPES_BY_ENCODING.get(encoding, BINARY)
    return _TYPES_BY_SUFFIX.get(path.suffix.lower()) or found or BINARY


def open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None
    except OSError as error:
        raise CallerError(f"{path} cannot be read: {error.strerror}.") from None
