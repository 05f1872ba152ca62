"""References: blobs inside JSON, between programs, never shown to a model."""

from dataclasses import dataclass
from typing import Any

from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError
from blobs.domain.media_type import parse_media_type


@dataclass(frozen=True, slots=True)
class Reference:
    """`{"$blob": digest, "size": bytes, "type": media type}`."""

    digest: Digest
    size: int
    type: str

    @classmethod
    def parse(cls, value: Any) -> "Reference":
        """Read a reference from its JSON form; raises `CallerError` for anything that is not exactly one."""
        if not isinstance(value, dict) or set(value) != {"$blob", "size", "type"}:
            raise CallerError("Not a reference.", code="invalid_reference", hint='Give {"$blob", "size", "type"}.')
        size, digest, media_type = value["size"], value["$blob"], value["type"]
        if not isinstance(size, int) or isinstance(size, bool) or size < 0 or not isinstance(digest, str):
            raise CallerError("Not a reference.", code="invalid_reference", hint="size is a number of bytes.")
        if not isinstance(media_type, str):
            raise CallerError("Not a reference.", code="invalid_reference", hint="type is a media type.")
        return cls(Digest.parse(digest), size, parse_media_type(media_type))

    def to_json(self) -> dict[str, Any]:
        """The JSON form, keys in the order `$blob`, `size`, `type`."""
        return {"$blob": str(self.digest), "size": self.size, "type": self.type}
