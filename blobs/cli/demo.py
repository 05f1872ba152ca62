"""`blobs demo`: a scripted agent works on real large answers of this machine, and every answer of it is checked."""

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blobs.cli.options import common, settings_of, wants_json
from blobs.cli.rendering import counted, table_lines, value_text
from blobs.cli.screen import Screen, progress
from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, SandboxError
from blobs.reading.cutting import cut_with_count
from blobs.reading.tokens import count_tokens, tokenizer_problem

if TYPE_CHECKING:
    from blobs.cli.demo_material import Material
    from blobs.cli.demo_questions import Question
    from blobs.client import Blobs, Turn

SHOWN_CHARS_MAX = 600
"""What the model reads is printed up to here; the token counts are those of the whole."""


def register(subparsers: Any) -> None:
    """Add the command."""
    demo = subparsers.add_parser(
        "demo",
        help="watch an agent use it on this machine's own data",
        description=(
            "A scripted agent answers five questions over large real answers of this machine, each checked against "
            "a computation without the service. Uses no network, and a store that ends with it. "
            "Exits with 1 if an answer is wrong."
        ),
        parents=[common()],
    )
    demo.set_defaults(run=_demo)


@dataclass(slots=True)
class _Ledger:
    """Tokens: of the results whole, and of what the model reads and writes instead."""

    whole: int = 0
    read: int = 0
    written: int = 0
    answers: list[tuple["Question", Any, bool]] = field(default_factory=list)

    @property
    def spent(self) -> int:
        """All that went through the model."""
        return self.read + self.written


def _demo(args: argparse.Namespace) -> int:
    from blobs.cli.demo_material import gather
    from blobs.cli.demo_questions import questions
    from blobs.client import Blobs

    screen = Screen()
    said = _Silence() if wants_json(args) else screen
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blobs-demo-") as folder:
        with Blobs.open(replace(settings_of(args), store=folder)) as blobs, progress("gathering, testing the sandbox"):
            sandbox = blobs.doctor()["sandbox"]
            if not sandbox["runs_untrusted"]:
                raise SandboxError(
                    f"This host gives no sandbox, so the demo cannot run its Python. {' '.join(sandbox['reasons'])}",
                    hint="`blobs doctor` says what is missing.",
                )
            material = gather()
            ledger = _play(blobs, material, questions(material), said)
        definitions = count_tokens(exact_json.text(blobs.tools()))
    _totals(said, ledger, definitions, time.monotonic() - started)
    if wants_json(args):
        screen.json(_summary(ledger, definitions))
    screen.flush()
    return 0 if all(is_right for _, _, is_right in ledger.answers) else BlobsError.exit_code


class _Silence(Screen):
    """Says nothing: the answer is JSON at the end."""

    def line(self, text: str = "") -> None:
        """Nothing."""


def _play(blobs: "Blobs", material: "Material", asked: list["Question"], screen: Screen) -> _Ledger:
    """One turn in which the large results come in, then one turn a question."""
    ledger = _Ledger()
    chat = blobs.conversation("demo")
    screen.line("turn 1: the model asks for five things; each answer is large, so it reads a handle instead")
    with chat.turn() as turn:
        for result in material.results:
            shown = turn.offload(result.value, tool=result.tool)
            whole = count_tokens(result.whole)
            ledger.whole += whole
            size = len(result.value if isinstance(result.value, bytes) else result.whole.encode())
            screen.line(f"\n  {result.tool}()  {result.about}: {counted(size, 'bytes')}, {whole:,} tokens")
            _show(screen, ledger, shown)
    for number, question in enumerate(asked, start=2):
        screen.line(f"\nturn {number}: {question.text}")
        with chat.turn() as turn:
            said = _call(blobs, turn, question, screen, ledger)
        answer = question.answer(said) if said.get("ok", True) else said["message"]
        ledger.answers.append((question, answer, answer == question.expected))
    return ledger


def _call(blobs: "Blobs", turn: "Turn", question: "Question", screen: Screen, ledger: _Ledger) -> Mapping[str, Any]:
    """The model's call of a turn: of one of the three tools, or of a tool that the runtime runs itself."""
    from blobs.cli.demo_questions import COMPRESS_SCHEMA, compress

    call = exact_json.text(question.arguments)
    ledger.written += count_tokens(f"{question.tool}{call}")
    screen.line(f"\n  {question.tool} {call}")
    said: Any
    if question.tool.startswith("blob_"):
        said = turn.call(question.tool, question.arguments)
    else:
        resolved = turn.resolve(COMPRESS_SCHEMA, question.arguments)
        if not resolved["ok"]:
            return resolved
        arguments = resolved["arguments"]
        screen.line(f"  the tool is handed {exact_json.text(arguments['file'])} and fetches the bytes")
        said = turn.offload(compress(blobs.content(arguments["file"]), arguments["level"]), tool=question.tool)
    _show(screen, ledger, said)
    return dict(said)


def _show(screen: Screen, ledger: _Ledger, content: Any) -> None:
    text = value_text(content)
    tokens = count_tokens(text)
    ledger.read += tokens
    screen.line(f"  the model reads {counted(tokens, 'tokens')}:")
    screen.line(f"    {cut_with_count(text, SHOWN_CHARS_MAX)}")


def _totals(screen: Screen, ledger: _Ledger, definitions: int, seconds: float) -> None:
    rows = [
        [question.text, question.how, value_text(answer), "right" if is_right else f"WRONG: {question.expected}"]
        for question, answer, is_right in ledger.answers
    ]
    screen.line()
    for line in table_lines(["question", "by", "answer", "check"], rows):
        screen.line(line)
    kind = "estimated" if tokenizer_problem() else "o200k_base"
    share = 100 * ledger.spent / max(1, ledger.whole)
    screen.line()
    screen.line(f"the five results whole   {ledger.whole:>12,} tokens ({kind})")
    screen.line(f"handles and answers      {ledger.spent:>12,} tokens, {share:.1f} % of that")
    screen.line(f"  of these read {ledger.read:,}, written by the model in calls {ledger.written:,}")
    screen.line(f"the tools' definitions   {definitions:>12,} tokens in every request")
    wrong = sum(not is_right for _, _, is_right in ledger.answers)
    verdict = "all five answers equal a computation without the service" if not wrong else f"{wrong} answers are wrong"
    screen.line(f"{verdict}; {seconds:.1f} s")


def _summary(ledger: _Ledger, definitions: int) -> dict[str, Any]:
    return {
        "questions": [
            {
                "question": question.text,
                "by": question.how,
                "answer": answer,
                "expected": question.expected,
                "right": is_right,
            }
            for question, answer, is_right in ledger.answers
        ],
        "tokens_whole": ledger.whole,
        "tokens_spent": ledger.spent,
        "tokens_definitions": definitions,
    }
