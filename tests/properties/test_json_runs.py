"""The elements of large arrays, found run by run."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blobs.domain.errors import UnreadableError
from previewers import json_runs
from previewers.json_structure import outline

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(-99, 10**6), st.sampled_from(["", "},{", '","', "a\\", "],[", "é"])
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "},", "b"]), inner, max_size=3),
    max_leaves=6,
)
LAYOUTS = st.sampled_from([(None, (",", ":")), (None, (", ", ": ")), (1, None), (None, (" ,\n", ":"))])


@pytest.fixture(params=[4, 16, 100], autouse=True, scope="module")
def run_bytes(request):
    """Runs so short that arrays of a few elements have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_runs, "_RUN_BYTES", request.param)
        patch.setattr(json_runs, "_RUN_BYTES_MAX", request.param * 64)
        yield


@settings(deadline=None)  # the machine may be busy
@given(st.lists(VALUES, min_size=1, max_size=12), LAYOUTS)
def test_elements_are_those_that_python_reads(values, layout):
    """Each piece of the text is one element, in order; where not all are found this way, nothing is told."""
    indent, separators = layout
    text = json.dumps(values, indent=indent, separators=separators, ensure_ascii=False).encode()
    found = json_runs.elements(memoryview(text))
    if found is not None:
        assert [json.loads(text[start:stop]) for start, stop in zip(*found, strict=True)] == values
        assert not any(text[start:stop].strip() != text[start:stop] for start, stop in zip(*found, strict=True))


@settings(deadline=None)  # the machine may be busy
@given(st.lists(VALUES, max_size=8), st.integers(0, 300), st.sampled_from([b",", b"]", b"[", b"}", b'"', b"1", b""]))
def test_nothing_is_found_in_what_is_no_array(values, at, spoilt):
    """A byte that is added or taken away makes another array, or none."""
    text = json.dumps(values).encode()
    text = text[:at] + spoilt + text[at + (not spoilt) :]
    found = json_runs.elements(memoryview(text))
    if found is not None:
        assert [json.loads(text[start:stop]) for start, stop in zip(*found, strict=True)] == json.loads(text)


def test_a_large_array_of_records_is_found_so():
    """Records one after the other, however the values are nested, and a comma too many at the end is told."""
    records = [{"id": each, "tags": [{"a": 1}, {"b": [each]}], "text": "x" * (each % 30)} for each in range(500)]
    text = json.dumps(records, indent=1).encode()
    assert len(outline(memoryview(text))) == 500
    with pytest.raises(UnreadableError):
        outline(memoryview(text[:-1] + b",]"))
