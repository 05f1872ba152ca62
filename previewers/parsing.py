"""The door to parsers that are not ours: whatever they raise over hostile bytes leaves as one kind of error."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from blobs.domain.errors import BlobsError, UnreadableError

_CAUSE_CHARS_MAX = 160
_OBJECT = re.compile(r"<[^<>]*(?: at 0x|name=|_io\.)[^<>]*>")
"""Objects as Python prints them: they tell addresses and paths, which differ from one run to the next."""


@contextmanager
def parsing(noun: str) -> Iterator[None]:
    """Run a parser; everything it raises leaves as `UnreadableError` with its cause in one bounded line.

    `noun` says what is parsed, such as "Parquet file".
    """
    try:
        yield
    except BlobsError:
        raise
    except Exception as error:  # parsers of damaged files raise anything, up to AttributeError
        told = " ".join(_OBJECT.sub("", str(error)).split())[:_CAUSE_CHARS_MAX] or type(error).__name__
        raise UnreadableError(f"The {noun} is damaged or not supported: {told}.".replace("..", ".")) from error
