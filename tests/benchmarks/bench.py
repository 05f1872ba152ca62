"""What the rows stand on: a store of their own, made files attached to it, and the programs of peers."""

import json
import os
import resource
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

PEER_BYTES_MAX = 8 * 10**9
"""What a peer's program may have that builds every value of a document."""


class GaveUpError(Exception):
    """What a peer raises that cannot do the work within the memory it is given."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The work, and the same by a peer; or how many seconds it may take, or why the peer cannot run.

    `server` does the work where this process does not; `misses` are other bars of the row that are missed.
    """

    ours: Callable[[], Any]
    peer: Callable[[], Any] | float | str
    repeat: int = 1
    peer_repeat: int = 1
    note: str = ""
    server: Served | None = None
    misses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table. `most` is the bar: ours over the peer's, by `by` (wall or cpu), at the size `at`.

    `pages_most` is the most memory, as a part of the file's size; `sizes` are those at which the row is measured, all
    without. With `at=0` the bar holds at each.
    """

    name: str
    beside: str
    bar: str = "–"
    most: float = float("inf")
    by: str = "wall"
    at: int = 10**9
    pages_most: float = 0.0
    sizes: tuple[int, ...] | None = None
    prepare: Callable[["Bench"], Pair]


class Bench:
    """One store and the files of one size. `files` is where made files are and stay, `folder` is for all else."""

    def __init__(self, files: Path, folder: Path, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.folder = folder
        self._files = files
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
        return make(kind, self._files, size_bytes or self.size_bytes)

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

    def apart(self, *, but: int | None) -> set[int]:
        """The processes that have no part in the service's work: servers but this one, and peers."""
        peers = [self.peers.pid] if "peers" in vars(self) else []
        return {*peers, *(each.process.pid for each in self._servers)} - {but}

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

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

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


def run(*command: str, with_errors: bool = False) -> bytes:
    """What a program prints; `ripgrep` and `grep` say 1 where nothing is found."""
    finished = subprocess.run(command, capture_output=True, check=False)
    assert finished.returncode in (0, 1), finished.stderr[:500]
    return finished.stdout + finished.stderr if with_errors else finished.stdout


def run_bounded(*command: str) -> None:
    """Run a peer's program with so much memory and no more; raises `GaveUpError` where it ends for want of it."""
    bounded = lambda: resource.setrlimit(resource.RLIMIT_AS, (PEER_BYTES_MAX, PEER_BYTES_MAX))  # noqa: E731
    finished = subprocess.run(command, capture_output=True, check=False, preexec_fn=bounded)
    if finished.returncode:
        said = finished.stderr.decode(errors="replace").strip().splitlines() or [f"signal {-finished.returncode}"]
        raise GaveUpError(f"the peer ended with {PEER_BYTES_MAX / 1e9:g} GB of memory in use: {said[-1][:80]}")


def duckdb_here(sql: str) -> None:
    """Run a query by DuckDB in this process, with one thread."""
    import duckdb

    with duckdb.connect(config={"threads": "1"}) as connection:
        connection.execute(sql).fetchall()
