"""What every conversation of a service shares: the store, the catalog, the tools, the limits."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from blobs.conversations.naming import Names, Placed
from blobs.conversations.offload import Offloader
from blobs.conversations.resolve import resolve
from blobs.domain import exact_json
from blobs.domain.errors import NotFoundError, ToolInputError
from blobs.domain.handle import blob_name, parse_blob_name
from blobs.domain.limits import Limits
from blobs.domain.reference import Reference
from blobs.operations.answers import Target, ToolAnswer, answer_json
from blobs.operations.hints import only_offered
from blobs.operations.toolbox import Toolbox
from blobs.operations.tools import CodeCall, parse_arguments
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog, NameRecord
from blobs.storage.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Called:
    """The answer to a tool call before its blob, if it is one, has a name."""

    answer: ToolAnswer
    blob: Placed | None
    tool: str


class Desk:
    """One tenant's access to all that conversations need."""

    def __init__(self, store: BlobStore, catalog: Catalog, toolbox: Toolbox, limits: Limits, tenant: str) -> None:
        self.store = store
        self.catalog = catalog
        self.limits = limits
        self.tenant = tenant
        self.offloader = Offloader(store, toolbox.profiles, limits, tenant)
        self._toolbox = toolbox

    def outbox(self) -> Outbox:
        """A new one, for what a turn stores."""
        return Outbox(self.store, self.catalog, self.tenant)

    def run_tool(self, tool: str, arguments: Any, names: Names, *, offered: list[str] | None = None) -> Called:
        """Run one of the three tools over the names of a conversation; every fault of the model is an answer."""
        try:
            call = parse_arguments(tool, arguments, limits=self.limits)
            wanted = call.blobs if isinstance(call, CodeCall) else (call.blob,)
            targets = {name: self._target(name, names, call, i) for i, name in enumerate(wanted)}
        except ToolInputError as problem:
            return Called(ToolAnswer.refused(only_offered(str(problem), offered), fault=problem), None, tool)
        answer = self._toolbox.run(self.tenant, call, targets)
        answer = replace(answer, message=only_offered(answer.message, offered))
        blob = self.offloader.placed(answer.blob) if answer.blob is not None else None
        return Called(answer, blob, tool)

    def say(self, called: Called, names: Names) -> dict[str, Any]:
        """The answer as the model reads it, its blob named."""
        data = called.answer.data
        if called.blob is not None:
            data = names.handle(called.blob, called.tool)
        return answer_json(called.answer, data)

    def resolve(self, schema: Any, arguments: Any, names: Names) -> dict[str, Any]:
        """Arguments with references in place of names, where the schema marks a blob."""

        def lookup(name: str) -> Reference | None:
            record = names.find(parse_blob_name(name) or 0)
            return None if record is None else Reference(record.digest, record.size, record.type)

        return resolve(schema, arguments, lookup, names.all())

    def _target(self, name: str, names: Names, call: Any, place: int) -> Target:
        record = names.find(parse_blob_name(name) or 0)
        if record is None:
            at = f"blobs.{place}" if isinstance(call, CodeCall) and len(call.blobs) > 1 else "blob"
            raise ToolInputError(f"{at}: there is no {name[:40]}.", hint=use_one_of(names.all()))
        reference = Reference(record.digest, record.size, record.type)
        try:
            profile = self._toolbox.profiles.of(self.tenant, reference)
        except NotFoundError:
            raise _purged(record) from None
        return Target(blob_name(record.number), reference, profile)


def _purged(record: NameRecord) -> ToolInputError:
    """A name may outlive its blob, which an operator purged."""
    origin = f", a result of {record.tool}" if record.tool else ""
    return ToolInputError(
        f"{blob_name(record.number)} was removed. It was {record.type}, {record.size:,} bytes{origin}.",
        hint="Make the call that gave it again, if you need it.",
        code="removed",
    )


def use_one_of(names: list[str]) -> str:
    """An instruction that names what there is, in a bounded way."""
    match names:
        case []:
            return "There are no blobs in this conversation yet: call a tool whose result is large first."
        case [only]:
            return f"Use {only}."
        case _ if len(names) <= 8:
            return f"Use {', '.join(names[:-1])} or {names[-1]}."
        case _:
            return f"Use one of {names[0]} to {names[-1]} ({len(names)} blobs)."


def request_digest(value: Any) -> str:
    """What identifies a request: the same body gives the same digest."""
    return hashlib.sha256(exact_json.dumps(value)).hexdigest()
