"""What README.md says is true: its examples run, its tables are complete, its paths exist."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from blobs import Settings
from blobs.domain import errors
from blobs.domain.limits import limit_table
from blobs.reading.registry import Registry
from tests.material import FIXTURES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
ORDERS = "order_id,customer_id,total\n" + "".join(f"{n},{n % 3},{n}.50\n" for n in range(100))


def block(mark: str) -> str:
    """The code under `<!-- executed: mark -->`."""
    found = re.search(rf"<!-- executed: {mark} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, mark
    return found.group(1)


def environment() -> dict[str, str]:
    """Without settings of this user, and with the scripts of this installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BLOBS_")}
    return {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"}


def run(command: list[str], cwd: Path) -> str:
    """The output of a command that ends well."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment(), timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_python_example_runs(tmp_path: Path) -> None:
    """The front door as it is shown, with the values that it must give."""
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    checks = (
        "\nassert shown['blob'] == 'blob1' and shown['items'] == 5000, shown"
        "\nassert answer['data']['rows'] == [[5000]], answer"
        "\nassert handle['blob'] == 'blob2' and handle['items'] == 100, handle"
        "\nassert page['data']['items'][0] == ['0', '0', '0.50'], page"
        "\nassert resolved['arguments']['file'] == dump['blobs']['blob2'], resolved"
        "\nassert content.startswith(b'[{\"id\":0,'), content[:20]"
    )
    run([sys.executable, "-c", block("python") + checks], tmp_path)


def test_the_reader_example_runs(tmp_path: Path) -> None:
    """The reader has at most 40 lines of code, passes the public contract, and works from a folder."""
    code = block("reader")
    assert sum(1 for line in code.splitlines() if line.strip()) <= 40
    (tmp_path / "readers").mkdir()
    (tmp_path / "readers" / "fasta.py").write_text(code, encoding="utf-8")
    (tmp_path / "readers" / "test_fasta.py").write_text(block("reader test"), encoding="utf-8")
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fasta.py"], tmp_path / "readers")
    (tmp_path / "readers" / "test_fasta.py").unlink()
    (tmp_path / "x.fa").write_text(">a first\nACGT\nAC\n>b\nGG\n", encoding="utf-8")
    query = "select id, length(sequence) as n from blob1"
    said = run(["blobs", "sql", "x.fa", query, "--readers", "readers", "--json"], tmp_path)
    assert '"rows":[["a",6],["b",2]]' in said
    listed = json.loads(run(["blobs", "readers", "--readers", "readers", "--json"], tmp_path))
    (fasta,) = [each for each in listed if each["name"] == "fasta"]
    assert fasta == {"name": "fasta", "types": ["text/x-fasta"], "version": "", "origin": "fasta.py"}
    assert not any("problem" in each for each in listed)
    calls = (
        "from blobs import Blobs\n"
        "from blobs.settings import Settings\n"
        "with Blobs.open(Settings(store=':memory:', readers_dir='readers')) as blobs:\n"
        "    chat = blobs.conversation()\n"
        "    with chat.turn() as turn:\n"
        "        shown = turn.offload('>a first\\n' + 'ACGT\\n' * 9000 + '>b\\nGGTT\\n', tool='sequences')\n"
        "    assert (shown['type'], shown['items'], shown['preview']['unit']) == ('text/x-fasta', 2, 'rows'), shown\n"
        "    read = chat.call('blob_read', {'blob': 'blob1', 'start': 1})['data']\n"
        "    assert (read['columns'], read['items']) == (['id', 'about', 'sequence'], [['b', '', 'GGTT']]), read\n"
        "    found = chat.call('blob_search', {'blob': 'blob1', 'pattern': 'GGT'})['data']\n"
        "    assert [match['item'] for match in found['matches']] == [1], found\n"
        "    sql = {'blob': 'blob1', 'language': 'sql', 'code': 'select sum(length(sequence)) from blob1'}\n"
        "    assert chat.call('blob_code', sql)['data']['rows'] == [[36004]]\n"
    )
    run([sys.executable, "-c", calls], tmp_path)


def test_the_http_example_runs(tmp_path: Path) -> None:
    """Six lines of curl against a server that was just started, none refused."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, "-m", "blobs.cli", "serve", "--port", "0", "--store", "data"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = re.search(r"http://127.0.0.1:([0-9]+)", server.stdout.readline())[1]
        lines = block("http").strip().splitlines()
        assert len(lines) == 6
        said = [run(["curl", "-f", *shlex.split(line.replace("8400", port))[1:]], tmp_path) for line in lines]
    finally:
        server.terminate()
        server.stdout.close()
        assert server.wait(timeout=60) == 0
    assert '"id":"chat-44"' in said[0]
    assert said[1].startswith('{"blob":"blob1","type":"text/csv"')
    assert '"rows":[[100]]' in said[2]
    assert '"text":"small, so it stays"' in said[3]
    assert said[4] == ORDERS
    assert '"name":"blob_read"' in said[5]


def test_the_commands_run(tmp_path: Path) -> None:
    """The command line as it is shown."""
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (tmp_path / "customers.json").write_text(
        '[{"customer_id":0,"name":"a"},{"customer_id":1,"name":"b"}]', encoding="utf-8"
    )
    (tmp_path / "app.log").write_text("start\nread Time-out\nend\n", encoding="utf-8")
    shutil.copy(FIXTURES / "files" / "report.pdf", tmp_path / "report.pdf")
    run(["bash", "-ec", block("commands")], tmp_path)
    assert (tmp_path / "joined.parquet").read_bytes()[:4] == b"PAR1"


def test_every_limit_is_in_the_table() -> None:
    """Name, default and reason of every limit, as the code has them."""
    missing = [
        row
        for name, default, reason in limit_table()
        if (row := f"| `{name}` | {'none' if default is None else format(default, ',')} | {reason} |") not in README
    ]
    assert missing == []


def test_every_setting_is_in_the_table() -> None:
    """Each setting is named in the first column of a table."""
    named = {name for line in README.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line)}
    assert {each.name for each in fields(Settings)} - {"limits"} <= named


def test_every_reader_is_in_the_table() -> None:
    """The table of formats names every built-in reader and no other."""
    section = README.partition("## Formats")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in rows for name in re.findall(r"`([\w-]+)`", cell)}
    assert named == {each.name for each in Registry().plug_ins() if each.is_built_in}


def test_every_exit_code_and_status_is_in_the_table() -> None:
    """The table of errors has the status and exit code of each class, looked up on the class."""
    section = README.partition("## Errors")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    said = {int(code): statuses for _, statuses, code in rows if code.isdigit()}
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.BlobsError) and kind is not errors.SettingsError:
            assert str(kind.status) in said[kind.exit_code], kind


def test_every_path_exists() -> None:
    """Files and folders of this repository that the page names are there."""
    named = set(re.findall(r"`((?:blobs|api|previewers|tests|fixtures)/[\w/.]+)`", README))
    assert len(named) > 15
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_two_commands_are_what_ci_runs() -> None:
    """The first two blocks are single commands for a bare machine, and .ci/run takes them from this page."""
    blocks = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)[:2]
    assert all("\n" not in each and each.startswith("python3 -m venv .venv && ") for each in blocks)
    assert blocks[0].endswith("/blobs demo")
    assert "pytest" in blocks[1]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "README.md" in script
