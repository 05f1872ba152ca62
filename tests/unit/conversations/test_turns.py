"""Turns: names by call order, retries, replacement, rollback, carrying on, forks."""

import json

import pytest

from blobs import Blobs, BlobsError, Conversation


def big(word: str) -> str:
    return f"{word} is a line of text\n" * 3000


def calls(*words: str) -> list[dict[str, object]]:
    return [{"id": f"c{i}", "tool": "t", "result": big(word)} for i, word in enumerate(words)]


def test_names_follow_call_order_whichever_call_ends_first(chat: Conversation) -> None:
    """The first call is the slowest to store and still gets blob1."""
    slow = [{"id": "a", "tool": "t", "result": "a,b\n" + "1,2\n" * 200_000}, *calls("x", "y")]
    answer = chat.put_turn(1, slow)
    assert [result["content"]["blob"] for result in answer["results"]] == ["blob1", "blob2", "blob3"]
    assert [handle["blob"] for handle in answer["handles"]] == ["blob1", "blob2", "blob3"]


def test_the_same_turn_again_gives_the_same_bytes(chat: Conversation) -> None:
    """A retry repeats names and previews."""
    first = json.dumps(chat.put_turn(1, calls("x", "y")))
    assert json.dumps(chat.put_turn(1, calls("x", "y"))) == first
    chat.put_turn(2, calls("z"))
    assert json.dumps(chat.put_turn(1, calls("x", "y"))) == first


def test_turns_may_be_numbered_from_0_and_with_gaps(chat: Conversation) -> None:
    """Runtimes number as they like, upwards."""
    for number, word in ((0, "x"), (1, "y"), (7, "z")):
        answer = chat.put_turn(number, calls(word))
        assert answer["turn"] == number
        assert json.dumps(chat.put_turn(number, calls(word))) == json.dumps(answer)
    assert chat.delete_turn(1)
    assert [handle["blob"] for handle in chat.handles()] == ["blob1"]
    assert chat.delete_turn(0)
    assert chat.handles() == []


def test_another_body_replaces_the_last_turn(chat: Conversation) -> None:
    """Names of the replaced turn are given anew."""
    chat.put_turn(1, calls("x"))
    chat.put_turn(2, calls("y"))
    answer = chat.put_turn(2, calls("z", "x"))
    assert [result["content"]["blob"] for result in answer["results"]] == ["blob2", "blob1"]
    assert chat.content("blob2").decode() == big("z")
    assert "preview" in answer["results"][0]["content"]
    assert "preview" not in answer["results"][1]["content"]


def test_another_body_for_an_earlier_turn_is_refused(chat: Conversation) -> None:
    """The past is not rewritten under later turns."""
    chat.put_turn(1, calls("x"))
    chat.put_turn(2, calls("y"))
    with pytest.raises(BlobsError, match="not the last"):
        chat.put_turn(1, calls("z"))


def test_a_rollback_takes_names_and_preview_flags_back(chat: Conversation) -> None:
    """What a rolled-back turn showed was never shown."""
    first = chat.put_turn(1, calls("x"))
    chat.put_turn(2, calls("y"))
    assert chat.delete_turn(1)
    assert chat.handles() == []
    assert not chat.delete_turn(1)
    assert chat.put_turn(1, calls("x")) == first


def test_a_turn_that_raises_leaves_nothing(chat: Conversation) -> None:
    """A block that raises gives no names."""
    with pytest.raises(KeyError), chat.turn() as turn:
        assert turn.offload(big("x"), tool="t")["blob"] == "blob1"
        raise KeyError
    assert chat.handles() == []
    with chat.turn() as turn:
        assert "preview" in turn.offload(big("x"), tool="t")


def test_two_turns_at_once_are_not_mixed(chat: Conversation) -> None:
    """The second to commit is rolled back and told so."""
    with pytest.raises(BlobsError, match="rolled back"), chat.turn() as first:
        first.offload(big("x"), tool="t")
        with chat.turn() as second:
            second.offload(big("y"), tool="t")
    assert [handle["blob"] for handle in chat.handles()] == ["blob1"]
    assert chat.content("blob1").decode() == big("y")


