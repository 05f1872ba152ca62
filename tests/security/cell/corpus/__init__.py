"""The corpus of attacks, by what they aim at. Bombs and forged answers are in `tests.security.cell.bombs`."""

from collections.abc import Mapping

from tests.security.cell.attack import Attack
from tests.security.cell.corpus.blobs import BLOBS
from tests.security.cell.corpus.files import FILES
from tests.security.cell.corpus.ipc import IPC
from tests.security.cell.corpus.kernel import KERNEL
from tests.security.cell.corpus.network import NETWORK
from tests.security.cell.corpus.persistence import PERSISTENCE
from tests.security.cell.corpus.privileges import PRIVILEGES
from tests.security.cell.corpus.processes import PROCESSES

KINDS: Mapping[str, list[Attack]] = {
    "files": FILES,
    "blobs": BLOBS,
    "processes": PROCESSES,
    "privileges": PRIVILEGES,
    "network": NETWORK,
    "ipc": IPC,
    "kernel": KERNEL,
    "persistence": PERSISTENCE,
}
ATTACKS = [attack for attacks in KINDS.values() for attack in attacks]
