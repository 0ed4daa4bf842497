"""The turns of a finished call as they are given to a metric: ours, mappings, or anything with such attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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
