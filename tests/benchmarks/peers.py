"""What other runtimes do with a large result, each as its package does it: to be run by a Python that has them.

Reads one JSON object a line, `{"peer", "verb", …}`, does that and answers one line: how many lines it gave, or the
problem. `PEERS_PYTHON` names that Python; see `bench.Peers`.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


class DeepAgents:
    """deepagents: the file that a result is evicted to, `read_file` and `grep` of its file system backend."""

    distribution = "deepagents"

    def __init__(self, folder: str) -> None:
        from deepagents.backends import FilesystemBackend

        self._backend = FilesystemBackend(root_dir=folder)

    def put(self, path: str, to: str) -> int:
        text = Path(path).read_text()
        written = self._backend.write(f"/{to}", text)
        assert written.error is None, written.error
        return len(text)

    def read(self, to: str, start: int, count: int) -> int:
        found = self._backend.read(f"/{to}", offset=start, limit=count)
        assert found.error is None, found.error
        return found.file_data["content"].count("\n") + 1

    def grep(self, to: str, pattern: str) -> int:
        found = self._backend.grep(pattern, path=f"/{to}")
        assert found.error is None, found.error
        return len(found.matches)


class Harness:
    """Pydantic AI harness: its local overflow store, and the slices that `read_tool_result` gives."""

    distribution = "pydantic-ai-harness"

    def __init__(self, folder: str) -> None:
        from pydantic_ai_harness.tool_output_limits import LocalFileStore

        self._store = LocalFileStore(base_dir=Path(folder))

    def put(self, path: str, to: str) -> int:
        content = Path(path).read_bytes()
        asyncio.run(self._store.write(to, content))
        return len(content)

    def read(self, to: str, start: int, count: int) -> int:
        return self._slice(to, start, count, None)

    def grep(self, to: str, pattern: str) -> int:
        return self._slice(to, 0, 1000, pattern)

    def _slice(self, to: str, start: int, count: int, pattern: str | None) -> int:
        from pydantic_ai_harness.tool_output_limits import _capability

        text = asyncio.run(_capability._read_slice(self._store.read, to, start, count, False, pattern))
        return text.count("\n") + 1


PEERS: dict[str, Any] = {"deepagents": DeepAgents, "harness": Harness}


def main() -> None:
    """Answer commands until the input ends."""
    open_peers: dict[str, Any] = {}
    for line in sys.stdin:
        told = json.loads(line)
        name, verb = told.pop("peer"), told.pop("verb")
        try:
            if verb == "open":
                open_peers[name] = PEERS[name](**told)
                answer: Any = f"{PEERS[name].distribution} {version(PEERS[name].distribution)}"
            else:
                answer = getattr(open_peers[name], verb)(**told)
            print(json.dumps({"answer": answer}), flush=True)
        except Exception as fault:
            print(json.dumps({"problem": f"{type(fault).__name__}: {fault}"[:300]}), flush=True)


if __name__ == "__main__":
    main()
