"""The corpus of attacks: each is stopped in the full cell, and those that can be shown succeed outside of it."""

from collections.abc import Iterator

import pytest

from blobs.running import CellRunner, Job
from blobs.running.seccomp import ATTRIBUTES, PLAIN
from blobs.running.syscall_table import this_machine
from tests.security.cell.attack import Attack
from tests.security.cell.corpus import ATTACKS, KINDS
from tests.security.cell.scene import Scene, open_cells, set_scene
from tests.security.cell.test_filter import BY_ARGUMENT

pytest.importorskip("pyseccomp", reason="attacks find the numbers of system calls through libseccomp")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    for above in (folder, folder.parent):
        above.chmod(0o755)
    with set_scene(folder) as found:
        yield found


@pytest.fixture(scope="module")
def cells(scene: Scene) -> Iterator[CellRunner]:
    with open_cells("A") as runner:
        assert runner.tier == "A", runner.reasons
        yield runner


@pytest.fixture(scope="module")
def no_cells(scene: Scene) -> Iterator[CellRunner]:
    with open_cells("none") as runner:
        yield runner


def named(attacks: list[Attack]) -> list:
    return [pytest.param(attack, id=attack.name) for attack in attacks]


def test_the_corpus_is_what_it_says():
    """Many of every kind, each with a name of its own, and a reason for every exception."""
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 300
    assert min(len(attacks) for attacks in KINDS.values()) >= 20
    assert all(bool(attack.why) == bool(attack.allowed) and "A" not in attack.allowed for attack in ATTACKS)


@pytest.mark.parametrize("attack", named(ATTACKS))
def test_an_attack_is_stopped_in_the_cell(cells, scene, attack):
    """It gets hold of nothing, and the blobs are as they were."""
    before = {path: (path.read_bytes(), path.stat()) for path in sorted(scene.folder.iterdir())}
    assert scene.evidence(cells, attack) is None
    after = {path: (path.read_bytes(), path.stat()) for path in sorted(scene.folder.iterdir())}
    assert [(path, content) for path, (content, _) in after.items()] == [
        (path, content) for path, (content, _) in before.items()
    ]
    for path, (_, status) in after.items():
        was = before[path][1]
        assert (status.st_mode, status.st_uid, status.st_mtime_ns) == (was.st_mode, was.st_uid, was.st_mtime_ns)


@pytest.mark.parametrize("attack", named([attack for attack in ATTACKS if attack.works_outside]))
def test_the_attack_works_without_a_cell(no_cells, scene, attack):
    """Negative control: were the cell not there, the attack would succeed. Otherwise it tests nothing."""
    assert scene.evidence_outside(no_cells, attack) is not None


def test_a_live_sweep_reaches_no_call_that_is_not_listed(cells):
    """Every number is tried from inside: what does not answer EPERM or ENOSYS is in the filter's list."""
    machine = this_machine()
    assert machine is not None
    listed = {machine.numbers[name] for name in (*PLAIN, *ATTRIBUTES, *BY_ARGUMENT) if name in machine.numbers}
    harmful = {"rt_sigreturn", "exit", "exit_group", "pause", "rt_sigsuspend", "poll", "ppoll", "select", "pselect6"}
    skipped = {machine.numbers[name] for name in harmful if name in machine.numbers} | {335, 336}  # uprobes trap
    takes_descriptor = {machine.numbers[name] for name in ("close", "dup", "dup2") if name in machine.numbers}
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nresult = []\n"
        f"for number in sorted(set(range(480)) - {skipped}):\n"
        "    ctypes.set_errno(0)\n"
        f"    words = [ctypes.c_long(-1 if number in {takes_descriptor} else 0), *[ctypes.c_long(0)] * 5]\n"
        "    answer = libc.syscall(ctypes.c_long(number), *words)\n"
        "    if answer >= 0 or ctypes.get_errno() not in (1, 38): result.append(number)\n"
    )
    outcome = cells.run(Job("code", {"code": code}))
    assert outcome.status == "ok", outcome
    assert len(outcome.value) > 60
    assert set(outcome.value) <= listed
