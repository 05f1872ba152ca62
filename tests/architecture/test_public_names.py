"""The public names, and the doors for plug-ins."""

import tomllib
from importlib import import_module, metadata

import pytest

import blobs
from tests.material import ROOT

PUBLIC = ["Blobs", "BlobsError", "Conversation", "Limits", "Settings", "ToolInputError", "Turn"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS = [
    (group, name, value) for group, points in PROJECT["entry-points"].items() for name, value in points.items()
]


def test_the_public_names_are_one_list() -> None:
    """What `blobs` offers is this list, each name is there, and nothing else answers."""
    assert blobs.__all__ == PUBLIC
    assert all(getattr(blobs, name).__name__ == name for name in PUBLIC)
    with pytest.raises(AttributeError):
        blobs.nothing  # noqa: B018


@pytest.mark.parametrize(("group", "name", "value"), ENTRY_POINTS)
def test_entry_points_lead_somewhere(group: str, name: str, value: str) -> None:
    """Every entry point that the project declares can be loaded."""
    assert metadata.EntryPoint(name, value, group).load() is not None


def test_the_installed_entry_points_are_the_declared_ones() -> None:
    """The installation that is tested is that of this tree; after a change of pyproject.toml install it again."""
    installed = {
        (point.group, point.name, point.value)
        for point in metadata.distribution("agent-blobs").entry_points
        if point.group in PROJECT["entry-points"]
    }
    assert installed == set(ENTRY_POINTS)


def test_the_reader_contract_cannot_be_weakened() -> None:
    """The suites for others are where the README says."""
    for module, name in (
        ("blobs.testing.storage", "ContentStoreContract"),
        ("blobs.testing.catalog", "CatalogContract"),
        ("blobs.testing.readers", "ReaderContract"),
    ):
        assert isinstance(getattr(import_module(module), name), type)
