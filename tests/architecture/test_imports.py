"""What is loaded when, and by whom."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.material import ROOT

HEAVY = ("duckdb", "pyarrow", "pandas", "fastapi", "pydantic", "tiktoken", "PIL", "pypdf", "lxml", "uvicorn")
PACKAGES = ("blobs", "previewers", "api")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def loaded_by(program: str) -> set[str]:
    """The heavy modules that a program has loaded when it ends."""
    report = f"\nimport sys\nprint('loaded', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "program",
    [
        "import blobs; blobs.Blobs, blobs.Settings",
        "import blobs.cli; blobs.cli.main(['--help'])".join(["try:\n ", "\nexcept SystemExit: pass"]),
        "import blobs.cli; blobs.cli.main(['inspect', 'no such file'])",
        "import blobs.reading.registry as it; it.Registry().plug_ins()",
    ],
    ids=["import blobs", "blobs --help", "a command that fails early", "finding the readers"],
)
def test_nothing_heavy_is_loaded_early(program: str) -> None:
    """Importing the package, asking for help and finding readers load no engine, table library or web framework."""
    assert loaded_by(program) == set()


def test_the_layers_hold() -> None:
    """Every contract of import-linter is kept."""
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_small_named_and_described(path: Path) -> None:
    """A module has under 400 lines, a name that says what it holds, and a docstring that says what it is for."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 400
    assert path.stem not in ("utils", "helpers", "common", "manager", "misc", "base")
    assert ast.get_docstring(ast.parse(text))


def test_only_settings_read_the_environment() -> None:
    """`os.environ` and `os.getenv` stand in settings.py and nowhere else."""
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb")
    }
    assert readers == {"blobs/settings.py"}


def test_every_ignore_has_its_reason() -> None:
    """A `noqa` or `type: ignore` names its rule and says why, on its line."""
    bare = []
    for path in SOURCES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for mark in ("# noqa", "# type: ignore"):
                if mark in line and not re.match(r"[: \[][\w, \[\]-]+(?:#|\()", line.split(mark, 1)[1]):
                    bare.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert bare == []
