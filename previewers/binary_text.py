r"""Bytes in a cell, written as DuckDB writes a BLOB: every byte that is not plain ASCII is `\xNN`."""

BINARY_BYTES_MAX = 256
"""Of a cell that is read, the bytes that are shown; SQL and Python have all of them."""

_PLAIN = frozenset(range(0x20, 0x7F)) - set(b"\\'\"")


def blob_text(value: bytes, *, bytes_max: int | None = BINARY_BYTES_MAX) -> str:
    """Bytes as a literal for SQL; what is left out beyond the first `bytes_max` is counted."""
    shown = "".join(chr(byte) if byte in _PLAIN else f"\\x{byte:02X}" for byte in value[:bytes_max])
    hidden = 0 if bytes_max is None else len(value) - bytes_max
    return shown if hidden <= 0 else f"{shown}…(+{hidden} bytes)"
