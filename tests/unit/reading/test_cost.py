"""What a blob costs: text counted or sampled, images and PDFs by the services' formulas."""

import hashlib

import pytest

from blobs.domain.errors import CallerError
from blobs.reading import cost
from blobs.reading.cost import (
    Cost,
    claude_image,
    gemini_image,
    image_cost,
    items_cost,
    openai_patches,
    openai_tiles,
    pdf_cost,
    text_cost,
    undecoded_cost,
)

LINE = b'{"id": 1, "name": "Grete", "city": "Wien"}\n'
LINE_TOKENS = 20  # {" id ": ␣ 1 , ␣" name ": ␣" Gre te ", ␣" city ": ␣" W ien "}⏎


def _cost(content: bytes, encoding: str = "utf-8", seed: bytes | None = None) -> Cost:
    digest = hashlib.sha256(content).digest() if seed is None else seed
    return text_cost(lambda start, stop: content[start:stop], len(content), encoding=encoding, seed=digest)


def test_small_text_is_exact() -> None:
    """Text up to 32 KiB is counted."""
    assert _cost(LINE * 700) == Cost(700 * LINE_TOKENS, is_exact=True)
    assert _cost(b"") == Cost(0, is_exact=True)


def test_large_text_is_sampled() -> None:
    """A megabyte is estimated within 2 % while under a tenth of it is read, and the estimate has four digits."""
    content, bytes_read = LINE * 30_000, 0

    def read(start: int, stop: int) -> bytes:
        nonlocal bytes_read
        bytes_read += stop - start
        return content[start:stop]

    found = text_cost(read, len(content), seed=b"12345678")
    assert not found.is_exact
    assert found.tokens == pytest.approx(30_000 * LINE_TOKENS, rel=0.02)
    assert found.tokens % 100 == 0
    assert bytes_read < len(content) / 10


def test_same_bytes_same_cost() -> None:
    """The estimate depends on the bytes and the seed alone."""
    content = b"".join(b"row %d of something, value %d\n" % (i, i * i) for i in range(20_000))
    assert _cost(content) == _cost(content)


def test_mixed_text_is_sampled_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text whose halves differ is estimated within 5 %, with more windows than an even one."""
    windows = []
    extend = cost._Sample.extend

    def watched(sample: cost._Sample, count: int) -> None:
        windows.append(count)
        extend(sample, count)

    monkeypatch.setattr(cost._Sample, "extend", watched)
    prose, rows = b"The quick brown fox jumps over the lazy dog. " * 12_000, b"1,,,,0.5,,,7,,,\n" * 40_000
    halves = _cost(prose + rows, seed=b"\x80" * 8).tokens
    whole = sum(cost.count_tokens(part.decode()) for part in (prose, rows))
    assert halves == pytest.approx(whole, rel=0.05)
    assert windows == [16, 32, 64, 128][: len(windows)]
    assert len(windows) > 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-8-sig", "cp1251"])
def test_encodings(encoding: str) -> None:
    """Wide and legacy encodings cost what the same text costs in UTF-8, windows lying between characters."""
    text = "Привет, мир! Order 12 is on its way.\n" * 8_000
    assert _cost(text.encode(encoding), encoding).tokens == pytest.approx(_cost(text.encode()).tokens, rel=0.03)


def test_byte_order_mark_is_no_token() -> None:
    """A byte order mark is not part of the text."""
    assert _cost(b"\xef\xbb\xbfhello world") == Cost(2, is_exact=True)


def test_items_are_scaled() -> None:
    """Rendered items cost the mean of the sampled ones times their number, exactly where all were rendered."""
    assert items_cost(["hello world", "hello world"], 2) == Cost(4, is_exact=True)
    assert items_cost(["hello world", "hello world"], 1_000) == Cost(2_000, is_exact=False)
    assert items_cost([], 0) == Cost(0, is_exact=True)


def test_bytes_without_text() -> None:
    """Bytes that are not text cost 0.91 tokens each, as base64."""
    assert undecoded_cost(1_000_000) == 910_000
    assert undecoded_cost(0) == 0


# The table of platform.claude.com/docs/en/build-with-claude/vision: size, standard tier, high-resolution tier.
CLAUDE = [
    (200, 200, 64, 64),
    (1000, 1000, 1296, 1296),
    (1092, 1092, 1521, 1521),
    (1920, 1080, 1560, 2691),
    (2000, 1500, 1564, 3888),
    (3840, 2160, 1560, 4784),
]


@pytest.mark.parametrize(("width", "height", "standard", "high"), CLAUDE)
def test_claude_images(width: int, height: int, standard: int, high: int) -> None:
    """Anthropic's own table, both tiers; the high-resolution tier is the default."""
    assert image_cost(width, height, service="anthropic-standard") == standard
    assert image_cost(width, height, service="anthropic") == image_cost(width, height) == high


