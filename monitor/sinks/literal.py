"""Words from outside, made safe for a screen: shown as they are, doing nothing.

A caller's words, a call's id or a provider's message may hold markup, escape sequences that clear the screen or rename
the window, marks that turn the reading direction, or half a character. Everything that a terminal would act on is
shown as its escape (`\\x1b`) instead.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ACTING = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_JOINERS = frozenset("\u200c\u200d")
"""Kept: without them emoji and several scripts fall apart, and they do nothing else."""
_MAX_MARKS = 3
"""So many combining marks on one letter; more of them would climb into the lines around."""


def literal(text: str, limit: int = 400) -> str:
    """`text` on one line, at most `limit` characters of it, with `…` where it was shortened."""
    cut = " ".join(text[: 4 * limit].split())
    out = cut if cut.isascii() and cut.isprintable() else _shown(cut)
    if len(out) > limit:
        return out[: limit - 1].rstrip() + "…"
    return out if len(text) <= 4 * limit else out + "…"


def _shown(text: str) -> str:
    out: list[str] = []
    marks = 0
    for character in text:
        shown = _character(character)
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MAX_MARKS:
            out.append(shown)
    return "".join(out)


@lru_cache(maxsize=1024)
def _character(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    if unicodedata.category(character) not in _ACTING or character in _JOINERS:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
