"""The head of a request, taken apart once."""

from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers

_KEPT_AS = "blobs.headers"


class Heads(Headers):
    """Headers that are found in one step; of several with one name the first, as with the base class."""

    def __init__(self, scope: MutableMapping[str, Any]) -> None:
        super().__init__(scope=scope)
        self._first = dict(reversed(self._list))

    def __getitem__(self, key: str) -> str:
        return self._first[key.lower().encode("latin-1")].decode("latin-1")

    def __contains__(self, key: Any) -> bool:
        return key.lower().encode("latin-1") in self._first

    def get(self, key: str, default: Any = None) -> Any:
        """The first value of this name."""
        found = self._first.get(key.lower().encode("latin-1"))
        return default if found is None else found.decode("latin-1")


def heads_of(scope: MutableMapping[str, Any]) -> Heads:
    """The headers of a request, the same object for all who ask."""
    found: Heads | None = scope.get(_KEPT_AS)
    if found is None:
        found = scope[_KEPT_AS] = Heads(scope)
    return found
