"""Where settings are given: a TOML file, the environment, the command line. What they mean: `monitor.config`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ENVIRONMENT = "TURNWATCH_"
OWN_VARIABLES = ("TURNWATCH_TOKEN", "TURNWATCH_EVAL_MODE")
"""What is read elsewhere."""


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a table",
}


class ConfigError(Exception):
    """The configuration is wrong. The message names the key, where it stands, and what would be right."""


class Given(NamedTuple):
    """One value that somebody set, and where it stands. `is_text`: it still has to be read as its key's type."""

    origin: str
    name: str
    value: Any
    is_text: bool


def from_file(file: Path, known: Sequence[str]) -> Iterator[Given]:
    """What stands in a TOML file, one table a section. `known`: all keys. Raises ConfigError."""
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration {file} is not TOML: {error}") from error
    for section, keys in content.items():
        if not isinstance(keys, dict):
            raise ConfigError(f"{file}: {section} stands outside of a section such as [speech]")
        yield from _flat(str(file), section, keys, known)


def _flat(origin: str, place: str, keys: dict[str, Any], known: Sequence[str]) -> Iterator[Given]:
    for key, value in keys.items():
        name = f"{place}.{key}"
        if isinstance(value, dict) and any(one.startswith(f"{name}.") for one in known):
            yield from _flat(origin, name, value, known)
        else:
            yield Given(origin, name, value, is_text=False)


def from_environment(environment: Mapping[str, str]) -> Iterator[Given]:
    """`TURNWATCH_SECTION__KEY`. Raises ConfigError for any other name of that kind: a slip must not pass for a setting
    that was never made."""
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT) or variable in OWN_VARIABLES:
            continue
        name = variable.removeprefix(ENVIRONMENT).lower()
        if "__" not in name:
            meant = variable.removeprefix(ENVIRONMENT).replace("_", "__", 1)
            raise ConfigError(
                f"{variable} is no setting: a section and its key have two underscores between them, "
                f"as in {ENVIRONMENT}{meant if '__' in meant else 'SPEECH__OPEN_MS'}"
            )
        yield Given(variable, name.replace("__", "."), value, is_text=True)


def from_assignments(assignments: Iterable[str]) -> Iterator[Given]:
    """`section.key=value`. Raises ConfigError."""
    for assignment in assignments:
        name, mark, value = assignment.partition("=")
        name = name.strip()
        if not (mark and all(name.partition("."))):
            raise ConfigError(f"--set {assignment}: it takes section.key=value, as in speech.open_ms=60")
        yield Given(f"--set {name}", name, value.strip(), is_text=True)


def read(text: str, wanted: Any) -> Any:
    """`text` as a value of the type `wanted`; lists and tables are written as in TOML."""
    try:
        return msgspec.convert(text, wanted, strict=False)
    except msgspec.ValidationError:
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        return msgspec.convert(value, wanted)


def in_words(error: msgspec.ValidationError) -> str:
    """Why a value is none for its key, without the names of types."""

    def kinds(found: re.Match[str]) -> str:
        return " or ".join(_WORDS.get(kind, kind) for kind in found[1].split(" | "))

    text = re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", kinds, str(error))
    return f"it takes {text.removeprefix('Expected ')}" if text.startswith("Expected ") else text[:1].lower() + text[1:]
