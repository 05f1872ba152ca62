"""The blob's one true name."""

import hashlib
import re
from dataclasses import dataclass

from blobs.domain.errors import CallerError

_TEXT = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """`sha256:` and 64 lower-case hexadecimal digits; parsed once at the edge, printed one way."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "Digest":
        """Read a digest as written by `str(digest)`; raises `CallerError` for anything else."""
        if not _TEXT.match(text):
            raise CallerError(
                "Not a digest.", code="invalid_digest", hint="Write sha256: and 64 lower-case hexadecimal digits."
            )
        return cls(text)

    @classmethod
    def of(cls, content: bytes | bytearray | memoryview) -> "Digest":
        """The digest of these bytes."""
        return cls("sha256:" + hashlib.sha256(content).hexdigest())

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Digest":
        """The digest whose 32 raw bytes these are."""
        return cls("sha256:" + raw.hex())

    @property
    def hex(self) -> str:
        """The 64 hexadecimal digits alone."""
        return self.text[7:]

    def to_bytes(self) -> bytes:
        """The 32 raw bytes."""
        return bytes.fromhex(self.hex)

    def __str__(self) -> str:
        return self.text
