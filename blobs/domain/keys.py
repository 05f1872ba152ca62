"""API keys: long random words, of which only a hash is ever kept."""

import hashlib
import secrets
from typing import Literal, get_args

Role = Literal["runtime", "operator", "inspector"]

ROLES: tuple[Role, ...] = get_args(Role)
"""What a key may do with its tenant's blobs: a `runtime` all of it, an `inspector` only read, an `operator` all of it
and what concerns the whole service."""

_PREFIX = "blobs_"
"""Lets scanners for leaked secrets find one."""


def new_key() -> str:
    """A key that nobody can guess, of 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> bytes:
    """What is kept of a key. A plain hash is enough: there is nothing to guess in 256 random bits."""
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