def test_names_never_cross_conversations(service: Blobs, chat: Conversation) -> None:
    """The same name means each conversation's own blob, and nothing where it was not given."""
    other = service.conversation()
    chat.put_turn(1, calls("x"))
    answer = other.call("blob_read", {"blob": "blob1"})
    assert answer["ok"] is False
    other.put_turn(1, calls("y"))
    assert chat.content("blob1") != other.content("blob1")


def test_a_digest_from_a_model_resolves_nothing(service: Blobs, chat: Conversation) -> None:
    """Only names that the conversation has shown are looked up."""
    digest = service.put(big("x").encode())["$blob"]
    chat.put_turn(1, calls("y"))
    answer = chat.call("blob_read", {"blob": digest})
    assert answer["ok"] is False
    assert "Use blob1" in answer["message"]


def test_a_dump_has_the_shape_that_runtimes_know(chat: Conversation) -> None:
    """Blobs by name, turns as references, whatever their size."""
    chat.put_turn(1, [{"id": "a", "tool": "t", "result": "small"}])
    chat.put_turn(2, calls("x"))
    dump = chat.dump()
    assert list(dump) == ["blobs", "turns"]
    assert list(dump["blobs"]) == ["blob1"]
    assert [list(turn) for turn in dump["turns"]] == [["$blob", "size", "type"]] * 2


def test_carrying_on_copies_and_goes_on_counting(service: Blobs, chat: Conversation) -> None:
    """Old names resolve, numbering goes on at the highest, the dump is not changed."""
    chat.put_turn(1, calls("x", "y"))
    dump = chat.dump()
    before = json.dumps(dump)
    later = service.conversation(carry_on=dump)
    assert later.call("blob_read", {"blob": "blob2", "count": 1})["data"]["items"] == ["y is a line of text"]
    with later.turn() as turn:
        assert turn.offload(big("z"), tool="t")["blob"] == "blob3"
    assert json.dumps(dump) == before
    assert later.dump()["turns"][:1] == dump["turns"]
    assert [handle["blob"] for handle in chat.handles()] == ["blob1", "blob2"]


def test_another_tenant_cannot_carry_on(service: Blobs, chat: Conversation) -> None:
    """A dump is no key: the blobs must be the tenant's own."""
    chat.put_turn(1, calls("x"))
    with pytest.raises(BlobsError):
        service.tenant("other").conversation(carry_on=chat.dump())


def test_a_fork_goes_its_own_way(chat: Conversation) -> None:
    """Both see the old names, neither sees the other's new ones."""
    chat.put_turn(1, calls("x"))
    fork = chat.fork()
    fork.put_turn(2, calls("y"))
    chat.put_turn(2, calls("z"))
    assert fork.content("blob1") == chat.content("blob1")
    assert fork.content("blob2").decode() == big("y")
    assert chat.content("blob2").decode() == big("z")


def test_tool_calls_of_a_turn_are_run_and_named_in_order(chat: Conversation) -> None:
    """A call of one of the three tools is a call like any other."""
    chat.put_turn(1, calls("x"))
    answer = chat.put_turn(
        2,
        [
            {"id": "r", "tool": "blob_read", "arguments": {"blob": "blob1", "start": -1}},
            {"id": "d", "tool": "t", "denied": "not today"},
            {"id": "n", "tool": "t", "result": big("n")},
        ],
    )
    read, denied, new = answer["results"]
    assert json.loads(read["text"])["data"]["items"] == ["x is a line of text"]
    assert "not today" in denied["text"]
    assert new["content"]["blob"] == "blob2"


@pytest.mark.parametrize(
    "call",
    [{}, {"result": 1, "error": "x"}, {"result": 1, "colour": 2}, "text", {"tool_result": {"no": 1}}],
)
def test_a_malformed_call_is_refused_with_its_place(chat: Conversation, call: object) -> None:
    """Nothing of the turn is kept."""
    with pytest.raises(BlobsError):
        chat.put_turn(1, [{"id": "a", "tool": "t", "result": "fine"}, call])  # type: ignore[list-item]
    assert chat.dump()["turns"] == []


def test_an_attachment_is_named_outside_any_turn(chat: Conversation) -> None:
    """It survives the rollback of a turn that came later."""
    handle = chat.attach(b"a,b\n1,2\n", type="text/csv")
    assert handle["blob"] == "blob1"
    assert handle["items"] == 1
    chat.put_turn(1, calls("x"))
    chat.delete_turn(1)
    assert [each["blob"] for each in chat.handles()] == ["blob1"]
