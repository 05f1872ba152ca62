"""Where tests get their files: the fixtures of this repository, and the corpus beside it if there is one."""

import csv
import json
import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
_BESIDE = Path(os.environ.pop("BLOBS_CORPUS", "") or ROOT.parent / "shared")  # popped: it is no setting of a service


def fixture(file: str) -> bytes:
    """The content of a fixture."""
    return (FIXTURES / "files" / file).read_bytes()


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """What is true of each fixture, by file name."""
    return {each["file"]: each for each in json.loads((FIXTURES / "MANIFEST.json").read_text(encoding="utf-8"))}


def truth(file: str) -> dict[str, Any]:
    """The values of a fixture that are known from how it was made."""
    return dict(manifest()[file]["truth"])


def maker(module: str) -> Any:
    """A module of the scripts that make the fixtures."""
    with patch.object(sys, "path", [str(FIXTURES), *sys.path]):
        return import_module(module)


def beside() -> Path:
    """The folder that may hold `corpus` and `bugcases`: `BLOBS_CORPUS`, or `shared` beside the repository."""
    return _BESIDE


@cache
def all_corpus_rows() -> tuple[dict[str, str], ...]:
    """The manifest rows of all corpus files; none where the corpus is absent."""
    path = beside() / "corpus" / "MANIFEST.tsv"
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(row for row in rows if (path.parent / row["path"]).exists())


def corpus_rows(*formats: str) -> tuple[dict[str, str], ...]:
    """The manifest rows of the corpus files of these formats."""
    return tuple(row for row in all_corpus_rows() if row["format"] in formats)
