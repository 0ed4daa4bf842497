"""The calls of a history for people: a table, and one call after the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import StringIO
from typing import Any

from monitor.sinks.history.details import details
from monitor.sinks.history.reading import Call, History
from monitor.sinks.literal import literal
from monitor.sinks.output import Output
from monitor.sinks.screen_line import clock

_HEAD = (
    "when", "call", "agent", "length", "turns", "score", "answers p50/p95", "barge-ins", "relevancy", "alerts", "cause"
)  # fmt: skip
_RIGHT = frozenset(("length", "turns", "score", "answers p50/p95", "barge-ins", "relevancy"))
_LESS = ("turns", "agent", "answers p50/p95", "barge-ins", "relevancy", "score")
"""What is left out on a narrow terminal, the first first."""
_FOLDED = {"call": 20, "agent": 16, "alerts": 10}
"""What goes on in the next line where there is no room, and how much it needs at least."""
_DASH = "–"
_OPEN = {"running": "still open", "unfinished": "open when the monitor stopped", "ended": "open when the call ended"}
"""What is said of an alert that was not cleared, by the state of its call."""


def show_table(calls: Sequence[Call], output: Output) -> None:
    """One line a call: drawn on a terminal, plain columns elsewhere. Words from outside are shown as they are."""
    rows = [_row(call) for call in calls]
    if not rows:
        return
    if output.terminal and os.environ.get("TERM") != "dumb":
        output.write(_drawn(rows, shutil.get_terminal_size().columns))
        return
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    for row in (_HEAD, *rows):
        cells = (
            cell.rjust(width) if name in _RIGHT else cell.ljust(width)
            for name, cell, width in zip(_HEAD, row, widths, strict=True)
        )
        output.write("  ".join(cells).rstrip() + "\n")


def _drawn(rows: Sequence[Sequence[str]], width: int) -> str:
    """Of the columns that say anything, as many as there is room for."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = _fitting(rows, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in shown:
        table.add_column(
            name, justify="right" if name in _RIGHT else "left", overflow="fold", no_wrap=name not in _FOLDED
        )
    for row in rows:
        cells = dict(zip(_HEAD, row, strict=True))
        table.add_row(*(Text(cells[name], _style(name, cells[name])) for name in shown))  # Text: no markup in it
    page = StringIO()
    Console(file=page, force_terminal=True, legacy_windows=False, width=width, highlight=False).print(table)
    return page.getvalue()


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    room = {
        name: max(map(len, (name, *column)))
        for name, *column in zip(_HEAD, *rows, strict=True)
        if name not in _LESS or set(column) != {_DASH}
    }
    for name in _FOLDED:
        if name in room:
            room[name] = min(room[name], _FOLDED[name])
    for name in _LESS:
        if sum(room.values()) + 2 * len(room) > width:
            room.pop(name, None)
    return list(room)


def _style(name: str, cell: str) -> str:
    if name == "alerts" and cell != _DASH:
        return "bold red" if "critical" in cell else "yellow"
    return {"running": "green", "unfinished": "yellow"}.get(cell, "") if name == "cause" else ""


def _row(call: Call) -> tuple[str, ...]:
    p50, p95 = (call.figure("response_time", key) for key in ("p50", "p95"))
    barge_ins = call.figure("barge_in", "user")
    return (
        _when(call.begun_at),
        literal(call.call, 80),
        literal(call.agent_id or _DASH, 40),
        _length(call.length_ms),
        f"{call.user_turns}+{call.agent_turns}",
        _score(call.score),
        _DASH if p50 is None else f"{p50:.2f}/{p95:.2f} s" if p95 is not None else f"{p50:.2f} s",
        _DASH if barge_ins is None else str(barge_ins),
        _score(call.relevancy),
        _alerts(call),
        literal(call.cause or call.state, 20),
    )


def _alerts(call: Call) -> str:
    counts = [f"{count} {severity}" for severity, count in call.alerts.items() if count]
    return ", ".join(counts) or _DASH


def _when(at: int) -> str:
    """As this machine's clocks show it."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _length(ms: int) -> str:
    minutes, rest = divmod(round(ms / 1000), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def _score(score: float | None) -> str:
    return _DASH if score is None else f"{score:.2f}"


def show_each(calls: Sequence[Call], history: History, output: Output) -> None:
    """All that is known of each."""
    for number, call in enumerate(calls):
        lines = "\n".join(_page(call, details(history, call)))
        output.write(f"{chr(10) if number else ''}{lines}\n")


def _page(call: Call, known: dict[str, Any]) -> Iterator[str]:
    yield f"{literal(call.call, 200)}   {_when(call.begun_at)}   {literal(call.cause or call.state, 20)}"
    facts = [("source", call.source), ("agent", call.agent_id), ("site", call.site), *call.labels.items()]
    yield "   ".join(f"{literal(name, 40)} {literal(value, 200)}" for name, value in facts if value)
    row = dict(zip(_HEAD, _row(call), strict=True))
    yield "   ".join(f"{name} {row[name]}" for name in _HEAD[3:10])
    if call.missing:
        yield f"{call.missing} events of this call did not come to the history"
    verdicts = {turn: one for one in known["verdicts"] for turn in one["turns"] if one["verdict"] is not None}
    transitions = {one["to_turn"]: one for one in known["transitions"] if one["withdrawn"] is None}
    for turn in known["turns"]:
        yield _turn(turn, transitions.get(turn["index"]), verdicts.get(turn["index"]))
    for alert in known["alerts"]:
        until = _OPEN[call.state] if alert["until"] is None else f"until {_at(alert['until'])}"
        because = ", ".join(map(str, alert["because"]))
        turns = f" (turns {because})" if because else ""
        what = f"{alert['severity']} {literal(alert['rule'], 60)}: {literal(alert['message'], 400)}"
        yield f"alert  {_at(alert['since'])}  {what}{turns}, {until}"
    for notice in known["notices"]:
        what = f"{literal(notice['kind'], 40)}: {literal(notice['message'], 400)}"
        yield f"notice {_at(notice['at'])}  {what}"


def _turn(turn: dict[str, Any], transition: dict[str, Any] | None, verdict: dict[str, Any] | None) -> str:
    who = {"user": "caller", "assistant": "agent"}.get(turn["role"], _DASH)
    length = _DASH if turn["duration"] is None else f"{turn['duration']:.2f} s"
    marks = [name for name in ("backchannel", "interrupted") if turn[name]]
    if transition is not None and transition["kind"] is not None:
        marks.append(f"{transition['kind']} {transition['gap_seconds']:+.2f} s, {transition['score']:.2f}")
    if verdict is not None:
        reason = f" ({literal(verdict['reason'], 200)})" if verdict["reason"] else ""
        marks.append(f"relevant: {verdict['verdict']}{reason}")
    words = literal(turn["text"], 400) if turn["text"] else ""
    rest = "   ".join(part for part in (words, *(f"[{mark}]" for mark in marks)) if part)
    return f"{turn['index']:>5}  {_at(turn['start_time'])}  {who:<6}  {length:>8}  {rest}".rstrip()


def _at(time: float | None) -> str:
    return _DASH if time is None else clock(round(time * 1000))
