"""The cell: one sandbox for everything that is not ours.

`open_pool` gives a `Runner`. The boundary, where a mistake is a breach, is `confinement.py` with the list of
system calls in `seccomp.py`; how it is reached: launcher → zygote → worker.
"""

from blobs.running.runner import CellFile, CellLimits, Job, Outcome, Runner
from blobs.running.tiers import CellRunner, open_pool

__all__ = ["CellFile", "CellLimits", "CellRunner", "Job", "Outcome", "Runner", "open_pool"]
