"""The JSON in what a language model wrote, whatever stands around it. Pure; never raises.

Models fence their JSON, talk before and after it, think aloud first, repeat a key, write NaN, or are cut in the middle.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, NamedTuple

MAX_REPLY: Final = 200_000
"""Characters of a reply that are looked at. Verdicts on a batch take a few thousand."""

MAX_TRIES: Final = 200
"""Places in a reply where JSON is looked for."""

Trouble = Literal["empty", "cut", "broken", "no_json", "too_long"]


class Clash:
    """Stands where one key of an object was given two different values."""


CLASH: Final = Clash()


class Found(NamedTuple):
    """The JSON values of a reply, in order, and what is wrong with it if anything is."""

    values: list[Any]
    trouble: Trouble | None


_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def find_json(text: str) -> Found:
    """Every object and list in `text` that does not stand within another one."""
    text = _THOUGHTS.sub(" ", text.lstrip("\ufeff")).strip()
    if not text:
        return Found([], "empty")
    if len(text) > MAX_REPLY:
        return Found([], "too_long")
    values: list[Any] = []
    trouble: Trouble | None = None
    position = 0
    for _ in range(MAX_TRIES):
        start = _next_opening(text, position)
        if start is None:
            break
        try:
            value, position = _DECODER.raw_decode(text, start)
            values.append(value)
        except json.JSONDecodeError as error:
            if _runs_out(text, error):
                trouble = "cut"
                break
            # What comes before the mistake is not tried again: the inside of a broken object is no answer of its own.
            trouble, position = "broken", max(error.pos, start + 1)
        except (RecursionError, ValueError):  # nested too deeply, or a number with thousands of digits
            trouble = "broken"
            break
    return Found(values, trouble or (None if values else "no_json"))


def _next_opening(text: str, position: int) -> int | None:
    found = _OPENING.search(text, position)
    return None if found is None else found.start()


_OPENING = re.compile(r"[{\[]")


def _runs_out(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the JSON was good as far as the text goes."""
    rest = text[error.pos :].rstrip("` \n")
    return not rest or error.msg.startswith("Unterminated string") or _BEGUN.fullmatch(rest) is not None


_BEGUN = re.compile(r"t|tr|tru|f|fa|fal|fals|n|nu|nul|-")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for key, value in pairs:
        whole[key] = CLASH if key in whole and whole[key] != value else value
    return whole


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
