"""Settings: from flags, then `BLOBS_*` variables, then a TOML file. The one place that reads the environment."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from blobs.domain.errors import SettingsError
from blobs.domain.limits import Limits

PREFIX = "BLOBS_"

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything an operator can say. `store` is a folder, or `:memory:` for a store that ends with the process."""

    store: str = ".blobs"
    readers_dir: str | None = None
    tenant: str = "default"
    host: str = "127.0.0.1"
    port: int = 8400
    workers: int = 1
    debug: bool = False
    """Tell an internal error with its traceback, and log what cells say."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """API keys as `tenant:key`; without any a server answers on loopback only, for the tenant `default`."""
    redact_values: tuple[str, ...] = field(default=(), repr=False)
    """Secrets that are masked in everything that comes in, before it is hashed, and in logs."""
    redact_patterns: tuple[str, ...] = ()
    """Names of `blobs.domain.redaction.PATTERNS`, or regular expressions, of what is masked in the same way."""
    limits: Limits = field(default_factory=Limits)


def load_settings(
    flags: Mapping[str, Any] | None = None, *, environ: Mapping[str, str] | None = None, file: str | Path | None = None
) -> Settings:
    """Settings by precedence: a flag that is not None, then the environment, then the TOML file, then the default.

    The file is the argument, or what `BLOBS_CONFIG` names. Raises `SettingsError` that names every unknown or malformed
    key.
    """
    environ = os.environ if environ is None else environ
    file = file or environ.get(f"{PREFIX}CONFIG")
    given: dict[str, Any] = _from_file(Path(file)) if file else {}
    given |= {
        key.removeprefix(PREFIX).lower(): value
        for key, value in environ.items()
        if key.startswith(PREFIX) and key != f"{PREFIX}CONFIG"
    }
    given |= {key: value for key, value in (flags or {}).items() if value is not None}
    return _settings(given)


def is_debugging(environ: Mapping[str, str] | None = None) -> bool:
    """Whether `BLOBS_DEBUG` asks for tracebacks; for errors that come before there are settings."""
    value = (os.environ if environ is None else environ).get(f"{PREFIX}DEBUG", "")
    return value.strip().lower() in _YES


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"The settings file {path} cannot be read: {error}") from None


def _settings(given: Mapping[str, Any]) -> Settings:
    limit_names = {each.name for each in fields(Limits)}
    names = {each.name for each in fields(Settings)} - {"limits"}
    problems = [f"{key}: there is no such setting." for key in sorted(given) if key not in names | limit_names]
    values: dict[str, Any] = {}
    for key in sorted(set(given) & (names | limit_names)):
        try:
            values[key] = _read(key, given[key], is_limit=key in limit_names)
        except ValueError as problem:
            problems.append(f"{key}: {problem}.")
    if problems:
        raise SettingsError(" ".join(problems))
    limits = replace(Limits(), **{key: value for key, value in values.items() if key in limit_names})
    return Settings(limits=limits, **{key: value for key, value in values.items() if key in names})


def _read(key: str, value: Any, *, is_limit: bool) -> Any:
    if is_limit or key in ("port", "workers"):
        if is_limit and value in ("none", None):
            return None
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise ValueError(f"not a whole number: {value!r}") from None
        if number < 0:
            raise ValueError("must not be negative")
        return number
    if key == "debug":
        return _truth(value)
    if key == "keys":
        keys = _several(value)
        if not all(":" in each for each in keys):
            raise ValueError("give each key as tenant:key")
        return keys
    if key in ("redact_values", "redact_patterns"):
        return _several(value)
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004  # collected with the other malformed settings
    return value


def _several(value: Any) -> tuple[str, ...]:
    """Texts from a list of a settings file, or from one text with commas between them."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list | tuple) or not all(isinstance(each, str) for each in several):
        raise ValueError("not a list of texts")
    return tuple(several)


def _truth(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in (*_YES, *_NO):
        raise ValueError(f"not true or false: {value!r}")
    return text in _YES
