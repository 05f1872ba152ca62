"""Compressed streams, unpacked in chunks of bounded size: what can be unpacked is, and what stopped it is told."""

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from blobs.domain.limits import KIB, MIB
from blobs.reading.source import Source

_FEED_BYTES = 256 * KIB
_CHUNK_BYTES = 256 * KIB
_KIND_BYTES = 16
_XZ_MEMORY_BYTES_MAX = 192 * MIB
"""An xz stream of the largest preset needs 65 MiB, one of a 128 MiB dictionary a little more than that."""

_ZSTD_WINDOW_LOG_MAX = 27
"""128 MiB: what zstd itself unpacks without being told to (`--ultra`, but not `--long=31`)."""

_SIGNATURES = {
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
_SKIPPABLE = b"\x2a\x4d\x18"
_BZIP2_BEGINNINGS = (b"1AY&SY", b"\x17rE8P\x90")  # a block, or the end of a stream without any
_PADDED = frozenset({"gzip", "xz"})


class Decoder(Protocol):
    """One stream being unpacked, as `bz2.BZ2Decompressor` does it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class ZlibDecoder:
    """zlib with the manners of the other decompressors. `wbits` 31 is gzip, -15 bare deflate."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """The stream has ended."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """The next bytes, at most `max_length`; what of the input is not used yet is kept."""
        unpacked = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(unpacked) < max_length and not self._inner.unconsumed_tail
        return unpacked


class Unpacking:
    """The bytes inside of a stretch of a source; iterate once.

    Afterwards `problem` says what stopped it before the end ("" where nothing did), `streams` how many streams there
    were one after the other, and `surplus_bytes` how much follows the last one that is no stream.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        stop: int,
        new_decoder: Callable[[], Decoder],
        *,
        kind: str = "",
    ) -> None:
        self._source, self._at, self._stop = source, start, min(stop, source.size)
        self._new_decoder = new_decoder
        self._kind = kind
        self._left = b""
        self.problem = ""
        self.streams = 0
        self.surplus_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        while self._begins():
            try:
                decoder = self._new_decoder()
            except Exception as error:  # noqa: BLE001  # properties of LZMA that make no sense
                self.problem = f"damaged: {_told(error)}"
                return
            yield from self._unpacked(decoder)
            if self.problem:
                return
            self.streams += 1
            self._left = decoder.unused_data

    def _unpacked(self, decoder: Decoder) -> Iterator[bytes]:
        begin, given = self._at - len(self._left), 0
        while not decoder.eof:
            block = self._feed() if decoder.needs_input else b""
            is_end = decoder.needs_input and not block
            try:
                chunk = decoder.decompress(block, _CHUNK_BYTES)
            except EOFError:
                self.problem = "cut short: its end is missing"
                return
            except Exception as error:  # noqa: BLE001  # each of the libraries has an error of its own
                self.problem = f"damaged: {_told(error)}"
                yield self._salvaged(begin, given)
                return
            if chunk:
                given += len(chunk)
                yield chunk
            elif is_end:
                self.problem = "cut short: its end is missing"
                return

    def _salvaged(self, begin: int, given: int) -> bytes:
        """What the failed call held back: the bytes between those given and the damage, unpacked again one by one."""
        decoder, at, done, found = self._new_decoder(), begin, 0, bytearray()
        with suppress(Exception):  # the damage is told already
            while not decoder.eof:
                is_hungry = decoder.needs_input
                block = self._source.read(at, min(self._stop, at + _FEED_BYTES)) if is_hungry else b""
                if is_hungry and not block:
                    break
                at += len(block)
                chunk = decoder.decompress(block, _CHUNK_BYTES if done + _CHUNK_BYTES <= given else 1)
                if done >= given:
                    found += chunk
                done += len(chunk)
        return bytes(found)

    def _begins(self) -> bool:
        """Whether another stream follows; without a kind there is just one."""
        if not self.streams:
            return True
        if not self._kind:
            self.surplus_bytes = len(self._left) + self._stop - self._at
            return False
        while True:
            if len(self._left) < _KIND_BYTES:
                self._left += self._block()
            if self._kind in _PADDED:
                unpadded = self._left.lstrip(b"\x00")
                if not unpadded and self._at < self._stop:
                    self._left = b""
                    continue
                self._left = unpadded
            break
        if kind_of(self._left) == self._kind:
            return True
        self.surplus_bytes = len(self._left) + self._stop - self._at
        return False

    def _feed(self) -> bytes:
        if self._left:
            block, self._left = self._left, b""
            return block
        return self._block()

    def _block(self) -> bytes:
        block = self._source.read(self._at, min(self._stop, self._at + _FEED_BYTES)) if self._at < self._stop else b""
        self._at += len(block)
        return block


def kind_of(head: bytes) -> str:
    """The compression whose stream begins here, or ""; a few more bytes than the signature must make sense too."""
    for kind, signature in _SIGNATURES.items():
        if head.startswith(signature) and _makes_sense(kind, head):
            return kind
    return "zstd" if head[1:4] == _SKIPPABLE and head[0] & 0xF0 == 0x50 and len(head) >= 8 else ""


def _makes_sense(kind: str, head: bytes) -> bool:
    if kind == "gzip":  # RFC 1952: the upper three flags are reserved
        return len(head) >= 10 and head[3] & 0xE0 == 0
    if kind == "bzip2":
        return head[3:4] in b"123456789" and head[4:10] in _BZIP2_BEGINNINGS
    return True


def decoder_of(kind: str) -> Callable[[], Decoder]:
    """What makes a decoder for one stream of a compression: gzip, bzip2, xz, zstd, or deflate without a header."""
    makers: dict[str, Callable[[], Decoder]] = {
        "gzip": lambda: ZlibDecoder(31),
        "deflate": lambda: ZlibDecoder(-15),
        "bzip2": bz2.BZ2Decompressor,
        "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES_MAX),
        "zstd": _zstd_decoder,
    }
    return makers[kind]


def _zstd_decoder() -> Decoder:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options: dict[Any, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG_MAX}
    return zstd.ZstdDecompressor(options=options)


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
