"""Reads the scripts of scripted judges and transcribers, and says what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]

S = TypeVar("S", bound=msgspec.Struct)


class ScriptError(ValueError):
    """The file is no script. The message says what is wrong with it, on one line."""


def read_script(file: Path, kind: type[S], what: str) -> S:
    """The script in `file`. `what` it is to be, for people: `script of verdicts`. Raises ScriptError."""
    try:
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise ScriptError(f"cannot read the {what} {file}: {why}") from error
    try:
        return msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=kind)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at `$")
        where = f"at {place.strip('.`')}: " if place.strip("`") else ""
        raise ScriptError(f"{file} is no {what}: {where}{words[:1].lower()}{words[1:]}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file} is no {what}: {_broken(content, error)}") from error


def _broken(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "it is empty"
    if "truncated" in str(error):
        return "its JSON is cut off: the end of the file is missing"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    words = str(error).removeprefix("JSON is malformed: ")
    return f"it is no JSON: {words}"
