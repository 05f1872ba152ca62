"""Opening blobs, for the operations; it lives with the readers, which open what is inside of blobs the same way."""

from blobs.reading.opening import FALLBACKS, Opened, openings, reopen, take_sample, takes_index

__all__ = ["FALLBACKS", "Opened", "openings", "reopen", "take_sample", "takes_index"]
