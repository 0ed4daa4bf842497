"""The whole configuration as one commented file: `python -m monitor.config_file > deploy/turnwatch.toml`.

Everything in it comes from the settings' classes: the keys, their types and defaults from the fields, the explanations
from the docstrings (see `monitor.config_words`). So nobody has to keep the two in step; a test does.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from monitor.config import Config, group_of, sections
from monitor.config_sources import ENVIRONMENT
from monitor.config_words import Explained, explained
from monitor.core.rules import settings as rules
from monitor.core.setting_ranges import RANGES

WIDTH = 100
HEAD = """\
Every setting of Turnwatch, explained. Made by `python -m monitor.config_file`: change a copy, not this file.

A line such as "#open_ms = 60" shows a default: take away the # and change the value. A key without a value is not set \
by default. Text begins with a # and a space.

The environment goes before this file, and the command line before both: TURNWATCH_SPEECH__OPEN_MS=60, then \
--set speech.open_ms=60. There, and only there, a key may be set to null. Secrets belong into the environment. Three \
have names of their own: TURNWATCH_TOKEN (serve.token), OPENAI_API_KEY and TYPESAFE_API_KEY (the judges).
"""

LIMITS = RANGES | {f"rules.{key}": limits for key, limits in rules.RANGES.items()}
_UNITS = {
    "ms": "milliseconds",
    "s": "seconds",
    "h": "hours",
    "days": "days",
    "db": "dB",
    "dbfs": "dBFS",
    "bytes": "bytes",
    "mb": "megabytes",
}
_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "a path"}
_SECRET_WORDS = ("token", "key", "secret", "password")
_NAMES_A_FILE = ("_file", "_dir", "_path")


def render() -> str:
    """The file. Raises `ValueError` for a key that nobody has explained."""
    blocks = ["\n#\n".join(_comment(part) for part in HEAD.strip().split("\n\n"))]
    config = Config()
    for name, kind in sections().items():
        blocks += _section(name, kind, getattr(config, name, None) if name in config.__struct_fields__ else None)
    return "\n\n".join(blocks) + "\n"


def _section(place: str, kind: type[Any], made: Any, more: str = "", above: Explained | None = None) -> Iterator[str]:
    """A section or a group, block by block. `made`: the settings that hold its defaults, if not the class's own.
    `more`, `above`: what the section around a group says of it, and of its keys."""
    words, wanted = explained(kind), get_type_hints(kind)
    if above is not None:
        words = words._replace(keys=above.keys | words.keys)
    about = " ".join(part for part in (more, words.about) if part)
    yield "\n".join(part for part in (f"[{place}]", _comment(about)) if part)
    groups = {key: group for key in wanted if (group := group_of(wanted[key]))}
    for key in wanted:
        if key not in groups:
            default = default_of(kind, key) if made is None else getattr(made, key)
            yield _entry(place, key, wanted[key], default, words)
    for key, group in groups.items():
        default = default_of(kind, key) if made is None else getattr(made, key)
        more = words.keys.get(key, "") + (" Not set by default." if default is None else "")
        yield from _section(f"{place}.{key}", group, default, more.strip(), words)


def _entry(place: str, key: str, wanted: Any, default: Any, words: Explained) -> str:
    """One key: what it means, what it takes, and its default, commented out."""
    text = words.keys.get(key, "")
    if not text:
        raise ValueError(f"{place}.{key} has no explanation: put `{key}`: ... into the docstring of its settings")
    name = f"{place}.{key}"
    takes = _taken(wanted, key)
    if name in LIMITS:
        takes += ", {:,} to {:,}".format(*LIMITS[name])
    told = f"{takes[:1].upper()}{takes[1:]}{'; not set by default' if default is None else ''}."
    if is_secret(key, wanted):
        told += f" Better in the environment: {ENVIRONMENT}{name.upper().replace('.', '__')}."
    lead = [_comment(words.leads[key]), "#"] if key in words.leads else []
    value = "" if default is None else f" {toml(default)}"
    return "\n".join([*lead, _comment(text), _comment(told), f"#{key} ={value}"])


def default_of(kind: type[Any], key: str) -> Any:
    """The default of a field; None where it must be given. Raises KeyError."""
    if dataclasses.is_dataclass(kind):
        field: Any = {field.name: field for field in dataclasses.fields(kind)}[key]
        missing: Any = dataclasses.MISSING
    else:
        field = {field.name: field for field in msgspec.structs.fields(kind)}[key]
        missing = msgspec.NODEFAULT
    if field.default is not missing:
        return field.default
    return None if field.default_factory is missing else field.default_factory()


def is_secret(key: str, wanted: Any) -> bool:
    """Whether a key holds a secret itself, and not the place of one."""
    text = wanted is str or str in get_args(wanted)
    return text and any(word in key for word in _SECRET_WORDS) and not key.endswith(_NAMES_A_FILE)


def _taken(wanted: Any, key: str) -> str:
    """What a key takes, in words."""
    inner = [one for one in get_args(wanted) if one is not NoneType]
    if len(inner) < len(get_args(wanted)):
        return " or ".join([*(_taken(one, key) for one in inner), "null"])
    origin = get_origin(wanted)
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin in (list, tuple, frozenset, set):
        return f"a list, each {_taken(inner[0], key)}"
    if origin is dict:
        return f"a table, each value {_taken(inner[1], key)}"
    if hasattr(wanted, "__metadata__"):
        return _taken(inner[0], key)
    if origin is not None:
        return " or ".join(_taken(one, key) for one in inner)
    plain = _PLAIN[wanted]
    unit = _UNITS.get(key.rpartition("_")[2]) if "_" in key and wanted in (int, float) else None
    if unit is None:
        return plain
    return f"{plain} of {unit}"


def toml(value: Any) -> str:
    """A value as TOML writes it. Raises TypeError."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str() | Path():
            return json.dumps(str(value), ensure_ascii=False)
        case list() | tuple() | frozenset() | set():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            inner = ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items())
            return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"no setting may be a {type(value).__name__}")


def _comment(text: str) -> str:
    plain = text.replace("`", "")
    return "\n".join(f"# {line}" for line in textwrap.wrap(plain, WIDTH - 2, break_on_hyphens=False))


if __name__ == "__main__":
    sys.stdout.write(render())
