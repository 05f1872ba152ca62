"""The rules that contracts themselves keep."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import blobs.testing


def contracts() -> list[type]:
    """Every public contract class."""
    found = set()
    for info in pkgutil.iter_modules(blobs.testing.__path__, "blobs.testing."):
        module = importlib.import_module(info.name)
        found |= {each for name, each in inspect.getmembers(module, inspect.isclass) if name.endswith("Contract")}
    return sorted(found, key=lambda each: each.__name__)


def subclasses(contract: type) -> Iterator[type]:
    """Everything that subclasses a contract in the modules that were collected, at any depth."""
    for each in contract.__subclasses__():
        yield each
        yield from subclasses(each)


def test_no_subclass_overrides_a_test_of_a_contract():
    """A backend adds tests; it never weakens one that it must pass."""
    for contract in contracts():
        promised = {name for name in dir(contract) if name.startswith("test_")}
        for each in subclasses(contract):
            assert not promised & set(vars(each)), f"{each.__name__} overrides a test of {contract.__name__}"


def test_every_test_of_a_contract_states_its_rule():
    """The docstrings of the tests are the contract in prose."""
    for contract in contracts():
        tests = [each for name, each in vars(contract).items() if name.startswith("test_")]
        assert tests, f"{contract.__name__} promises nothing"
        assert all(each.__doc__ for each in tests)
