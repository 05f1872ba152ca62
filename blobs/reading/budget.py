"""Texts and JSON values made to fit a budget, with everything that is left out said in place."""

from typing import Any

from blobs.domain import exact_json
from blobs.reading.cutting import cut_to_bytes_with_count, mark, safe_start, safe_stop
from blobs.reading.tokens import count_tokens

_HEAD_SHARE = 0.6
_ROUNDS_MAX = 8
_COUNTED_CHARS_PER_TOKEN = 8  # more only in long runs of white space or of one character
_LEVELS_PER_DOUBLING = 4
_LEVEL_MIN = -8
_SHORTEST_STRING_BYTES = 16


def clip(text: str, tokens_max: int) -> str:
    """The text if it has at most `tokens_max` tokens, else its head and tail with `…(+12345 chars)…` between them.

    Cut at line ends where some are near, and only at safe places. The time depends on the budget, not on the text.
    Only a budget smaller than the mark (some 8 tokens) is overstepped: then the mark stands alone.
    """
    if len(text) * 4 <= tokens_max:
        return text  # a token has at least one byte, and a character at most four
    if len(text) <= tokens_max * _COUNTED_CHARS_PER_TOKEN and count_tokens(text) <= tokens_max:
        return text
    whole, used = _fitting(text, tokens_max, tokens_max * 3, is_tail=False)
    if whole == len(text):
        return text
    chars_per_token = 0.99 * whole / max(used, 1)  # of this text: what comes next begins near its end
    room = tokens_max - count_tokens(mark(len(text)) + "…") - 2  # two, for the seams
    share = int(room * _HEAD_SHARE)
    head, used = _fitting(text, share, int(share * chars_per_token), is_tail=False)
    tail, _ = _fitting(text, room - used, int((room - used) * chars_per_token), is_tail=True)
    while True:
        tail = min(tail, len(text) - head)
        left_out = len(text) - head - tail
        clipped = text[:head] + mark(left_out) + ("…" + text[len(text) - tail :] if tail else "")
        over = count_tokens(clipped) - tokens_max
        if over <= 0 or not (head or tail):
            return clipped
        if tail:
            tail = len(text) - safe_start(text, len(text) - tail + min(tail, over * 4))
        else:
            head = safe_stop(text, head - min(head, over * 4))


def _fitting(text: str, tokens_max: int, guess: int, *, is_tail: bool) -> tuple[int, int]:
    """How many characters of the head (or tail) fit and their tokens, found by secant steps from a first guess.

    They use at least 97 % of the budget as a rule.
    """
    fits, used, too_many = 0, 0, len(text) + 1
    for _ in range(_ROUNDS_MAX):
        length = _safe_length(text, guess, is_tail=is_tail)
        if length <= fits:
            break
        tokens = count_tokens(text[len(text) - length :] if is_tail else text[:length])
        if tokens <= tokens_max:
            fits, used = length, tokens
            if length == len(text) or tokens >= tokens_max * 0.97:
                break
            guess = min(int(length * tokens_max / max(tokens, 1) * 0.995) + 1, len(text))
        else:
            too_many = length
            guess = int(length * tokens_max / tokens * 0.985)
        if not fits < guess < too_many:
            guess = (fits + too_many) // 2
    return fits, used


