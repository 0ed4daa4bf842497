"""The turns of a finished call as they are given to a metric: ours, mappings, or anything with such attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def turns_of(given: object, example: str) -> list[object]:
    """The turns that were given, at least one. `example`: how one looks. Raises `TypeError` where it is no list of
    turns at all."""
    if isinstance(given, Mapping) and "turns" in given:
        raise TypeError(
            f"'turns' must be a list of turns, not the {type(given).__name__} that holds it: give ['turns']"
        )
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"'turns' must be a list of turns, as in [{example}]; got {type(given).__name__}")
    turns = list(given)
    if not turns:
        raise TypeError("'turns' must not be empty: there is nothing to judge")
    return turns


def turn_names(indexes: Sequence[object], whole: str) -> list[int]:
    """The turns' own indexes where all have one, else their places. `whole`: what they are the turns of, in words.
    Raises `ValueError` where two have the same index."""
    own = [index for index in indexes if type(index) is int]
    if len(own) < len(indexes):
        return list(range(len(indexes)))
    if len(set(own)) < len(own):
        twice = next(index for index in own if own.count(index) > 1)
        raise ValueError(f"two turns have the index {twice}: give the turns of one {whole}, each once")
    return own


def field_of(turn: object, *names: str) -> Any:
    """The first of the fields that is there and not None."""
    read = turn.get if isinstance(turn, Mapping) else lambda name: getattr(turn, name, None)
    return next((value for value in map(read, names) if value is not None), None)
