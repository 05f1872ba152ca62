"""Answers that were just given, for whoever asks the same again while nothing at all was written to the catalog."""

import time
from collections.abc import Callable
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import Scope

from blobs.domain.limits import MIB, Limits

_KEPT_BYTES_MAX = 16 * MIB
_KEPT_MS_MAX = 1000

_KEPT = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED)


class KeptAnswers:
    """What a request is answered depends on its head and on the catalog: with neither changed it is the same.

    `version` is of the catalog, as of `Catalog.version`. To be used by one thread, and `keep` straight after the `find`
    that found nothing: then the version is of before the answer was made. An answer is kept for a moment only, so that
    it is noted in time that its blob is used.
    """

    def __init__(self, version: Callable[[], object | None], limits: Limits) -> None:
        self._version = version
        self._ms_max = min(_KEPT_MS_MAX, limits.grace_ms // 100)
        self._answers: dict[object, Response] = {}
        self._bytes = 0
        self._kept_version: object | None = None
        self._until_s = 0.0

    def find(self, scope: Scope) -> Response | None:
        """The answer to the same request."""
        now = self._version()
        if now is None or now != self._kept_version or time.monotonic() > self._until_s:
            self._answers.clear()
            self._bytes = 0
            self._kept_version = now
            self._until_s = time.monotonic() + self._ms_max / 1000
        return self._answers.get(_asked(scope)) if self._answers else None

    def keep(self, scope: Scope, answer: Response) -> None:
        """Keep the answer, if it is one that only another state of the catalog would change."""
        self._bytes += len(answer.body) + sum(len(name) + len(value) for name, value in scope["headers"])
        if self._kept_version is not None and answer.status_code in _KEPT and self._bytes <= _KEPT_BYTES_MAX:
            self._answers[_asked(scope)] = answer


def _asked(scope: Scope) -> object:
    return scope["method"], scope["path"], scope["query_string"], *scope["headers"]
