"""Secrets are masked by their length, wherever they stand and however the content comes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blobs.domain.errors import SettingsError
from blobs.domain.redaction import MATCH_BYTES_MAX, PATTERNS, Redactor

SECRET = "correct horse"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "A1b2+/\n" * 900 + "-----END RSA PRIVATE KEY-----"
TOKENS = {
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "bearer": "Bearer abcdefghij.KLMNOP-123456",
    "github": "ghp_" + "a1B2" * 9,
    "google": "AIza" + "SyA-b_9" * 5,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWl0",
    "private_key": KEY,
    "sk": "sk-ant-api03-" + "Zz09_-" * 8,
    "slack": "xoxb-1234567890-abcdef",
}


def in_pieces(redactor: Redactor, content: bytes, size: int) -> bytes:
    return b"".join(redactor.chunks(content[at : at + size] for at in range(0, len(content), size)))


def test_a_value_is_masked_by_its_length():
    """As many stars as bytes; what is around it stays."""
    assert Redactor([SECRET]).text("pass: correct horse, é") == "pass: *************, é"
    assert Redactor(["schlüssel"]).text("der schlüssel") == "der " + "*" * 10


@pytest.mark.parametrize("secret", ['quote"d\\slash', "new\nline!", "schlüssel"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_value_is_found_in_json(secret, is_ascii):
    """Escaped as JSON escapes it, it is the same secret."""
    text = json.dumps({"key": secret}, ensure_ascii=is_ascii)
    masked = json.loads(Redactor([secret]).text(text))["key"]
    assert set(masked) == {"*"}


def test_json_values_are_masked_in_strings_and_keys():
    """At any depth; what holds no secret is the very same object."""
    clean = {"a": [1, 2.5, None, True, "text"]}
    given = {SECRET: [f"is {SECRET}"], "clean": clean}
    redactor = Redactor([SECRET])
    assert redactor.value(given) == {"*" * 13: ["is " + "*" * 13], "clean": clean}
    assert redactor.value(given)["clean"] is clean
    assert redactor.value(clean) is clean
    assert given[SECRET] == [f"is {SECRET}"]


def test_values_of_any_depth_are_walked():
    """Down to where nothing is taken in any more."""
    deep = SECRET
    for _ in range(2000):
        deep = [deep]
    redactor = Redactor([SECRET])
    assert redactor.value(deep) is deep
    assert redactor.value([[[[SECRET]]]]) == [[[["*" * 13]]]]


@pytest.mark.parametrize("name", PATTERNS)
def test_known_tokens_are_masked(name):
    """Each pattern masks the token that it is named for, and no other words; it does so only if it is turned on."""
    text = f"before {TOKENS[name]} after"
    assert Redactor(patterns=[name]).text(text) == "before " + "*" * len(TOKENS[name]) + " after"
    assert Redactor([SECRET]).text(text) == text
    harmless = "The bearer of AKIA news asked for sk-8 boards, eyJust. ghp_short xoxb- AIza"
    assert Redactor(patterns=[name]).text(harmless) == harmless


def test_every_known_pattern_is_tested():
    assert set(TOKENS) == set(PATTERNS)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([SECRET, "correct hors", "x", " ", *TOKENS.values(), "é" * 40, "\n", "A" * 300]), max_size=12
    ),
    st.integers(1, 400),
    st.sampled_from([0, 10_000, 70_000]),
)
def test_chunks_do_not_matter(words, size, before):
    """However the content is divided, what comes out is the same as of the whole."""
    redactor = Redactor([SECRET, "secret-é"], list(PATTERNS))
    content = b" " * before + "".join(words).encode()
    whole = b"".join(redactor.chunks([content]))
    assert in_pieces(redactor, content, size) == whole == redactor.text(content.decode()).encode()
    assert len(whole) == len(content)
    assert SECRET.encode() not in whole


@pytest.mark.parametrize("size", [1, 1000, MATCH_BYTES_MAX, 100_000])
def test_a_secret_far_in_is_found(size):
    """At every place of a large content, also across the end of what is looked at together."""
    redactor = Redactor([SECRET], ["private_key"])
    content = (b"x" * (MATCH_BYTES_MAX - 5) + SECRET.encode() + KEY.encode()) * 3
    masked = in_pieces(redactor, content, size)
    assert len(masked) == len(content)
    assert set(masked.decode()) == {"x", "*"}


def test_content_is_not_held_back():
    """What cannot be a secret any more is given on before the content ends."""
    redactor = Redactor([SECRET])
    chunks = redactor.chunks(iter([b"a" * 100_000, pytest.fail]))
    assert len(next(chunks)) >= 99_900


@pytest.mark.parametrize("value", ["", "12345"])
def test_a_value_too_short_is_refused(value):
    """It would mask ordinary text; the message does not say what it was."""
    with pytest.raises(SettingsError, match="less than 6 bytes") as refused:
        Redactor([value])
    assert not value or value not in str(refused.value)


def test_a_pattern_that_is_none_is_refused():
    """At the start, by name."""
    with pytest.raises(SettingsError, match=r"redact_patterns: '\(open' is no known name and no pattern"):
        Redactor(patterns=["(open"])


def test_nothing_to_mask_costs_nothing():
    """Without values and patterns it is false, and gives back what it was given."""
    redactor = Redactor()
    assert not redactor
    value = {"a": "b"}
    assert redactor.value(value) is value
