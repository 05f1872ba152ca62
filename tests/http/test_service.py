"""What the service says of itself."""

import httpx
import pytest

TOOLS = ["blob_read", "blob_search", "blob_code"]


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("mcp", lambda tools: [each["name"] for each in tools if each["inputSchema"]["type"] == "object"]),
        ("anthropic", lambda tools: [each["name"] for each in tools if each["input_schema"]["type"] == "object"]),
        ("openai", lambda tools: [each["name"] for each in tools if each["type"] == "function"]),
        ("openai-chat", lambda tools: [each["function"]["name"] for each in tools]),
        ("gemini", lambda tools: [each["name"] for each in tools[0]["functionDeclarations"]]),
    ],
)
def test_the_tools_in_every_dialect(http: httpx.Client, dialect: str, names: object) -> None:
    """The three tools, in the shape of the service asked for."""
    tools = http.get("/v1/tools", params={"dialect": dialect}).json()["tools"]
    assert callable(names)
    assert names(tools) == TOOLS


def test_tools_are_checked(http: httpx.Client) -> None:
    """All problems of a tool list at once, in the given order."""
    good = {"tools": [{"name": "read_pdf", "schema": {"file": "blob"}}]}
    assert http.post("/v1/tools/check", json=good).json() == {"ok": True, "problems": []}
    bad = {"tools": [{"name": "blob_read"}, {"name": "mine"}, {"name": "l", "schema": {"f": "blob"}, "listed": True}]}
    answer = http.post("/v1/tools/check", json={**bad, "reserved": ["mine"]}).json()
    assert answer["ok"] is False
    assert [each.split(":")[0] for each in answer["problems"]] == ["blob_read", "mine", "l"]


def test_readers_are_listed(http: httpx.Client) -> None:
    """Every built-in reader, with what it reads."""
    readers = {each["name"]: each for each in http.get("/v1/readers").json()["readers"]}
    assert {"csv", "json", "ndjson", "text", "parquet", "pdf", "image", "binary"} <= set(readers)
    assert "text/csv" in readers["csv"]["types"]


def test_health_readiness_and_the_way_in(http: httpx.Client) -> None:
    """A ready server says so, with the tier of its cells and why no stronger one; the index points to the docs."""
    assert http.get("/healthz").json() == {"status": "ok"}
    ready = http.get("/readyz").json()
    assert ready["status"] == "ready"
    assert len(ready["reasons"]) == ("A", "B", "C", "none").index(ready["sandbox"])
    assert ready["python"] in (("portable", "refused") if ready["sandbox"] == "none" else ("cell",))
    assert http.get("/").json()["docs"] == "/docs"
    page = http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for path in http.get("/openapi.json").json()["paths"]:
        assert path in page.text
    assert "<script" not in page.text
    assert "://" not in page.text  # nothing is fetched from elsewhere: the page works without a network


def test_the_description_names_every_path(http: httpx.Client) -> None:
    """OpenAPI describes all paths and methods of version 1, each with its problems."""
    document = http.get("/openapi.json").json()
    described = {f"{method.upper()} {path}" for path, operations in document["paths"].items() for method in operations}
    assert described == {
        "POST /v1/blobs",
        "GET /v1/blobs/{digest}",
        "HEAD /v1/blobs/{digest}",
        "POST /v1/uploads",
        "HEAD /v1/uploads/{id}",
        "PATCH /v1/uploads/{id}",
        "DELETE /v1/uploads/{id}",
        "POST /v1/conversations",
        "GET /v1/conversations/{c}",
        "DELETE /v1/conversations/{c}",
        "POST /v1/conversations/{c}/fork",
        "PUT /v1/conversations/{c}/turns/{n}",
        "DELETE /v1/conversations/{c}/turns/{n}",
        "POST /v1/conversations/{c}/blobs",
        "GET /v1/conversations/{c}/blobs",
        "GET /v1/conversations/{c}/blobs/{name}",
        "GET /v1/conversations/{c}/blobs/{name}/content",
        "HEAD /v1/conversations/{c}/blobs/{name}/content",
        "POST /v1/conversations/{c}/tools/{tool}",
        "POST /v1/conversations/{c}/resolve",
        "POST /v1/collect",
        "POST /v1/tools/check",
        "GET /v1/tools",
        "GET /v1/readers",
        "GET /healthz",
        "GET /readyz",
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"401", "404", "422", "500"} <= set(operation["responses"])
    turn = document["paths"]["/v1/conversations/{c}/turns/{n}"]["put"]
    assert turn["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/TurnBody"}
    assert turn["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/TurnAnswer"
    }
