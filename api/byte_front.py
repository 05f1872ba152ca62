"""The byte routes in front of the framework, whose own layers cost several times what these routes do.

They are the framework's own routes, behind the same door and gate; only what it does around every route is left out.
"""

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.blob_routes import AT_ONCE, ROUTES
from api.door import Door
from api.front import Front
from api.gate import Gate
from api.heads import heads_of
from api.kept_answers import KeptAnswers
from api.problems import told
from blobs.domain.errors import BlobsError

_READING = ("GET", "HEAD")


class ByteFront:
    """Answers the requests that it `takes`: those to the byte routes of an application."""

    def __init__(self, app: ASGIApp, front: Front, routes: list[Route] = ROUTES) -> None:
        self._app = app
        self._routes = [(route.methods or set(), route.path_regex.fullmatch, route.endpoint) for route in routes]
        self._gate = Gate(_answer, front)
        self._way_in = Door(self._gate)
        self._kept = KeptAnswers(front.catalog_version, front.limits)

    def takes(self, scope: Scope) -> bool:
        """Whether the request is to one of the routes; it is noted which."""
        if scope["type"] != "http":
            return False
        for methods, match, endpoint in self._routes:
            if scope["method"] in methods and (found := match(scope["path"])) is not None:
                scope.update(app=self._app, endpoint=endpoint, path_params=found.groupdict())
                return True
        return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what was taken."""
        await self._way_in(scope, receive, send)

    def at_once(self, scope: Scope) -> Response | None:
        """The whole answer to a request, where it has no body and can be answered without waiting; else None."""
        if scope["method"] not in _READING or not self.takes(scope):
            return None
        try:
            answer = self._kept.find(scope)
            if answer is None and (answer := self._made_at_once(scope)) is not None:
                self._kept.keep(scope, answer)
        except Exception:  # noqa: BLE001  # it is raised again on the way through the door, which tells it
            return None
        return answer

    def _made_at_once(self, scope: Scope) -> Response | None:
        if (answer_at_once := AT_ONCE.get(scope["endpoint"])) is None:
            return None
        heads = heads_of(scope)
        if "content-length" in heads or "transfer-encoding" in heads:
            return None
        request = _ByteRequest(scope)
        try:
            answer = self._gate.refusal(scope) or answer_at_once(request, may_wait=False)
        except BlobsError as fault:
            return told(request, fault)
        return None if isinstance(answer, StreamingResponse) else answer


class _ByteRequest(Request):
    """A request whose head was taken apart on its way in."""

    @property
    def headers(self) -> Headers:
        return heads_of(self.scope)


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    request = _ByteRequest(scope, receive)
    try:
        answer = await scope["endpoint"](request)
    except BlobsError as fault:
        answer = told(request, fault)
    await answer(scope, receive, send)
