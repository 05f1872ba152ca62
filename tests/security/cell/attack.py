"""What an attack is.

Each leaves `evidence` when it works; an exception or no evidence means that it was stopped. It is told the names of
`tests.security.cell.scene` and has the tools of `tests.security.cell.attack_task`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """One attempt.

    `before` is run in a call of its own, whose traces the attack looks for. `works_outside` marks those that succeed in
    a plain process: run there, they prove that they test something. The others cannot be shown without harm, need what
    this machine lacks, or are stopped already by the server's clean start. `allowed` names the tiers in which the
    attack is known to succeed, `why` says the reason.
    """

    name: str
    code: str
    before: str = ""
    works_outside: bool = True
    allowed: tuple[str, ...] = ()
    why: str = ""
