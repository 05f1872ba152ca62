"""Names of tables and columns as DuckDB understands them."""

_RESERVED = frozenset(
    [
        "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case", "cast",
        "check", "collate", "column", "constraint", "create", "default", "deferrable", "desc", "describe",
        "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from", "group",
        "having", "in", "initially", "intersect", "into", "lambda", "lateral", "leading", "limit", "not",
        "null", "offset", "on", "only", "or", "order", "pivot", "pivot_longer", "pivot_wider", "placing",
        "primary", "qualify", "references", "returning", "select", "show", "some", "summarize", "symmetric",
        "table", "then", "to", "trailing", "true", "union", "unique", "unpivot", "using", "variadic", "when",
        "where", "window", "with",
    ]
)  # fmt: skip
"""`duckdb_keywords()` of the category reserved, DuckDB 2.0."""


def unique_names(names: list[str]) -> list[str]:
    """The names as columns of one table: DuckDB takes `a` and `A` for the same, so the later gets `_1`, `_2` …

    An empty name becomes `column` and its place, counted from 1. What UTF-8 cannot say is replaced.
    """
    wanted = [_sayable(name) or f"column{place}" for place, name in enumerate(names, 1)]
    kept = {_folded(name) for name in wanted}
    taken: set[str] = set()
    tried: dict[str, int] = {}
    unique = []
    for name in wanted:
        made, number = name, tried.get(_folded(name), 0)
        while _folded(made) in taken or (number and _folded(made) in kept):
            number += 1
            made = f"{name}_{number}"
        tried[_folded(name)] = number
        taken.add(_folded(made))
        unique.append(made)
    return unique


def quoted(name: str) -> str:
    """An identifier as SQL needs it: bare where it may be."""
    is_bare = name.isascii() and name.isidentifier() and name.lower() not in _RESERVED
    return name if is_bare else always_quoted(name)


def always_quoted(name: str) -> str:
    """An identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _sayable(name: str) -> str:
    return name.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _folded(name: str) -> str:
    """DuckDB folds the case of ASCII letters only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