def _safe_length(text: str, length: int, *, is_tail: bool) -> int:
    """The length of the longest head (or tail) of at most `length` characters that ends (begins) at a safe place."""
    if length >= len(text):
        return len(text)
    if length <= 0:
        return 0
    near = min(256, length // 8)
    if is_tail:
        at = len(text) - length
        line = text.find("\n", at - 1, at + near)
        return len(text) - safe_start(text, line + 1 if line >= 0 else at)
    line = text.rfind("\n", length - near, length)
    return safe_stop(text, line + 1 if line >= 0 else length)


def fit_value(value: Any, bytes_max: int) -> Any:
    """The JSON value, shortened evenly until its compact JSON text has at most `bytes_max` bytes.

    What is left out is marked where it was: strings end in `…(+12345 chars)`, lists in an item `…(+3199 items)`,
    objects in a key `…` with `…(+12 keys)`; what is nested too deeply becomes such a mark alone. A value that fits
    comes back as it is, and nothing that is passed in is changed. The same value gives the same result, in time that
    depends on the budget and not on the value. Where not even a mark fits it is None, for which 4 bytes are needed.
    """
    if _fits(value, bytes_max):
        return value
    best, low, high = None, _LEVEL_MIN, _LEVELS_PER_DOUBLING * max(1, bytes_max.bit_length())
    while low <= high:
        level = (low + high) // 2
        try:
            candidate = _Shortener(2 ** (level / _LEVELS_PER_DOUBLING), bytes_max).shorten(value, 0)
        except _TooLargeError:
            candidate = value
        if candidate is not value and _fits(candidate, bytes_max):
            best, low = candidate, level + 1
        else:
            high = level - 1
    return _bare(value, bytes_max) if best is None else best


class _TooLargeError(Exception):
    """A candidate has outgrown the budget; the rest of it need not be built."""


class _Shortener:
    """One attempt: copies a value with bounds on lists, strings and depth that grow together with `scale`."""

    def __init__(self, scale: float, bytes_max: int) -> None:
        self._top_max = max(1, int(scale))
        self._inner_max = max(8, int(scale)) if scale >= 2 else max(1, int(scale * 2))
        self._string_max = int(scale * 24) + _SHORTEST_STRING_BYTES
        self._depth_max = min(48, int(scale).bit_length() + 2)
        self._room = bytes_max

    def shorten(self, value: Any, depth: int) -> Any:
        match value:
            case str():
                return self._string(value)
            case list() | tuple():
                return self._list(value, depth)
            case dict():
                return self._object(value, depth)
            case exact_json.Number():
                return self._number(value)
            case _:
                self._take(len(exact_json.dumps(value)))
                return value

    def _string(self, text: str) -> str:
        short = cut_to_bytes_with_count(text, self._string_max)
        self._take(len(short) + 2)
        return short

    def _number(self, number: exact_json.Number) -> Any:
        self._take(min(len(number.text), self._string_max))
        return (
            number if len(number.text) <= self._string_max else cut_to_bytes_with_count(number.text, self._string_max)
        )

    def _list(self, values: Any, depth: int) -> Any:
        if values and depth >= self._depth_max:
            return self._string(mark(len(values), "items"))
        self._take(2)
        kept = self._inner_max if depth else self._top_max
        shown = [self.shorten(each, depth + 1) for each in values[:kept]]
        if len(values) > kept:
            shown.append(self._string(mark(len(values) - kept, "items")))
        self._take(max(0, len(shown) - 1))
        return shown

    def _object(self, values: dict[str, Any], depth: int) -> Any:
        if values and depth >= self._depth_max:
            return self._string(mark(len(values), "keys"))
        self._take(2)
        shown: dict[str, Any] = {}
        for key, each in values.items():
            short = self._string(str(key))
            if short in shown:
                continue  # two long keys with the same beginning: the second is counted as left out
            shown[short] = self.shorten(each, depth + 1)
            if len(shown) >= self._inner_max:
                break
        if left_out := len(values) - len(shown):
            name = "…"
            while name in shown:
                name += "…"
            shown[name] = self._string(mark(left_out, "keys"))
        self._take(2 * len(shown) - 1)
        return shown

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise _TooLargeError


def _fits(value: Any, bytes_max: int) -> bool:
    """Whether the value's JSON text is within the budget; a larger value is walked only as far as that reaches."""
    room, waiting = bytes_max, [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            room -= len(each) + 2
        elif isinstance(each, list | tuple):
            room -= len(each) + 1
            if room >= 0:
                waiting.extend(each)
        elif isinstance(each, dict):
            room -= 4 * len(each) + 1
            if room >= 0:
                room -= sum(len(key) for key in each if isinstance(key, str))
                waiting.extend(each.values())
        else:
            room -= 1
        if room < 0:
            return False
    return len(exact_json.dumps(value)) <= bytes_max


def _bare(value: Any, bytes_max: int) -> Any:
    """The value as a mark alone."""
    match value:
        case str() | exact_json.Number():
            text = value if isinstance(value, str) else value.text
            bare = cut_to_bytes_with_count(text, bytes_max - 2)
        case list() | tuple():
            bare = mark(len(value), "items")
        case dict():
            bare = mark(len(value), "keys")
        case _:
            bare = "…"
    return next((each for each in (bare, "…") if _fits(each, bytes_max)), None)
