"""Ranges are objects: half-open, counted from 0."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemRange:
    """Items `start` up to, not including, `stop`; `0 <= start <= stop`."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"not a range: {self.start}..{self.stop}")

    def __len__(self) -> int:
        return self.stop - self.start