# Measured input tokens, huggingface.co/datasets/JOHNISKING/image-token-cost: GPT-6 auto, GPT-6 high, GPT-5.5 auto.
OPENAI = [
    (256, 256, 77, 77, 77),
    (512, 512, 308, 308, 308),
    (768, 768, 692, 692, 692),
    (1024, 1024, 1229, 1229, 1229),
    (1280, 720, 1104, 1104, 1104),
    (1920, 1080, 2448, 2448, 2448),
    (1080, 1920, 2448, 2448, 2448),
    (2560, 1440, 4320, 2931, 4320),
    (3840, 2160, 9792, 2931, 9792),
    (4032, 3024, 14364, 2942, 11868),
]


@pytest.mark.parametrize(("width", "height", "auto", "high", "original"), OPENAI)
def test_openai_images(width: int, height: int, auto: int, high: int, original: int) -> None:
    """Public measurements of the patch models, at three levels of detail."""
    assert image_cost(width, height, service="openai") == auto
    assert openai_patches(width, height, patches_max=2500) == high
    assert openai_patches(width, height, edge_max=6000, patches_max=10_000) == original


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(1024, 1024, 765), (2048, 4096, 1105), (512, 512, 255), (3840, 2160, 1105)]
)
def test_openai_tiles(width: int, height: int, tokens: int) -> None:
    """The tile models: the first two are the examples of OpenAI's own page."""
    assert openai_tiles(width, height) == tokens


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(384, 384, 258), (960, 540, 1548), (512, 512, 1032), (4032, 3024, 1032)]
)
def test_gemini_images(width: int, height: int, tokens: int) -> None:
    """Gemini 3 charges 1,120 for any image; Gemini 2 by crops (960x540 makes six, the example of Google's own page)."""
    assert image_cost(width, height, service="gemini") == 1120
    assert gemini_image(width, height, generation=2) == tokens


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 65_000), (65_000, 1), (0, 0), (100_000, 100_000)])
def test_extreme_images(width: int, height: int) -> None:
    """Slivers and giants have a cost, and never more than the tier's most."""
    assert 1 <= image_cost(width, height) <= 4784
    assert 1 <= claude_image(max(width, 1), max(height, 1), edge_max=1568, patches_max=1568) <= 1568
    assert openai_patches(max(width, 1), max(height, 1), edge_max=2048, patches_max=2500) <= 3000


def test_pdfs() -> None:
    """A page costs its picture and, but for Gemini, its text."""
    assert pdf_cost(10, 5_000) == 10 * 1568 + 5_000
    assert pdf_cost(10, 5_000, "openai") == 10 * 3000 + 5_000
    assert pdf_cost(10, 5_000, "gemini") == 10 * 560


def test_unknown_service_is_named() -> None:
    """A cost for a service that nobody knows is the caller's error."""
    with pytest.raises(CallerError, match="no service 'skynet'"):
        image_cost(10, 10, service="skynet")
