"""Hostile SQL, through the real task in the real cell: it reads, writes, lists and learns nothing but its tables."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blobs.running import CellRunner
from tests.security.sql.hostile import HOSTILE, Hostile
from tests.security.sql.scene import ROWS, SECRET, Scene, ask, breach, open_cells, said, set_scene

UNLOCKED = """
import json, os, sys
import duckdb
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    sql, table = json.loads(line)
    try:
        with duckdb.connect() as connection:
            connection.execute(f"create table blob1 as from '{table}'")
            shown = repr([connection.execute(each).fetchall() for each in connection.extract_statements(sql)])
    except Exception:
        shown = ""
    print(json.dumps(shown), flush=True, file=replies)
"""
"""Runs statements without any lock, each on a new connection."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return set_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module", params=["A", "none"])
def cells(request: pytest.FixtureRequest, scene: Scene) -> Iterator[CellRunner]:
    """The full cell, and the plain process that SQL has where there is no cell: the engine's locks alone."""
    with open_cells(request.param) as runner:
        assert runner.tier == request.param, runner.reasons
        yield runner


def named(statements: list[Hostile]) -> list:
    return [pytest.param(each, id=f"{each.group}: {each.sql[:60]}") for each in statements]


def test_the_corpus_is_what_it_says():
    """Many of every kind, none twice."""
    assert len({each.sql for each in HOSTILE}) == len(HOSTILE) >= 130
    assert min(Counter(each.group for each in HOSTILE).values()) >= 10


@pytest.mark.parametrize("statement", named(HOSTILE))
def test_a_hostile_statement_gets_hold_of_nothing(cells, scene, statement):
    """No content, name, variable or path of the host is told, and no file changes. What only writes or sets is refused.

    In a plain process the setting `allowed_paths` tells where the query's own table lies: there is no mount to hide it.
    """

    def run(sql: str) -> str:
        outcome = ask(cells, scene, sql)
        assert outcome.status in (("error",) if statement.is_no_query else ("ok", "error")), outcome
        assert (outcome.error or {}).get("code", "sql_error") == "sql_error", outcome
        return said(outcome).replace(str(scene.table), "" if cells.tier == "none" else str(scene.table))

    for sql in scene.statements(statement.sql):
        assert breach(scene, sql, run) == ""


def test_the_next_query_works(cells, scene):
    """After all of this the table is whole."""
    assert ask(cells, scene, "select count(*), min(zip) from blob1").value["rows"] == [[ROWS, "000"]]


def test_no_query_foretells_another(cells, scene):
    """The database is opened before the fork, but its random numbers are not drawn there."""
    drawn = {str(ask(cells, scene, "select random()").value["rows"]) for _ in range(4)}
    assert len(drawn) == 4


@pytest.fixture(scope="module")
def unlocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, Path], str]]:
    """What a statement shows on an unlocked connection, in a process of its own."""
    environment = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home")), "SCENE_SECRET": SECRET}
    with subprocess.Popen(
        [sys.executable, "-c", UNLOCKED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:

        def run(sql: str, table: Path) -> str:
            process.stdin.write(json.dumps([sql, str(table)]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


@pytest.mark.parametrize("statement", named([each for each in HOSTILE if each.works]))
def test_the_statement_works_without_locks(unlocked, tmp_path, statement):
    """Negative control: were there no locks, it would get what it wants. Otherwise it tests nothing."""
    scene = set_scene(tmp_path)
    sql = next(iter(scene.statements(statement.sql)))
    assert breach(scene, sql, lambda sql: unlocked(sql, scene.table)) != ""
