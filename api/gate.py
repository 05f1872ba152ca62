"""Who may come in: keys, or nobody but this machine.

The gate stands before every route. It names the tenant of a request by its key, and there is no other way to be one.
Keys are those of the settings and those of the catalog (`blobs keys`), which count from the moment they are made until
they are revoked.
"""

import hmac
import ipaddress
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.front import Front
from api.heads import Heads, heads_of
from api.problems import problem, problem_of
from blobs.domain.errors import BlobsError, SettingsError
from blobs.domain.keys import Role, hash_key
from blobs.settings import Settings

_READING = ("GET", "HEAD", "OPTIONS")

_OPERATORS_PATHS = ("/v1/collect",)
"""What concerns all tenants."""


class Gate:
    """Middleware that lets a request through with its tenant's `Blobs` in `state.blobs`, or refuses it."""

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front
        self._everybody: tuple[str, Role] = (front.settings.tenant, "operator")
        """Who it is where no key is needed."""
        self._tenants = [(hash_key(key), tenant) for tenant, key in tenant_keys(front.settings)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await (self.refusal(scope) or self._app)(scope, receive, send)

    def refusal(self, scope: Scope) -> Response | None:
        """The answer that refuses a request, or None: then its tenant's `Blobs` is in its state."""
        try:
            return self._admit(scope, heads_of(scope))
        except BlobsError as fault:  # no catalog, nobody comes in
            return problem_of(fault)

    def _admit(self, scope: Scope, headers: Heads) -> Response | None:
        needs_key = self._front.needs_key()
        if not needs_key and not _is_from_here(headers.get("host", ""), headers.get("origin")):
            return _refuse_stranger()
        if not scope["path"].startswith("/v1/"):
            return None
        found = self._found(headers.get("authorization", "")) if needs_key else self._everybody
        if found is None:
            return _unauthorized()
        tenant, role = found
        if not _may(role, scope["method"], scope["path"]):
            return _forbidden(role)
        scope.setdefault("state", {})["blobs"] = self._front.tenant(tenant)
        return None

    def _found(self, authorization: str) -> tuple[str, Role] | None:
        """Whose key it is and what it may do.

        Keys of the settings are all compared, each in constant time, so that the time says nothing; of the others only
        a hash is looked up, which nobody can steer.
        """
        scheme, _, key = authorization.partition(" ")
        given = hash_key(key.strip())
        found: tuple[str, Role] | None = None
        for known, tenant in self._tenants:
            if hmac.compare_digest(given, known):
                found = tenant, "runtime"
        if found is None and key:
            record = self._front.blobs.service.catalog.find_key(given)
            found = None if record is None else (record.tenant, record.role)
        return found if scheme.lower() == "bearer" else None


def _may(role: Role, method: str, path: str) -> bool:
    if path in _OPERATORS_PATHS:
        return role == "operator"
    return role != "inspector" or method in _READING


def tenant_keys(settings: Settings) -> list[tuple[str, str]]:
    """Tenant and key of every key of the settings; `SettingsError` where one is empty or stands for two tenants."""
    pairs = [(tenant, key.strip()) for tenant, _, key in (each.partition(":") for each in settings.keys)]
    if any(not tenant or not key for tenant, key in pairs):
        raise SettingsError("keys: a tenant or its key is empty.", hint="Give each key as tenant:key.")
    if len({key for _, key in pairs}) < len(set(pairs)):
        raise SettingsError("keys: two tenants have the same key.", hint="Give each tenant keys of its own.")
    return pairs


@lru_cache
def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@lru_cache
def _is_from_here(host: str, origin: str | None) -> bool:
    """Whether a request is what it seems, and no browser was talked into it: by a name rebound, by a page elsewhere."""
    return is_loopback(_host_of(f"//{host}")) and (origin is None or is_loopback(_host_of(origin)))


def _refuse_stranger() -> Response:
    return problem(
        HTTPStatus.MISDIRECTED_REQUEST,
        "not_loopback",
        "A server without keys answers requests to localhost only.",
        hint="Use http://127.0.0.1 and its port, or start the server with keys.",
    )


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


def _forbidden(role: Role) -> Response:
    return problem(
        HTTPStatus.FORBIDDEN,
        "forbidden",
        f"A key of the role {role} may not do this.",
        hint="Use a key of another role; `blobs keys create --role` makes one.",
    )
