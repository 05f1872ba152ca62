"""Writers and a collector without grace in a process of their own.

Run as `python -m tests.crash.racer FOLDER SECONDS SEED`; prints as JSON what was lost, and how much was done. Run as
`python -m tests.crash.racer FOLDER` it collects until it is killed.
"""

import json
import sys
from pathlib import Path

from blobs.storage.collecting import Collector
from blobs.testing.racing import Race
from tests.crash.writer import open_store


def main(folder: Path, seconds: float, seed: str) -> None:
    """Race, and say what came of it."""
    blobs, content, catalog = open_store(folder)
    race = Race(content, catalog, folder / "copies", seconds=seconds, seed=seed)
    race.run(writers=2, collectors=1)
    print(json.dumps({"lost": race.lost, "named": race.named, "removed": race.removed}))
    blobs.close()


def collect(folder: Path) -> None:
    """Collect without grace, for ever."""
    _, content, catalog = open_store(folder)
    collector = Collector(content, catalog, grace_ms=0)
    while True:
        collector.collect()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        collect(Path(sys.argv[1]))
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
