"""Tools as a runtime offers them are checked before the first turn."""

import pytest

from blobs.conversations.check import check_tools

_RECURSIVE = {"type": "object", "properties": {"again": {"$ref": "#"}}}
_MARKED = {"type": "object", "properties": {"files": {"type": "array", "items": {"format": "blob"}}}}


def test_good_tools_have_no_problems():
    """Any legal name, either shape, no schema at all, and unmarked schemas of listed tools."""
    tools = [
        {"name": "read_pdf", "schema": {"file": "blob", "n": "number?"}},
        {"name": "_x-9", "schema": _MARKED},
        {"name": "a" * 64},
        {"name": "fs_list", "schema": {"type": "object"}, "listed": True},
        {"name": "previews", "schema": None, "listed": False},
    ]
    assert check_tools(tools) == []


@pytest.mark.parametrize("name", ["turn", "preview", "open", "blob_read", "blob_search", "blob_code"])
def test_reserved_names_are_refused(name):
    """The six names are taken, also when an entry `blob` and its tool `read` were joined to one."""
    assert check_tools([{"name": name}]) == [
        f"{name}: this name is reserved. Rename the tool, for example to my_{name}."
    ]


def test_more_names_can_be_reserved():
    """A runtime with reserved names of its own gives them."""
    assert check_tools([{"name": "final_result"}]) == []
    assert check_tools([{"name": "final_result"}, {"name": "turn"}], ["final_result"]) == [
        "final_result: this name is reserved. Rename the tool, for example to my_final_result.",
        "turn: this name is reserved. Rename the tool, for example to my_turn.",
    ]


@pytest.mark.parametrize("name", ["9lives", "read pdf", "läs", "a.b", "-x", "read\n"])
def test_names_have_the_characters_that_every_service_takes(name):
    """Letters, digits, _ and -, a letter or _ first."""
    (problem,) = check_tools([{"name": name}])
    assert problem.endswith("Use letters, digits, _ and -, and begin with a letter or _.")
    assert "\n" not in problem


def test_names_have_at_most_64_characters():
    """65 are too many; the message says how many there are."""
    assert check_tools([{"name": "a" * 65}]) == [
        f'"{"a" * 60}…(+5 chars)": the name has 65 characters. Shorten it to 64 or fewer.'
    ]


def test_duplicates_are_refused():
    """A name is one tool's; the second one with it is the problem."""
    assert check_tools([{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "A"}]) == [
        "a: another tool has this name. Rename one of them."
    ]


def test_listed_tools_cannot_take_blobs():
    """A tool from somebody else's list would get the name as a string; the marked places are told."""
    assert check_tools([{"name": "fs_read", "schema": _MARKED, "listed": True}]) == [
        (
            "fs_read: a listed tool cannot take blobs, and its schema marks one at files.*. "
            "Wrap it in a tool of your own, or take the mark away."
        )
    ]
    many = {f"f{i}": "blob" for i in range(9)}
    assert "at f0, f1, f2, f3, f4 and 4 more." in check_tools([{"name": "x", "schema": many, "listed": True}])[0]


@pytest.mark.parametrize("key", ["schema", "inputSchema", "input_schema", "parameters"])
def test_the_schema_is_found_under_its_names_in_the_dialects(key):
    """A tool as MCP or a service writes it is not passed over unchecked."""
    assert len(check_tools([{"name": "x", key: _RECURSIVE}])) == 1


def test_schemas_that_cannot_be_read_are_refused():
    """Recursive ones, and what is neither shape; the tool and the place are named."""
    tools = [
        {"name": "tree", "schema": _RECURSIVE},
        {"name": "odd", "schema": "blob"},
        {"name": "no", "schema": {"a": "x"}},
    ]
    assert check_tools(tools) == [
        "tree: schema: properties.again.$ref: the schema is recursive. Write out as many levels as are needed.",
        'odd: schema: a schema is an object, not "blob". Give {"file": "blob"} or JSON Schema.',
        (
            'no: schema: a: "x" is no type. Use string, number, integer, boolean, object, array, list, any or blob, '
            "with ? where it is optional."
        ),
    ]


def test_what_is_no_tool_is_told_by_its_place():
    """Without a name there is only the index."""
    assert check_tools([{"name": "a"}, {}, "x", {"name": 3}]) == [
        f'tools.{place}: give the tool as an object with a name, such as {{"name": "read_pdf"}}.' for place in (1, 2, 3)
    ]
    assert check_tools([{"name": "a", "listed": "yes"}]) == ['a: listed: give true or false, not "yes".']


def test_all_problems_of_all_tools_are_told():
    """One tool may have several, and one does not hide another's."""
    assert len(check_tools([{"name": "turn", "schema": _RECURSIVE}, {"name": "turn"}])) == 4
