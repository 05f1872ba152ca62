"""Rows of searching, beside ripgrep with one thread."""

from functools import partial
from typing import Any

from tests.benchmarks.bench import Bench, Pair, done, program, run
from tests.benchmarks.made_files import RARE
from tests.benchmarks.table import row


def _search(kind: str, arguments: dict[str, Any], flags: list[str], bench: Bench) -> Pair:
    made, chat, ripgrep = bench.file(kind), bench.chat(kind), program("rg")
    found: list[int] = []

    def ours() -> None:
        data = done(chat.call("blob_search", {"blob": "blob1", **arguments}))
        assert "note" not in data, data["note"]
        found.append(data["found"])

    def peer() -> None:
        pattern = arguments["pattern"]
        fixed = [] if arguments.get("regex") else ["-F"]
        counted = run(str(ripgrep), "-c", "-j1", "--no-config", *fixed, *flags, "-e", pattern, str(made.path))
        assert int(counted or 0) == found[-1], (counted, found)

    return Pair(ours, peer if ripgrep else "not installed: ripgrep", repeat=3, peer_repeat=3)


_PATTERNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a rare literal": ({"pattern": RARE}, []),
    "a case-folded literal": ({"pattern": RARE.lower(), "ignore_case": True}, ["-i"]),
    "a regex without a literal": ({"pattern": "[a-f]{6}[0-9]{3}[a-f][0-9]", "regex": True}, []),
    "what 20 % of lines hold": ({"pattern": "ERROR"}, []),
}
for _what, _given in _PATTERNS.items():
    row(f"search a log for {_what}", beside="rg -c -j1", bar="≤ 1.5×", most=1.5)(partial(_search, "log", *_given))
for _kind in ("csv", "ndjson", "json"):
    row(f"search {_kind} for a rare literal", beside="rg -c -j1", bar="≤ 1.5×", most=1.5)(
        partial(_search, _kind, *_PATTERNS["a rare literal"])
    )
