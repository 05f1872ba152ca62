"""What commands have in common: their flags, and the settings that these make."""

import argparse
from dataclasses import replace
from pathlib import Path

from blobs.domain.errors import NotFoundError
from blobs.domain.limits import Limits
from blobs.settings import Settings, load_settings

PATIENT_PREVIEW_MS = 300_000
"""How long the command line waits for the profile of a large blob: a person waits, a turn does not."""


def common() -> argparse.ArgumentParser:
    """The flags of every command, to be given to `add_parser` as a parent. They may stand before the command too."""
    flags = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = flags.add_argument_group("common flags")
    group.add_argument("--store", metavar="DIR", help="the store's folder (or BLOBS_STORE; default .blobs)")
    group.add_argument("--json", action="store_true", help="answer in JSON")
    group.add_argument("--readers", metavar="DIR", help="a folder of further readers (or BLOBS_READERS_DIR)")
    group.add_argument("--config", metavar="FILE", help="a TOML file of settings and limits (or BLOBS_CONFIG)")
    return flags


def wants_json(args: argparse.Namespace) -> bool:
    """Whether the answer is for a machine."""
    return bool(getattr(args, "json", False))


def settings_of(args: argparse.Namespace) -> Settings:
    """Settings by the flags, then `BLOBS_*`, then the file; raises `SettingsError`."""
    flags = {"store": getattr(args, "store", None), "readers_dir": getattr(args, "readers", None)}
    return load_settings(flags, file=getattr(args, "config", None))


def patient(settings: Settings) -> Settings:
    """The same settings, with the time of a person for previews where nothing else was set."""
    if settings.limits.preview_ms_max != Limits().preview_ms_max:
        return settings
    return replace(settings, limits=replace(settings.limits, preview_ms_max=PATIENT_PREVIEW_MS))


def is_store_named(args: argparse.Namespace, settings: Settings) -> bool:
    """Whether somebody said which store: a flag, a variable or the settings file."""
    return hasattr(args, "store") or settings.store != Settings().store


def require_store(settings: Settings) -> Settings:
    """The settings, if their store is there; `NotFoundError` where it is not, so that looking never makes one."""
    from blobs.wiring import has_store

    if not has_store(settings):
        raise NotFoundError(
            f"There is no store in {Path(settings.store)}.",
            hint="Name one with --store DIR; `blobs put FILE --store DIR` makes one.",
        )
    return settings
