"""Lines of the feed as text: plain for files and pipes, in columns and colours for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.sinks.literal import literal
from monitor.sinks.screen_line import BAR, SIGNS, Bit, Line, Style, clock, meter, score_style

if TYPE_CHECKING:
    from rich.console import Console

TAG_CELLS = 12
_BAR_MS = 500
_BAR_CELLS = 14
_WHAT_CELLS = 46
_METER_CELLS = 10
_SCORES_CELLS = 20
"""` 0.72   call 0.81` and a margin."""
_LEAST_WORDS = 12
_WORDS = 400

_COLOURS: dict[Style, str] = {
    "": "",
    "dim": "dim",
    "strong": "bold",
    "call": "bold",
    "fleet": "bold",
    "caller": "bold cyan",
    "agent": "bold magenta",
    "good": "green",
    "fair": "yellow",
    "poor": "bold red",
    "notice": "yellow",
    "words": "italic",
    "info": "bold cyan",
    "warning": "bold black on yellow",
    "critical": "bold white on red",
}
_TAG_COLOURS = ("blue", "green", "bright_blue", "yellow", "bright_cyan", "bright_magenta", "bright_green", "red")


class Tag(NamedTuple):
    """How a call is told from others: a short name, and a number for its colour."""

    text: str
    number: int


def tag_of(call: str, number: int) -> Tag:
    """Ids of calls often begin alike, so of a long one the end is kept."""
    name = literal(call, 60)
    return Tag(name if len(name) <= TAG_CELLS else f"{name[:3]}…{name[4 - TAG_CELLS :]}", number)


def plain(line: Line, tag: Tag | None) -> str:
    """One line without colours, columns only as far as they cost nothing."""
    if line.at_ms is None:
        head = " " * 10
    else:
        head = f"{clock(line.at_ms)}  {line.who:<6}  {SIGNS[line.sign]} "
    mark = f"{tag.text}  " if tag else ""
    text = "".join(bit.text for bit in line.what)
    if line.bar_ms is not None:
        text = f"spoke {text}"
    if line.words:
        text = f"{text}: “{literal(line.words, _WORDS)}”"
    scores = [
        f"{name} {value:.2f}" for name, value in (("score", line.score), ("call", line.running)) if value is not None
    ]
    return f"{mark}{head}{text}{'  ' if scores else ''}{', '.join(scores)}".rstrip()


class Drawing:
    """Draws for a terminal of the width that `console` has at that moment."""

    def __init__(self, console: Console) -> None:
        from rich.cells import cell_len, set_cell_size
        from rich.color import ColorSystem
        from rich.style import Style as RichStyle

        systems = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
        self._console = console
        self._cells, self._fit = cell_len, set_cell_size
        self._system = None if console.no_color else systems.get(console.color_system or "")
        self._styles = {name: RichStyle.parse(value) for name, value in _COLOURS.items()}
        self._tags = [RichStyle.parse(f"bold {value}") for value in _TAG_COLOURS]

    @property
    def width(self) -> int:
        """Cells in a row at this moment."""
        return max(1, self._console.width)

    def paint(self, text: str, style: Style) -> str:
        """`text` with the codes of its colour around it, if there are colours."""
        return self._styles[style].render(text, color_system=self._system) if style and text else text

    def tag(self, tag: Tag) -> str:
        """A call's name in its own colour, as a column."""
        colour = self._tags[tag.number % len(self._tags)]
        return colour.render(self._fit(tag.text, TAG_CELLS), color_system=self._system)

    def line(self, line: Line, tag: Tag | None) -> str:
        """One line. It is wrapped by the terminal only where it is too narrow for the columns themselves."""
        width = self.width
        head, used = self._head(line, tag, width)
        bits = list(line.what)
        if line.bar_ms is not None:
            bar = BAR * min(_BAR_CELLS, max(1, round(line.bar_ms / _BAR_MS)))
            bits = [Bit(bar, line.who), Bit(" "), *bits]
        text, cells = self._bits(bits)
        room = width - used - cells
        if line.words:
            between = "  " if room >= _LEAST_WORDS else "\n  "
            words = self.fit(literal(line.words, _WORDS), (room if room >= _LEAST_WORDS else width) - 4)
            return f"{head}{text}{between}{self.paint(f'“{words}”', 'words')}"
        if line.score is None and line.running is None:
            return head + text
        if room < 6:
            return head + text
        pad = " " * max(2, min(_WHAT_CELLS - cells, room - _SCORES_CELLS))
        return f"{head}{text}{pad}{self._scores(line, wide=room >= _SCORES_CELLS)}"

    def _head(self, line: Line, tag: Tag | None, width: int) -> tuple[str, int]:
        mark, used = (f"{self.tag(tag)} ", TAG_CELLS + 1) if tag else ("", 0)
        if line.at_ms is None:
            indent = 11 if width >= 60 and not tag else 2
            return mark + " " * indent, used + indent
        at = clock(line.at_ms)
        sign_style: Style = line.who if line.sign in ("turn", "gap", "small") else "notice"
        if line.sign == "alert" and line.what:
            sign_style = line.what[0].style
        # A turn's bar says what the sign would say.
        sign = "" if line.bar_ms is not None else self.paint(SIGNS[line.sign], sign_style) + " "
        who = self.paint(f"{line.who:<6}", line.who)
        return f"{mark}{self.paint(at, 'dim')}  {who}  {sign}", used + len(at) + 10 + (2 if sign else 0)

    def _bits(self, bits: list[Bit], room: int | None = None) -> tuple[str, int]:
        out, cells = "", 0
        for bit in bits:
            text = bit.text if bit.meter is None else f"{bit.text} {meter(bit.meter, _METER_CELLS)}"
            if room is not None and cells + self._cells(text) > room:
                text = self.fit(text, room - cells)
            out += self.paint(text, bit.style)
            cells += self._cells(text)
        return out, cells

    def _scores(self, line: Line, wide: bool) -> str:
        one = f"{line.score:.2f}" if line.score is not None else "    "
        call = f"{line.running:.2f}" if line.running is not None else ""
        styled = self.paint(call, score_style(line.running)) if line.running is not None else ""
        if not wide:
            return styled
        return f"{self.paint(one, score_style(line.score or 0.0))}   {self.paint('call', 'dim')} {styled}"

    def fit(self, text: str, room: int) -> str:
        """`text` in at most `room` cells, with `…` where it was shortened."""
        if self._cells(text) <= room:
            return text
        return self._fit(text, room - 1).rstrip() + "…" if room > 1 else ""

    def status(self, bits: list[Bit]) -> str:
        """The status line: never wider than the terminal, which could not take it back then."""
        return self._bits(bits, self.width - 1)[0]
