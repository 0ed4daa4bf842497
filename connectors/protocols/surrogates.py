"""JSON text with half a character in it: `"\\ud83d"`, as a program writes it that cuts strings at any place.

Strict readers refuse the whole message for it. What is half a character becomes U+FFFD here, and the rest is kept.
"""

from __future__ import annotations

import re

_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPES = re.compile(rf"{_HIGH}{_LOW}|(?P<half>{_HIGH}|{_LOW})|\\.")
"""Any escape, so that an escaped backslash before a `u` is no escape of a character."""


def without_halves(text: str) -> str | None:
    """`text` with every escaped half of a character replaced; None if there is none in it."""
    if "\\ud" not in text and "\\uD" not in text:
        return None
    mended = _ESCAPES.sub(lambda escape: "\\ufffd" if escape["half"] else escape[0], text)
    return None if mended == text else mended
