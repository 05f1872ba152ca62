"""The application: routes over the front door, behind the gate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from api import blob_routes, conversation_routes, service_routes, upload_routes
from api.byte_front import ByteFront
from api.description import describe
from api.door import Door
from api.front import Front
from api.gate import Gate
from api.problems import answer_errors
from api.receiving import BYTE_THREADS, UPLOADS_MAX
from api.reference_page import reference_page
from api.small_puts import SmallPuts
from blobs.client import Blobs
from blobs.settings import Settings

VERSION = "1"
"""Of the interface: the `v1` of its paths."""


class Application(FastAPI):
    """The framework's application, and in front of it the byte routes."""

    def __init__(self, front: Front, **given: Any) -> None:
        super().__init__(**given)
        self._bytes = ByteFront(self, front)
        self.at_once = self._bytes.at_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._bytes.takes(scope):
            await self._bytes(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(given: Settings | Blobs) -> FastAPI:
    """The application over a service that is open already, or over settings, whose store it opens and closes itself.

    It holds no state of its own: many processes over one store serve the same conversations.
    """
    front = Front(given)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        app.state.upload_places = anyio.CapacityLimiter(UPLOADS_MAX)
        app.state.byte_threads = anyio.CapacityLimiter(BYTE_THREADS)
        await to_thread.run_sync(front.open)
        store = front.blobs.service.store
        puts = app.state.small_puts = SmallPuts(store.put_all) if store.can_put_all else None
        try:
            yield
        finally:
            if puts is not None:
                await to_thread.run_sync(puts.close)
            await to_thread.run_sync(front.close)

    app = Application(
        front,
        title="agent-blobs",
        version=VERSION,
        description="Keeps the whole of large tool results, and lets a model read, search and compute over them.",
        lifespan=running,
        redirect_slashes=False,
        strict_content_type=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.front = front
    answer_errors(app)
    app.add_middleware(Gate, front=front)
    app.add_middleware(Door)  # added last, it is the outermost
    app.router.routes.extend([*blob_routes.ROUTES, *upload_routes.ROUTES])
    app.include_router(conversation_routes.router)
    app.include_router(service_routes.router)
    describe(app)
    app.add_route("/docs", lambda _: HTMLResponse(reference_page(app.openapi())), include_in_schema=False)
    return app
