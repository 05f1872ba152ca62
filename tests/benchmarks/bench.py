"""What the rows stand on: a store of their own, made files attached to it, and the programs of peers."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blobs import Blobs, Conversation
from tests.benchmarks.made_files import MadeFile, make
from tests.benchmarks.serving import Served


@dataclass(frozen=True, slots=True)
class Pair:
    """The work, and the same by a peer or at a limit; a peer that cannot run is told by a string."""

    ours: Callable[[], Any]
    peer: Callable[[], Any] | str
    repeat: int = 1
    peer_repeat: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. `most` is the bar: ours over the peer's, by `by` (wall or cpu)."""

    name: str
    beside: str
    bar: str
    most: float
    by: str
    sizes: tuple[int, ...] | None
    prepare: Callable[["Bench"], Pair]


class Bench:
    """One store and the files of one size."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.folder = folder
        self._store = folder / "store"
        self._tenants = 0
        self._chats: dict[str, Conversation] = {}
        self._servers: list[Served] = []

    @cached_property
    def blobs(self) -> Blobs:
        """The service under test, its cells started."""
        shutil.rmtree(self._store, ignore_errors=True)
        blobs = Blobs.open(self._store, call_ms_max=600_000, preview_ms_max=600_000)
        blobs.doctor()
        chat = blobs.conversation()
        chat.attach(b"x,y\n1,2\n" * 200_000)
        done(chat.call("blob_code", {"blob": "blob1", "code": "select 1 from blob1"}))
        return blobs

    def file(self, kind: str, size_bytes: int | None = None) -> MadeFile:
        """The made file of a kind."""
        return make(kind, self.folder / "files", size_bytes or self.size_bytes)

    def fresh(self) -> Blobs:
        """The service for a tenant that has stored nothing yet."""
        self._tenants += 1
        return self.blobs.tenant(f"tenant-{self._tenants}")

    def chat(self, kind: str, size_bytes: int | None = None) -> Conversation:
        """A conversation in which the made file is blob1 and ready: indexes and copies of it made where due."""
        key = f"{kind}/{size_bytes}"
        if key not in self._chats:
            chat = self.fresh().conversation()
            chat.attach(self.file(kind, size_bytes).path)
            self._chats[key] = chat
        return self._chats[key]

    @cached_property
    def peers(self) -> "Peers":
        """The other runtimes, in a process of their own Python."""
        return Peers(self.folder / "peers")

    def serving(self, server: Served) -> Served:
        """A server that is ended with this bench."""
        self._servers.append(server)
        return server

    def close(self) -> None:
        """End the service and the servers, and remove the store."""
        for each in self._servers:
            each.stop()
        if "peers" in vars(self):
            self.peers.close()
        if "blobs" in vars(self):
            self.blobs.close()
        shutil.rmtree(self._store, ignore_errors=True)


class Peers:
    """Other runtimes at the same work; see `tests.benchmarks.peers`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        python = os.environ.get("PEERS_PYTHON", sys.executable)
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("peers.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def open(self, peer: str) -> str:
        """The name and version of a peer; raises `RuntimeError` where it is not installed."""
        folder = self._folder / peer
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return str(self.ask(peer, "open", folder=str(folder)))

    def ask(self, peer: str, verb: str, **told: Any) -> Any:
        """Have one thing done; raises `RuntimeError` with what the peer says where it cannot."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"peer": peer, "verb": verb, **told}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "problem" in answer:
            raise RuntimeError(answer["problem"])
        return answer["answer"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        shutil.rmtree(self._folder, ignore_errors=True)


def done(answer: dict[str, Any]) -> Any:
    """The data of an answer, which must be a good one."""
    assert answer["ok"], answer
    return answer.get("data")


def read(chat: Conversation, start: int, count: int = 50, **more: Any) -> Any:
    """`count` items of blob1."""
    data = done(chat.call("blob_read", {"blob": "blob1", "start": start, "count": count, **more}))
    assert len(data["items"]) == count
    return data


def program(name: str) -> str | None:
    """Where a program is, beside this Python or on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def run(*command: str) -> bytes:
    """What a program prints; `ripgrep` and `grep` say 1 where nothing is found."""
    finished = subprocess.run(command, capture_output=True, check=False)
    assert finished.returncode in (0, 1), finished.stderr[:500]
    return finished.stdout
