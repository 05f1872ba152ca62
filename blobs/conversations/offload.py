"""The offload rule: what of a result a model reads inline, and what becomes a blob.

A result is prepared first (bytes stored and profiled; several results at once) and placed afterwards (names given, in
call order), so that names do not depend on which call ended first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from blobs.conversations.naming import Names, Placed
from blobs.domain import exact_json
from blobs.domain.errors import CallerError
from blobs.domain.limits import Limits
from blobs.domain.media_type import BINARY, JSON, TEXT
from blobs.domain.reference import Reference
from blobs.operations.profiles import Profiles
from blobs.reading.cutting import cut_to_bytes_with_count
from blobs.reading.embedded import decode_embedded
from blobs.reading.tokens import count_tokens
from blobs.storage.blob_store import BlobStore
from blobs.storage.outbox import Outbox

_ATOMS = frozenset({int, float, bool, type(None), exact_json.Number})


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model reads of one result: `content` as JSON, `text` as the text itself."""

    content: Any
    text: str
    is_error: bool = False


@dataclass(slots=True)
class Draft:
    """A result whose blobs are stored and have no names yet: JSON in which `Placed` stands for each of them."""

    value: Any
    tool: str | None
    kind: str
    is_error: bool = False
    inline_bytes_max: int = 0
    blobs: list[Placed] = field(default_factory=list)


