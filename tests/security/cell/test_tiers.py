"""Tiers in other surroundings: an ordinary user, a container, an old kernel; each pretended in its own process."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blobs.running.libraries import import_paths, visible_paths
from blobs.running.plan import THREADS_MAX, Layers, Plan
from blobs.running.pool import CellPool
from blobs.running.tiers import TIERS, self_test_problem
from tests.security.cell.corpus import ATTACKS

ROOT = Path(__file__).parents[3]
USER = 12_345

pytest.importorskip("pyseccomp", reason="other surroundings are pretended with libseccomp's numbers")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="pretending to be another user needs root")

PUBLIC = """
set -e
mount --make-rprivate /
home=$1; shift
if [ -d "$home" ] && [ "$home" != / ]; then
    mkdir -p "$SCENE/home" && mount --bind "$home" "$SCENE/home" && mount -t tmpfs -o mode=755 none "$home"
    for each in $SHOWN; do mkdir -p "$each"; mount --bind "$SCENE/home${each#$home}" "$each"; done
    cd "$PWD"
fi
if [ "$MASKED" ]; then mount -t tmpfs none /proc/irq; mount --bind /dev/null /proc/kallsyms; fi
exec "$@"
"""
"""A home that only root may enter may hold the interpreter and this checkout: show a user these, and nothing else.

With MASKED parts of /proc are hidden as containers hide them, and the kernel refuses to mount another.
"""


@pytest.fixture
def scene() -> Iterator[Path]:
    """A folder that every user may enter: those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(prefix="blobs-scene-") as folder:
        yield Path(folder)


def probe(scene: Path, tiers: str, *, host: str = "nothing", user: int | None = None, step: int = 1) -> dict[str, Any]:
    """What the probe finds in these surroundings."""
    if not shutil.which("unshare") or not shutil.which("setpriv"):
        pytest.skip("util-linux is needed to pretend")
    closed = next((each for each in (ROOT, *ROOT.parents) if not each.stat().st_mode & stat.S_IXOTH), None)
    if closed is not None and not ROOT.is_relative_to(Path.home()):
        pytest.skip(f"NOT TESTED: this checkout lies in {closed}, which no other user may enter")
    scene.chmod(0o755)
    (scene / "home").mkdir()
    work = scene / "work"
    work.mkdir()
    become = []
    if user is not None:
        os.chown(work, user, user)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    if host == "nested":
        become += ["unshare", "--user", "--map-root-user"]
    python = [sys.executable, "-W", "error"]
    command = [
        *("unshare", "-m", "sh", "-c", PUBLIC, "sh", str(Path.home())),
        *become,
        *(*python, "-m", "tests.security.cell.pretend", host if host not in ("masked", "nested") else "nothing"),
        *(*python, "-m", "tests.security.cell.probe", tiers, str(work), str(step)),
    ]
    shown = {each for each in (str(ROOT), sys.prefix, sys.base_prefix) if each.startswith(f"{Path.home()}/")}
    environment = {
        **{name: value for name, value in os.environ.items() if name != "HOME"},
        "SHOWN": " ".join(sorted(shown)),
        "SCENE": str(scene),
        "MASKED": "yes" if host == "masked" else "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


WORKS = ["ok", [True, "slept", 10 << 20, "bounded"], "private"]


def allowed(tier: str, step: int) -> set[str]:
    return {attack.name for attack in ATTACKS[::step] if tier in attack.allowed}


@pytest.mark.parametrize(
    ("tier", "host", "user", "step"),
    [
        pytest.param("A", "nothing", USER, 1, id="A as an ordinary user"),
        pytest.param("A", "nested", USER, 5, id="A as root of a user namespace"),
        pytest.param("A", "masked", None, 5, id="A as root where /proc is masked"),
        pytest.param("A", "masked", USER, 5, id="A as an ordinary user where /proc is masked"),
        pytest.param("B", "nothing", None, 1, id="B as root"),
        pytest.param("B", "docker", None, 5, id="B as root in a container"),
        pytest.param("B", "docker", USER, 1, id="B as an ordinary user in a container"),
        pytest.param("C", "no-landlock", None, 5, id="C as root"),
        pytest.param("C", "no-landlock", USER, 1, id="C as an ordinary user"),
    ],
)
def test_the_strongest_tier_is_found_and_holds(scene, tier, host, user, step):
    """The tier follows from what the host gives; work is done in it, and no attack succeeds but those named for it.

    Where only the way into the tier differs, every fifth attack is tried.
    """
    tiers = tier if (tier, host) == ("B", "nothing") else "A,B,C,none"
    found = probe(scene, tiers, host=host, user=user, step=step)
    assert found["tier"] == tier, found["reasons"]
    assert found["work"] == WORKS
    assert set(found["succeeded"]) == allowed(tier, step), found["succeeded"]
    # Without a user namespace the kernel counts the threads of all of a user's processes in one account, and an
    # ordinary user's workers are that user. Root gives each a user of its own.
    if (tier, user) == ("B", USER):
        assert set(found["unbounded"]) <= {"threads"}
    else:
        assert not found["unbounded"]
        had, most = found["account"]
        assert 40 < had <= most == THREADS_MAX


@pytest.mark.parametrize("host", ["no-seccomp", "docker+no-landlock"])
def test_without_two_layers_untrusted_code_is_refused(scene, host):
    """No seccomp, or nothing beside it: no cell, with a reason for each tier; trusted tasks have a plain process."""
    found = probe(scene, "A,B,C,none", host=host, user=USER)
    assert (found["tier"], found["runs_untrusted"]) == ("none", False)
    assert "code is not run here" in found["refused"]
    assert [reason[:7] for reason in found["reasons"]] == ["Tier A:", "Tier B:", "Tier C:"]


def test_root_that_may_not_change_its_user_runs_no_cells(scene):
    """The kernel does not hold real root to a number of threads, so it is refused rather than half limited."""
    found = probe(scene, "A,B,C,none", host="nested")
    assert (found["tier"], found["runs_untrusted"]) == ("none", False)
    assert all("root without the right" in reason for reason in found["reasons"])


def bare_pool(layers: Layers) -> CellPool:
    """A pool that can do nothing but test itself."""
    return CellPool(
        Plan(
            layers=layers,
            import_paths=import_paths(),
            visible_paths=visible_paths(["blobs"]),
            tasks={"self-test": "blobs.running.selftest:run"},
            preload=(),
        ),
        cells_max=1,
    )


MISSING = [
    pytest.param(Layers(namespaces=True, landlock=True, seccomp=False), "fork", id="no filter"),
    pytest.param(Layers(namespaces=False, landlock=True, seccomp=False), "open an INET socket", id="Landlock alone"),
    pytest.param(Layers(namespaces=False, landlock=False, seccomp=True), "read another blob", id="a filter alone"),
    pytest.param(
        Layers(namespaces=False, landlock=False, seccomp=False),
        "ended as killed",
        id="nothing, so that it becomes another program",
    ),
]


@pytest.mark.parametrize(("layers", "said"), MISSING)
def test_the_self_test_finds_a_layer_that_is_not_there(layers, said):
    """Negative control of the self-test: it names what the missing layer would have stopped."""
    pool = bare_pool(layers)
    try:
        assert said in self_test_problem(pool)
    finally:
        pool.close()


@pytest.mark.parametrize("layers", [each for tier, each in TIERS.items() if tier in ("A", "C")])
def test_the_self_test_passes_what_holds(layers):
    """A complete tier has no problem."""
    pool = bare_pool(layers)
    try:
        assert self_test_problem(pool) == ""
    finally:
        pool.close()
