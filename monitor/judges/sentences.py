"""Words from a judge or a server, made fit for an event, a log and a terminal."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

MAX_REASON: Final = 300
"""Characters of a reason that are kept."""

_HIDDEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def one_sentence(words: Any, limit: int = MAX_REASON) -> str | None:
    """`words` on one line without control and invisible characters, at most `limit` long; None where nothing is left or
    it is no text."""
    if not isinstance(words, str):
        return None
    seen = (" " if unicodedata.category(one) in _HIDDEN else one for one in words[: 4 * limit])
    text = " ".join("".join(seen).split())
    return (text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…") or None