class Offloader:
    """Prepares and places results of one tenant."""

    def __init__(
        self, store: BlobStore, profiles: Profiles, limits: Limits, tenant: str, outbox: Outbox | None = None
    ) -> None:
        """What is stored waits in the `outbox`, if there is one, for the commit that names it."""
        self._outbox = outbox
        self._store = store
        self._profiles = profiles
        self._limits = limits
        self._tenant = tenant

    def with_outbox(self, outbox: Outbox) -> "Offloader":
        """The same, over an outbox."""
        return Offloader(self._store, self._profiles, self._limits, self._tenant, outbox)

    # First: bytes are stored

    def prepare(self, value: Any, *, tool: str | None, kind: str, inline_bytes_max: int | None = None) -> Draft:
        """Store what must be stored of a result.

        `kind` is `result` (any JSON value or bytes), `tool_result`, `mcp_result`, `error`, `denied` or `reference`.
        Raises `CallerError` where the value is not of that kind or not JSON, naming the place.
        """
        value = self._store.redactor.value(value)
        most = self._limits.inline_bytes_max if inline_bytes_max is None else inline_bytes_max
        draft = Draft(None, tool, kind, inline_bytes_max=most)
        match kind:
            case "result":
                draft.value = self._prepare_value(value, draft)
            case "tool_result":
                draft.value, draft.is_error = self._prepare_tool_result(value, draft)
            case "mcp_result":
                draft.value, draft.is_error = self._prepare_mcp(value, draft)
            case "error" | "denied":
                draft.value, draft.is_error = self._prepare_error(value, draft), True
            case "reference":
                reference = value if isinstance(value, Reference) else Reference.parse(value)
                draft.value = self.placed(self._checked(reference))
            case _:
                raise CallerError(f"There is no kind of result {kind!r}.")
        return draft

    def store(self, content: bytes, media_type: str) -> Placed:
        """Store bytes and find out what they are."""
        if self._outbox is not None:
            return self.placed(self._outbox.put(content, media_type=media_type))
        return self.placed(self._store.put(self._tenant, content, media_type=media_type).reference)

    def placed(self, reference: Reference) -> Placed:
        """A stored blob with its profile; its type is what the bytes turned out to be."""
        profile = self._profiles.of(self._tenant, reference, self._outbox)
        return Placed(Reference(reference.digest, reference.size, profile.type), profile)

    def _checked(self, reference: Reference) -> Reference:
        size = self._store.open(self._tenant, reference.digest).size
        return Reference(reference.digest, size, reference.type)

    def _prepare_value(self, value: Any, draft: Draft) -> Any:
        extracted = self._extract(value, "")
        return self._bounded(value, draft.inline_bytes_max) if extracted is value else extracted

    def _bounded(self, value: Any, bytes_max: int) -> Any:
        """The value, or the blob that it becomes where it is over the limit."""
        text = value if isinstance(value, str) else exact_json.text(value)
        content = _utf8(text)
        if len(content) <= bytes_max and not self._is_dear(text):
            return value
        return self.store(content, BINARY if isinstance(value, str) else JSON)

    def _is_dear(self, text: str) -> bool:
        most = self._limits.inline_tokens_max
        return most is not None and len(text) > most // 4 and count_tokens(text) > most

    def _extract(self, value: Any, path: str, depth: int = 0) -> Any:
        """The value with embedded bytes taken out, or the very same object where there are none.

        Nothing that was passed in is changed.
        """
        if depth > exact_json.DEPTH_MAX:
            raise CallerError(f"{path[:80]}…: nested deeper than {exact_json.DEPTH_MAX} levels.", code="not_json")
        if isinstance(value, dict):
            return self._extract_fields(value, path, depth)
        if isinstance(value, list | tuple):
            return self._extract_items(value, path, depth)
        if isinstance(value, str):
            embedded = decode_embedded(value, length_min=self._limits.base64_bytes_min)
            return value if embedded is None else self.store(embedded.content, embedded.type)
        if value is None or isinstance(value, int | float | exact_json.Number):
            return value
        return self._placed_or_refused(value, path)

    def _placed_or_refused(self, value: Any, path: str) -> Placed:
        if isinstance(value, bytes | bytearray | memoryview):
            return self.store(bytes(value), BINARY)
        if isinstance(value, Reference):
            return self.placed(self._checked(value))
        raise exact_json.not_json(path, value)

    def _extract_items(self, values: Sequence[Any], path: str, depth: int) -> Any:
        changed = {}
        least = self._limits.base64_bytes_min
        for place, each in enumerate(values):
            kind = type(each)  # nothing is hidden in most of them: a call for each would be half of the walk
            if kind in _ATOMS or (kind is str and len(each) < least):
                continue
            found = self._extract(each, f"{path}.{place}" if path else f"{place}", depth + 1)
            if found is not each:
                changed[place] = found
        return [changed.get(place, each) for place, each in enumerate(values)] if changed else values

    def _extract_fields(self, fields: dict[Any, Any], path: str, depth: int) -> Any:
        changed = {}
        least = self._limits.base64_bytes_min
        for key, each in fields.items():
            if type(key) is not str and not isinstance(key, str):
                raise exact_json.not_json_key(path, key)
            kind = type(each)
            if kind in _ATOMS or (kind is str and len(each) < least):
                continue
            found = self._extract(each, f"{path}.{key}" if path else key, depth + 1)
            if found is not each:
                changed[key] = found
        return fields | changed if changed else fields

    def _prepare_tool_result(self, value: Any, draft: Draft) -> tuple[Any, bool]:
        if not is_tool_result(value):
            raise CallerError(
                "tool_result: not a tool result.", hint='Give {"ok": true or false, "message"?: text, "data"?: JSON}.'
            )
        shown = dict(value)
        if "data" in value:
            shown["data"] = self._prepare_value(value["data"], draft)
        message = value.get("message")
        most = draft.inline_bytes_max if value["ok"] else self._limits.error_bytes_max
        if message is not None and len(_utf8(message)) > most:
            whole = self.store(_utf8(message), TEXT)
            shown["message"] = cut_to_bytes_with_count(message, most)
            shown.setdefault("data", whole)
            if shown["data"] is not whole:
                shown["data"] = {"data": shown["data"], "message": whole}
        return shown, not value["ok"]

    def _prepare_mcp(self, value: Any, draft: Draft) -> tuple[Any, bool]:
        if not is_mcp_result(value):
            raise CallerError(
                "mcp_result: not a CallToolResult.", hint='Give {"content": [parts], "structuredContent"?, "isError"?}.'
            )
        shown: dict[str, Any] = {"content": [self._prepare_part(part, draft) for part in value.get("content", [])]}
        if value.get("structuredContent") is not None:
            shown["structuredContent"] = self._prepare_value(value["structuredContent"], draft)
        is_error = bool(value.get("isError"))
        if is_error:
            shown["isError"] = True
        return shown, is_error

    def _prepare_part(self, part: Any, draft: Draft) -> Any:
        if not isinstance(part, dict):
            return self._prepare_value(part, draft)
        match part.get("type"):
            case "text" if isinstance(part.get("text"), str):
                text = self._prepare_value(part["text"], draft)
                return text if isinstance(text, Placed) else {"type": "text", "text": text}
            case "image" | "audio" if isinstance(part.get("data"), str):
                return self._decoded(part["data"], part.get("mimeType"))
            case "resource" if isinstance(part.get("resource"), dict):
                resource = part["resource"]
                if isinstance(resource.get("blob"), str):
                    return self._decoded(resource["blob"], resource.get("mimeType"))
                if isinstance(resource.get("text"), str):
                    return self.store(_utf8(resource["text"]), _declared(resource.get("mimeType")))
        return self._prepare_value(part, draft)

    def _decoded(self, text: str, declared: Any) -> Placed:
        embedded = decode_embedded(f"data:application/octet-stream;base64,{text.strip()}", length_min=0)
        content = _utf8(text) if embedded is None else embedded.content
        return self.store(content, _declared(declared))

    def _prepare_error(self, value: Any, draft: Draft) -> Any:
        del draft
        text = exact_json.clean(value) if isinstance(value, str) else exact_json.text(value)
        if len(_utf8(text)) <= self._limits.error_bytes_max:
            return [text]
        return [
            cut_to_bytes_with_count(text, self._limits.error_bytes_max),
            self.store(_utf8(text), TEXT),
        ]

    # Then: names are given

    def place(self, draft: Draft, names: Names) -> Shown:
        """What the model reads, with names given to the result's blobs in the order of their places."""
        draft.blobs.clear()
        if draft.kind in ("error", "denied"):
            return self._place_error(draft, names)
        if draft.kind == "tool_result":
            shown = dict(draft.value)
            if "data" in shown:
                shown["data"] = self._named(shown["data"], draft, names)
            return _as_sent(shown, is_error=draft.is_error)
        if draft.kind == "mcp_result":
            return self._place_mcp(draft, names)
        return _as_sent(self._named(draft.value, draft, names))

    def _named(self, value: Any, draft: Draft, names: Names) -> Any:
        """A value with handles for its blobs; where that is still over the limit, it is a blob with handles in it."""
        if isinstance(value, Placed):
            return self._handle(value, draft, names)
        if not _has_placed(value):
            return value
        trial = _fill(value, lambda placed: names.handle(placed, draft.tool, is_shown=False))
        bounded = self._bounded(trial, max(1, draft.inline_bytes_max - _preview_bytes(value, names, draft.tool)))
        if isinstance(bounded, Placed):
            return self._handle(bounded, draft, names)
        return _fill(value, lambda placed: self._handle(placed, draft, names))

    def _handle(self, placed: Placed, draft: Draft, names: Names) -> dict[str, Any]:
        draft.blobs.append(placed)
        return names.handle(placed, draft.tool)

    def _place_error(self, draft: Draft, names: Names) -> Shown:
        text = draft.value[0]
        is_denied = draft.kind == "denied"
        content: dict[str, Any] = {"denied": True, "note": text} if is_denied else {"error": text}
        said = f"Not approved. {text}".strip() if is_denied else text
        if len(draft.value) > 1:
            content["whole"] = self._handle(draft.value[1], draft, names)
            said = f"{said}\n{exact_json.text(content['whole'])}"
        elif not is_denied:
            return Shown(text, said, is_error=True)
        return Shown(content, said, is_error=True)

    def _place_mcp(self, draft: Draft, names: Names) -> Shown:
        shown = {key: value for key, value in draft.value.items() if key != "content"}
        parts = [self._named(part, draft, names) for part in draft.value["content"]]
        shown = {"content": parts, **shown}
        if "structuredContent" in shown:
            shown["structuredContent"] = self._named(shown["structuredContent"], draft, names)
        if len(exact_json.dumps(shown)) > 2 * draft.inline_bytes_max:
            whole = self._handle(self.store(exact_json.dumps(shown), JSON), draft, names)
            return _as_sent(whole, is_error=draft.is_error)
        sent = _as_sent(shown, is_error=draft.is_error)
        if len(parts) == 1 and "structuredContent" not in shown and _is_text(parts[0]):
            return replace(sent, text=sent.content["content"][0]["text"])
        return sent


