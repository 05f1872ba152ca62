"""The demo runs on this machine, its answers are right, and it says so when it cannot run or an answer is wrong."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from blobs import wiring
from blobs.cli import demo_questions, main
from blobs.cli.demo_material import Material
from blobs.domain.limits import Limits
from blobs.running.runner import Runner
from blobs.running.tiers import open_pool


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The demo as a user starts it, with the temporary folder inside `cwd`."""
    (cwd / "tmp").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
    return subprocess.run(
        [sys.executable, "-m", "blobs.cli", "demo", *arguments],
        capture_output=True,
        cwd=cwd,
        env={**kept, "TMPDIR": str(cwd / "tmp")},
        timeout=100,
        check=False,
    )


def test_the_five_answers_are_right(tmp_path: Path) -> None:
    """Exit 0; five questions by five ways, each answer equal to what plain Python computes; tokens saved."""
    done = run("--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [each["by"] for each in told["questions"]] == ["read", "search", "SQL", "Python", "argument"]
    for each in told["questions"]:
        assert each["right"] is True
        assert each["answer"] == each["expected"]
    assert 0 < told["tokens_spent"] < told["tokens_whole"] // 10
    package, version, size = told["questions"][2]["answer"]
    assert metadata.version(package) == version
    assert size == sum(each.size or 0 for each in metadata.files(package) or [])
    assert [each.name for each in tmp_path.iterdir()] == ["tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_text_shows_each_step_and_the_totals(tmp_path: Path) -> None:
    """What the model reads at each step, the tokens of it, then the table of answers with their checks."""
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode()
    for number in range(1, 7):
        assert f"turn {number}: " in said
    for number in range(1, 6):
        assert f'{{"blob":"blob{number}"' in said
    assert said.count("right") == 5
    assert "WRONG" not in said
    assert "tokens (o200k_base)" in said


def test_a_wrong_answer_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The checks can fail: an expectation that the service does not meet ends the demo with 1."""
    search = demo_questions._search

    def too_many(material: Material) -> demo_questions.Question:
        asked = search(material)
        return demo_questions.Question(
            asked.text, asked.how, asked.tool, asked.arguments, asked.answer, asked.expected + 1
        )

    monkeypatch.setattr(demo_questions, "_search", too_many)
    assert main(["demo"]) == 1
    assert b"WRONG" in capfdbinary.readouterr().out


def test_without_a_sandbox_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Where no cell can be had the demo ends with 7 and the reason, and runs nothing."""

    def without_cells(limits: Limits, readers_dir: str | None) -> Runner:
        return open_pool(tasks=wiring.TASKS, trusted_tasks=wiring.TRUSTED_TASKS, tiers=("none",))

    monkeypatch.setattr(wiring, "_runner", without_cells)
    assert main(["demo"]) == 7
    printed = capfdbinary.readouterr()
    assert printed.out == b""
    assert b"no sandbox" in printed.err
