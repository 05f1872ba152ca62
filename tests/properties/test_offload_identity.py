"""A result offloaded in a turn has the handle that its reader gives to the same bytes, put as a blob and attached."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blobs import Blobs
from blobs.domain import exact_json
from blobs.domain.reference import Reference

SIGNATURES = ["%PDF-1.7", "PK\x03\x04", "ustar  ", "ftypmp42", "GIF89a", "SQLite format 3", "RIFF    WEBP", "PAR1"]
texts = st.text(max_size=20) | st.sampled_from(SIGNATURES) | st.text("ab,;\t\n#-: ", max_size=30)
atoms = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | texts
rows = st.lists(st.dictionaries(texts, atoms, max_size=5), max_size=12)
notebooks = st.fixed_dictionaries({"cells": st.lists(atoms, max_size=2), "nbformat": st.just(4), "metadata": rows})
values = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6), max_leaves=25
)
results = st.lists(values, min_size=1, max_size=8) | st.dictionaries(texts, values | rows, min_size=1, max_size=6)


@pytest.fixture(scope="module")
def blobs():
    """A service over a folder."""
    with tempfile.TemporaryDirectory() as folder, Blobs.open(Path(folder) / "store") as blobs:
        yield blobs


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=results | notebooks, times=st.sampled_from([1, 1, 40]))
def test_an_offloaded_value_has_the_handle_of_its_bytes(blobs, result, times):
    """Type, items, cost and preview are the same to the byte, and the bytes are the value's compact JSON."""
    value = [result] * times if times > 1 else result
    offloaded, attached = blobs.tenant("offloaded").conversation(), blobs.tenant("attached").conversation()
    with offloaded.turn() as turn:
        shown = turn.offload(value, kind="result", inline_bytes_max=0)
    content = exact_json.dumps(value)
    reference = blobs.tenant("attached").put(content, type="application/json")
    assert exact_json.dumps(shown) == exact_json.dumps(attached.attach(reference))
    dumped = Reference.parse(offloaded.dump()["blobs"]["blob1"])
    assert blobs.tenant("offloaded").content(dumped.to_json()) == content