def _as_sent(value: Any, *, is_error: bool = False) -> Shown:
    """The value as it goes out: a copy, valid JSON in valid UTF-8, whatever was passed in."""
    sent = exact_json.dumps(value)
    content = exact_json.loads(sent)
    return Shown(content, content if isinstance(content, str) else sent.decode(), is_error)


def is_tool_result(value: Any) -> bool:
    """Whether a value is `{"ok", "message"?, "data"?}` and nothing else."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("ok"), bool)
        and set(value) <= {"ok", "message", "data"}
        and isinstance(value.get("message", ""), str)
    )


def is_mcp_result(value: Any) -> bool:
    """Whether a value is an MCP `CallToolResult`."""
    if not isinstance(value, Mapping) or not ("content" in value or "structuredContent" in value):
        return False
    content = value.get("content", [])
    return (
        isinstance(content, list)
        and all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in content)
        and set(value) <= {"content", "structuredContent", "isError", "_meta", "resultType"}
    )


def _utf8(text: str) -> bytes:
    return exact_json.clean(text).encode()


def _declared(value: Any) -> str:
    return value if isinstance(value, str) and "/" in value else BINARY


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _has_placed(value: Any) -> bool:
    if isinstance(value, Placed):
        return True
    if isinstance(value, dict):
        return any(_has_placed(each) for each in value.values())
    return isinstance(value, list | tuple) and any(_has_placed(each) for each in value)


def _fill(value: Any, handle_of: Any) -> Any:
    if isinstance(value, Placed):
        return handle_of(value)
    if isinstance(value, dict):
        return {key: _fill(each, handle_of) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(each, handle_of) for each in value]
    return value


def _preview_bytes(value: Any, names: Names, tool: str | None) -> int:
    """How much longer the value is with the previews that its handles would show now."""
    sizes: dict[str, int] = {}

    def note(placed: Placed) -> None:
        name = names.handle(placed, tool, is_shown=False)["blob"]
        if not names.is_previewed(name):
            sizes[name] = len(exact_json.dumps({"preview": placed.profile.preview}))

    _fill(value, note)
    return sum(sizes.values())
