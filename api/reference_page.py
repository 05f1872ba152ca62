"""The page at `/docs`: the OpenAPI document as plain HTML, with no script and nothing fetched from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; font-size: 1.1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #f6f6f6; padding: 0.8rem; overflow-x: auto; }
table { border-collapse: collapse; } td { padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; }
.method { text-transform: uppercase; display: inline-block; min-width: 4.5rem; color: #06c; }
"""


def reference_page(document: Mapping[str, Any]) -> str:
    """HTML that tells every operation of an OpenAPI document and every schema it names."""
    title = escape(document["info"]["title"])
    operations = [(path, method, each) for path, item in document["paths"].items() for method, each in item.items()]
    contents = "".join(
        f'<li><a href="#{_anchor(path, method)}"><span class="method">{escape(method)}</span>'
        f"<code>{escape(path)}</code></a></li>"
        for path, method, _ in operations
    )
    body = "".join(part for each in operations for part in _operation(*each))
    schemas = "".join(
        f'<h2 id="schema-{escape(name)}">{escape(name)}</h2><pre>{_json(schema)}</pre>'
        for name, schema in document.get("components", {}).get("schemas", {}).items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1><p>{escape(document['info'].get('description', ''))} "
        f'The same for programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f"<ul>{contents}</ul>{body}{schemas}</body></html>"
    )


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    name = f'<span class="method">{escape(method)}</span><code>{escape(path)}</code>'
    yield f'<h2 id="{_anchor(path, method)}">{name}</h2>'
    said = operation.get("description") or operation.get("summary") or ""
    yield f"<p>{escape(said)}</p>"
    parameters = operation.get("parameters", [])
    if parameters:
        yield f"<table>{''.join(_parameter(each) for each in parameters)}</table>"
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<p>Takes <code>{escape(media_type)}</code></p>{_schema(content.get('schema', {}))}"
    yield f"<table>{''.join(_response(*each) for each in operation.get('responses', {}).items())}</table>"


def _parameter(parameter: Mapping[str, Any]) -> str:
    need = "required" if parameter.get("required") else "optional"
    name = f"<code>{escape(parameter['name'])}</code>"
    return _row(name, escape(f"{parameter['in']}, {need}"), escape(parameter.get("description", "")))


def _response(status: str, response: Mapping[str, Any]) -> str:
    types = ", ".join(response.get("content", {}))
    return _row(escape(status), escape(response.get("description", "")), escape(types))


def _row(*cells: str) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _schema(schema: Mapping[str, Any]) -> str:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = escape(reference.rpartition("/")[2])
        return f'<p>as <a href="#schema-{name}">{name}</a></p>'
    return f"<pre>{_json(schema)}</pre>" if schema else ""


def _json(value: Any) -> str:
    return escape(json.dumps(value, indent=2, ensure_ascii=False))


def _anchor(path: str, method: str) -> str:
    return escape(f"{method}-{path.strip('/').replace('/', '-')}", quote=True)
