"""Media types without parameters."""

import re

from blobs.domain.errors import CallerError

JSON = "application/json"
NDJSON = "application/x-ndjson"
CSV = "text/csv"
TEXT = "text/plain"
BINARY = "application/octet-stream"
PARQUET = "application/vnd.apache.parquet"
PDF = "application/pdf"

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\Z")


def parse_media_type(text: str) -> str:
    """The type in lower case, its parameters dropped; raises `CallerError` where it is not a media type."""
    bare = text.split(";", 1)[0].strip().lower()
    if not _TYPE.match(bare):
        raise CallerError(
            f"{text[:80]!r} is not a media type.",
            code="invalid_type",
            hint="Write one such as text/csv or leave it out.",
        )
    return bare
