"""What a line of the feed is before anybody knows how it will be drawn: pieces of text, each with a role to play."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

Style = Literal[
    "",
    "dim",
    "strong",
    "call",
    "fleet",
    "caller",
    "agent",
    "good",
    "fair",
    "poor",
    "notice",
    "words",
    "info",
    "warning",
    "critical",
]
"""How a piece looks, by what it is; `info`, `warning` and `critical` are the severities of alerts."""

SIGNS = {
    "gap": "→",
    "barge_in": "↯",
    "overlap": "≈",
    "turn": "●",
    "small": "·",
    "notice": "▲",
    "call": "▶",
    "end": "■",
    "yes": "✓",
    "no": "✗",
    "alert": "!",
    "": " ",
}
"""What stands before a line, by what happened; each is one cell wide."""

BAR = "━"
_FULL = "█"
_EIGHTHS = " ▏▎▍▌▋▊▉"

_PLAINER = {
    **dict(zip("→↯≈●·▲▶■━█✓✗", ">!~*|!>#=#+x", strict=True)),
    **dict(zip("–—“”‘’×│", "--\"\"''x|", strict=True)),
    "…": "...",
    **dict.fromkeys(_EIGHTHS[1:], " "),
}


class Bit(NamedTuple):
    """A piece of a line. Its text has been through `literal` if it came from outside. `meter`: a share in 0..1 that is
    drawn as a small bar behind the text, where lines are drawn."""

    text: str
    style: Style = ""
    meter: float | None = None


class Line(NamedTuple):
    """One line of the feed. `at_ms`: media time; None for a line that belongs to the one above. `who`: `caller`,
    `agent`, `call`, `fleet` or empty. `sign`: a key of `SIGNS`. `bar_ms`: a duration to be drawn as a bar. `words`:
    what was said, shown as far as there is room. `score`: of this transition; `running`: of the call after it."""

    at_ms: int | None
    who: Style = ""
    sign: str = ""
    what: tuple[Bit, ...] = ()
    bar_ms: int | None = None
    words: str | None = None
    score: float | None = None
    running: float | None = None


def score_style(score: float) -> Style:
    """How a score in 0..1 looks: 0.75 and above is good, under 0.5 poor (the metric's own threshold)."""
    return "good" if score >= 0.75 else "fair" if score >= 0.5 else "poor"


def clock(ms: int) -> str:
    """Media time as `mm:ss.mmm`; minutes run on past 59."""
    return f"{ms // 60000:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


def meter(share: float, cells: int) -> str:
    """A bar of `cells` cells, filled up to `share` (0..1) in eighths of a cell."""
    whole, rest = divmod(round(min(1.0, max(0.0, share)) * cells * 8), 8)
    return (_FULL * whole + _EIGHTHS[rest].strip()).ljust(cells)


@lru_cache(maxsize=8)
def plainer(encoding: str) -> dict[int, str]:
    """For `str.translate`: plainer characters for those of ours that `encoding` does not have."""
    return {ord(sign): plain for sign, plain in _PLAINER.items() if not _holds(encoding, sign)}


def _holds(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    except LookupError:
        return character.isascii()
    return True
