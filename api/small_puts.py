"""Small contents on their way into the store: those that come at the same time go there together.

A hop to a thread and back for each of them would cost more than storing it.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from blobs.domain.errors import BlobsError
from blobs.storage.blob_store import BATCH_MAX, NewContent, Stored

_BATCHES_MAX = 2
"""One is written while the one before it is recorded."""

_Waiting = tuple[NewContent, "asyncio.Future[Stored]"]


class SmallPuts:
    """Gives contents to `put_all` in batches, for the event loop that it was made in."""

    def __init__(self, put_all: Callable[[Sequence[NewContent]], Sequence[Stored | BlobsError]]) -> None:
        self._put_all = put_all
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(_BATCHES_MAX, thread_name_prefix="blobs-puts")
        self._waiting: list[_Waiting] = []
        self._is_called = False
        self._at_work = 0

    async def put(self, content: NewContent) -> Stored:
        """Store one content, with whatever else comes; raises what its put raises."""
        stored: asyncio.Future[Stored] = self._loop.create_future()
        self._waiting.append((content, stored))
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon(self._begin)  # after all requests that were there to be read now
        return await stored

    def close(self) -> None:
        """Wait for what is at work."""
        self._threads.shutdown()

    def _begin(self) -> None:
        self._is_called = False
        while self._waiting and self._at_work < _BATCHES_MAX:
            batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
            self._at_work += 1
            self._threads.submit(self._work, batch)

    def _work(self, batch: list[_Waiting]) -> None:
        outcomes: Sequence[Stored | BaseException]
        try:
            outcomes = self._put_all([content for content, _ in batch])
        except BaseException as fault:  # noqa: BLE001  # whatever it is, everybody in the batch must hear of it
            outcomes = [fault] * len(batch)
        self._loop.call_soon_threadsafe(self._end, batch, outcomes)

    def _end(self, batch: list[_Waiting], outcomes: Sequence[Stored | BaseException]) -> None:
        self._at_work -= 1
        for (_, stored), outcome in zip(batch, outcomes, strict=True):
            if stored.done():
                continue  # whoever waited for it is gone
            if isinstance(outcome, BaseException):
                stored.set_exception(outcome)
            else:
                stored.set_result(outcome)
        self._begin()
