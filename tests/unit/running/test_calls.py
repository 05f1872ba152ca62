"""What comes of a call, seen from the host."""

import io

import pytest

from blobs.domain.errors import CallerError, SandboxError
from blobs.running import CellFile, Job
from tests.unit.running.conftest import open_cells


def test_a_task_answers_json_exactly(run):
    """Arguments and value pass unchanged, numbers with all their digits."""
    number = 2**200
    outcome = run("echo", text="…", number=number, nested={"a": [None, True, -1]})
    assert outcome.status == "ok"
    assert outcome.error is None
    assert outcome.value["arguments"] == {"text": "…", "number": number, "nested": {"a": [None, True, -1]}}


def test_arguments_may_be_long(run):
    """Longer than any buffer between host and worker."""
    assert run("echo", text="x" * 3_000_000).value["arguments"]["text"] == "x" * 3_000_000


def test_payload_is_streamed_into_a_host_file(run):
    """With payload_to nothing is held in memory: the bytes are in the file, in order, and payload is empty."""
    target = io.BytesIO()
    outcome = run("stream", count=3, size=3_000_000, payload_to=target)
    assert (outcome.status, outcome.value, outcome.payload) == ("ok", 9_000_000, b"")
    assert target.getvalue() == b"".join(bytes([index]) * 3_000_000 for index in range(3))


def test_payload_without_a_file_is_in_the_outcome(run):
    """Without payload_to the outcome holds the bytes."""
    assert run("stream", count=2, size=2).payload == b"\x00\x00\x01\x01"


def test_a_result_over_the_limit_is_refused_with_the_limit(run):
    """One byte more than result_bytes is an error that names the limit; exactly as many are fine."""
    assert run("stream", count=1, size=1000, limits={"result_bytes": 1000}).status == "ok"
    outcome = run("stream", count=1, size=1001, limits={"result_bytes": 1000})
    assert outcome.status == "error"
    assert outcome.error["code"] == "result_too_large"
    assert "1000" in outcome.error["message"]


def test_a_value_over_four_mebibytes_is_refused(run):
    """A JSON value is bounded apart from the payload: decoding it costs the host more than its size."""
    outcome = run("value", expression="'x' * (5 << 20)")
    assert (outcome.status, outcome.error["code"]) == ("error", "result_too_large")


def test_stdout_and_stderr_are_one_text_in_order(run):
    """What a task prints is captured as it was written."""
    assert run("say", out="a", err="b\n", times=2).printed == "a\nb\na\nb\n"


def test_printed_text_is_cut_with_the_number_of_bytes_left_out(run):
    """A flood is drained and counted, and the mark says how much is missing."""
    outcome = run("say", out="x" * 999, times=10_000, limits={"printed_bytes": 1000})
    assert outcome.status == "ok"
    assert outcome.printed == "x" * 999 + "\n" + "…(+9999000 bytes)"


def test_an_error_of_ours_keeps_code_message_and_hint(run):
    """A BlobsError of a task reaches the caller word for word."""
    outcome = run("fail", kind="blobs")
    assert outcome.status == "error"
    assert outcome.error == {"code": "invalid_tool_input", "message": "There is no column zip.", "hint": "Use city."}


def test_another_exception_is_internal_and_its_traceback_for_the_host(run):
    """The message tells a model nothing of the inside; the traceback is kept apart."""
    outcome = run("fail", kind="value")
    assert (outcome.status, outcome.error["code"]) == ("error", "internal_error")
    assert "secret detail" not in outcome.error["message"]
    assert "ValueError: secret detail" in outcome.traceback


@pytest.mark.parametrize("kind", ["exit", "recursion"])
def test_exit_and_recursion_are_errors(run, kind):
    """SystemExit and RecursionError end the call, not the worker without a word."""
    assert run("fail", kind=kind).error["code"] == "internal_error"


def test_too_much_memory_is_said(run):
    """An allocation over memory_bytes fails inside and is reported as such."""
    outcome = run("fail", kind="memory")
    assert (outcome.status, outcome.error["code"]) == ("memory", "out_of_memory")


