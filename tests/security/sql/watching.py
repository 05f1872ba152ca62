"""How much memory the process of the last call took at its peak."""

from blobs.running import CellRunner
from blobs.running.zygote_process import Worker

_END_WAIT_S = 10.0


class PeakWatch:
    """Remembers the worker that the pool took last."""

    def __init__(self, cells: CellRunner) -> None:
        cells.start()
        assert cells.tier
        pool = cells._pool
        assert pool is not None
        take = pool._take_idle
        self._worker: Worker | None = None

        def remembered() -> Worker:
            self._worker = take()
            return self._worker

        pool._take_idle = remembered  # type: ignore[method-assign]

    def peak_bytes(self) -> int:
        """The most that was resident, once the process is gone."""
        assert self._worker is not None
        assert self._worker.ended.wait(_END_WAIT_S)
        return self._worker.peak_bytes
