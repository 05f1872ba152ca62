"""What a cell may see of the host's files: the interpreter, its libraries, and the packages its tasks live in."""

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PRELOADED = (
    "numpy",
    "pandas",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "duckdb",
    "lxml.etree",
    "PIL.Image",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "pypdf",
    "sqlite3",
    "xml.etree.ElementTree",
    "zoneinfo",
)
"""Imported before the fork, so that model-written code pays nothing for them."""

OPTIONAL = ("matplotlib.pyplot",)
"""Imported beforehand where they are installed: the extras of this package.

Only where a cell has a scratch folder of its own: they write when they are imported, and read settings that others
could have put into a shared one.
"""

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


def preloaded() -> tuple[str, ...]:
    """What cells import before the fork on this host."""
    return (*PRELOADED, *(name for name in OPTIONAL if importlib.util.find_spec(name.partition(".")[0])))


def import_paths() -> tuple[str, ...]:
    """The host's `sys.path`, absolute, without what does not exist."""
    found = dict.fromkeys(str(Path(path or ".").absolute()) for path in sys.path)
    return tuple(path for path in found if Path(path).exists())


def visible_paths(modules: Iterable[str], extra: Iterable[Path] = ()) -> tuple[str, ...]:
    """Every path a cell needs to import `modules` and their libraries; none lies inside another.

    Of an import path that is no library folder (the working directory, say, which may hold the store) only the packages
    in question are shown, never the whole.
    """
    wanted = {*_SYSTEM, *(str(path.absolute()) for path in extra)}
    for prefix in {sys.prefix, sys.base_prefix}:
        wanted |= {f"{prefix}/lib", f"{prefix}/lib64"}
    wanted |= {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    wanted |= {path for path in import_paths() if Path(path).name in _PACKAGE_FOLDERS}
    for module in {each.partition(".")[0] for each in modules}:
        wanted |= _locations(module)
    wanted |= {os.path.realpath(path) for path in wanted if Path(path).is_symlink()}
    shown: list[str] = []
    for path in sorted(each for each in wanted if Path(each).exists()):
        if not any(path.startswith(f"{above}/") and not Path(above).is_symlink() for above in shown):
            shown.append(path)
    return tuple(shown)


def _locations(top_module: str) -> set[str]:
    """The folders of a package, or the file of a module."""
    try:
        spec = importlib.util.find_spec(top_module)
    except (ImportError, ValueError):
        return set()
    if spec is None:
        return set()
    if spec.submodule_search_locations is not None:
        return {str(Path(path).absolute()) for path in spec.submodule_search_locations}
    return {spec.origin} if spec.origin and Path(spec.origin).is_absolute() else set()
