"""About the service itself: its tools, its readers, whether it lives and works."""

from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from api.bodies import CheckAnswer, CheckBody, CollectAnswer, Health, ReadersAnswer, Readiness, ToolsAnswer
from api.description import answers
from api.exact_requests import ExactJson, ExactRoute
from api.front import Front, tenant_blobs
from api.problems import problem
from blobs.client import Blobs
from blobs.operations.dialects import DIALECTS

router = APIRouter(route_class=ExactRoute, tags=["service"])

Tenant = Annotated[Blobs, Depends(tenant_blobs)]


@router.get("/v1/tools", responses=answers(200, ToolsAnswer))
def tools(
    blobs: Tenant, dialect: Annotated[str, Query(description=f"One of {', '.join(DIALECTS)}.")] = "mcp"
) -> Response:
    """The three tools, as they go into the `tools` field of a request to a model service."""
    return ExactJson({"tools": blobs.tools(dialect)})


@router.post("/v1/tools/check", responses=answers(200, CheckAnswer))
def check_tools(blobs: Tenant, body: CheckBody) -> Response:
    """What is wrong with a list of tools, before the first turn."""
    problems = blobs.check_tools(body.tools, reserved=body.reserved)
    return ExactJson({"ok": not problems, "problems": problems})


@router.get("/v1/readers", responses=answers(200, ReadersAnswer))
def readers(blobs: Tenant) -> Response:
    """Every reader with its types, version and origin; those set aside with their problem."""
    return ExactJson({"readers": blobs.readers()})


@router.post("/v1/collect", responses=answers(200, CollectAnswer))
def collect(
    blobs: Tenant, *, dry_run: Annotated[bool, Query(description="Count what would go, and remove nothing.")] = False
) -> Response:
    """Remove blobs of all tenants that nothing names, as `blobs collect` does; for operators."""
    collector = blobs.service.collector()
    if dry_run:
        sizes = [each.record.size for each in collector.unused()]
        return ExactJson({"blobs": len(sizes), "bytes": sum(sizes), "freed": 0, "dry_run": True})
    done = collector.collect()
    return ExactJson({"blobs": done.blobs, "bytes": done.size_bytes, "freed": done.keys_freed, "dry_run": False})


@router.get("/healthz", responses=answers(200, Health))
async def healthz() -> Response:
    """The process answers."""
    return ExactJson({"status": "ok"})


@router.get("/readyz", responses=answers(200, Readiness))
async def readyz(request: Request) -> Response:
    """The store answers and the cells have started; 503 before that."""
    front: Front = request.app.state.front
    reason = await to_thread.run_sync(front.unready, limiter=request.app.state.byte_threads)
    if reason:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", reason, hint="Ask again in a second.")
    found = {"sandbox": front.sandbox_tier, "reasons": front.sandbox_reasons, "python": front.python}
    return ExactJson({"status": "ready", **found})


@router.get("/", include_in_schema=False)
async def index() -> Response:
    """Where to look."""
    return ExactJson({"service": "agent-blobs", "docs": "/docs", "openapi": "/openapi.json"})