def test_memory_up_to_the_limit_can_be_had(run):
    """The limit counts what the call allocates, not what was loaded before."""
    assert run("value", expression="len(bytearray(200 << 20))").value == 200 << 20


@pytest.mark.parametrize("how", ["sleep", "deaf", "close"])
def test_a_call_ends_at_its_deadline(run, how):
    """Whatever it does about signals, exceptions or its descriptors, a call is over soon after wall_ms."""
    outcome = run("end", how=how, limits={"wall_ms": 400})
    assert outcome.status == ("killed" if how == "close" else "timeout")
    if how == "sleep":
        assert outcome.error == {"code": "timeout", "message": "The call was stopped after 0.4 s.", "hint": ""}
        assert outcome.printed == "began\n"


@pytest.mark.parametrize(("how", "said"), [("exit", "exit status 7"), ("segfault", "signal 11"), ("abort", "signal")])
def test_a_process_that_dies_is_reported_with_its_death(run, how, said):
    """A crash in native code costs the call and nothing else."""
    outcome = run("end", how=how)
    assert outcome.status == "killed"
    assert said in outcome.error["message"]
    assert run("echo").status == "ok"


def test_a_value_that_is_not_json_is_an_error(run):
    """The task is told what it cannot answer."""
    assert run("value", expression="object()").error["code"] == "not_json"


def test_integers_of_any_length_pass(run):
    """A number of 100,000 digits is neither refused nor rounded."""
    outcome = run("value", expression="10 ** 100_000")
    assert outcome.status == "ok"
    assert outcome.value.text == "1" + "0" * 100_000


def test_nothing_of_a_call_is_there_in_the_next(run):
    """Changed modules, environment, files, threads: each call starts from the same state."""
    assert run("remember").value == [False, None, [], False]
    assert run("remember").value == [False, None, [], False]


def test_calls_draw_different_random_numbers(run):
    """The fork does not repeat the zygote's random state."""
    drawn = [run("draw").value for _ in range(3)]
    assert len({str(each) for each in drawn}) == 3
    assert len({str(each[0]) for each in drawn}) == 3


def test_sets_print_the_same_in_every_server(run):
    """Hashes are not random: the order of a set does not depend on when the zygote was started."""
    with open_cells() as others:
        words = "list({'Bonn', 'Köln', 'Trier', 'Ulm', 'Kiel'})"
        assert run("value", expression=words).value == others.run(Job("value", {"expression": words})).value


def test_a_module_of_tasks_is_warmed_up_once(run):
    """What warm_up() loads is there in every worker, and was loaded before the fork."""
    assert [run("warmed").value for _ in range(3)] == [1, 1, 1]


def test_unknown_tasks_and_bad_names_are_refused(cells, tmp_path):
    """A task that is not in the table, and a file name with a path in it, do not reach a cell."""
    with pytest.raises(SandboxError, match="no task nothing"):
        cells.run(Job("nothing", {}))
    with pytest.raises(CallerError, match="cannot be the name"):
        CellFile("../up", tmp_path)
    with pytest.raises(CallerError, match="each of another name"):
        cells.run(Job("echo", {}, (CellFile("a", tmp_path / "x"), CellFile("a", tmp_path / "y"))))


def test_arguments_that_are_not_json_cost_no_cell(cells):
    """The fault is the caller's, and said before anything starts."""
    with pytest.raises(CallerError, match="not JSON"):
        cells.run(Job("echo", {"bad": object()}))
    assert cells.run(Job("echo", {})).status == "ok"


def test_describe_says_what_the_cell_is(cells):
    """The doctor's report is JSON with the tier, its layers and why."""
    found = cells.describe()
    assert (found["tier"], found["layers"], found["reasons"]) == ("A", ["namespaces", "landlock", "seccomp"], [])
    assert found["runs_untrusted"] is True
    assert found["landlock_abi"] >= 1
