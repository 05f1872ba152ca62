"""What the contract suites put into stores."""

import hashlib

SMALL = b"hello, world"
LARGE = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(80_000))
"""2,560,000 bytes that do not repeat: no chunk looks like another."""
