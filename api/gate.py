"""Who may come in: keys, or nobody but this machine.

The gate stands before every route. It names the tenant of a request by its key, and there is no other way to be one.
"""

import hashlib
import hmac
import ipaddress
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.front import Front
from api.problems import problem
from blobs.domain.errors import SettingsError
from blobs.settings import Settings


class Gate:
    """Middleware that lets a request through with its tenant's `Blobs` in `state.blobs`, or refuses it."""

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front
        self._tenants = [(_hash(key), tenant) for tenant, key in tenant_keys(front.settings)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._admit(scope, Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send)

    def _admit(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer that refuses the request, or None where its tenant is known now."""
        if not self._tenants:
            refusal = _refuse_strangers(headers)
            tenant: str | None = self._front.settings.tenant
        else:
            tenant = self._tenant_of(headers.get("authorization", ""))
            refusal = None
        if refusal is not None:
            return refusal
        if scope["path"].startswith("/v1/"):
            if tenant is None:
                return _unauthorized()
            scope.setdefault("state", {})["blobs"] = self._front.tenant(tenant)
        return None

    def _tenant_of(self, authorization: str) -> str | None:
        """Whose key it is. Every key is compared, each in constant time, so that the time says nothing."""
        scheme, _, key = authorization.partition(" ")
        given = _hash(key.strip())
        found = None
        for known, tenant in self._tenants:
            if hmac.compare_digest(given, known):
                found = tenant
        return found if scheme.lower() == "bearer" else None


def tenant_keys(settings: Settings) -> list[tuple[str, str]]:
    """Tenant and key of every key of the settings; `SettingsError` where one is empty or stands for two tenants."""
    pairs = [(tenant, key.strip()) for tenant, _, key in (each.partition(":") for each in settings.keys)]
    if any(not tenant or not key for tenant, key in pairs):
        raise SettingsError("keys: a tenant or its key is empty.", hint="Give each key as tenant:key.")
    if len({key for _, key in pairs}) < len(set(pairs)):
        raise SettingsError("keys: two tenants have the same key.", hint="Give each tenant keys of its own.")
    return pairs


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _refuse_strangers(headers: Headers) -> Response | None:
    """Without keys, refuse what a browser was talked into: a name rebound to this machine, a page from elsewhere."""
    host = _host_of(f"//{headers.get('host', '')}")
    origin = headers.get("origin")
    if not is_loopback(host) or (origin is not None and not is_loopback(_host_of(origin))):
        return problem(
            HTTPStatus.MISDIRECTED_REQUEST,
            "not_loopback",
            "A server without keys answers requests to localhost only.",
            hint="Use http://127.0.0.1 and its port, or start the server with keys.",
        )
    return None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _unauthorized() -> Response:
    return problem(
        HTTPStatus.UNAUTHORIZED,
        "unauthorized",
        "No valid key.",
        hint="Send Authorization: Bearer and a key of this server.",
        headers={"WWW-Authenticate": 'Bearer realm="agent-blobs"'},
    )


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
