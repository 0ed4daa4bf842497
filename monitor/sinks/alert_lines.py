"""Alerts, as lines of the feed: each stands out by its severity, says what to look at, and on which turns it rests."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from monitor.core.clock import seconds
from monitor.core.events import Alert
from monitor.core.rules import RANK
from monitor.sinks.literal import literal
from monitor.sinks.screen_line import Bit, Line, Style

MOST_OPEN: Final = 64
_TURNS_SHOWN = 8

ACROSS_CALLS: Final = "look at what has changed for this agent of late: its prompt, its voice, its end of turn"
"""Rules of a call say in their message what to look at; what is raised across calls rests on no turns of one."""


def severity_style(severity: str) -> Style:
    """How an alert of this severity looks."""
    return "critical" if severity == "critical" else "warning" if severity == "warning" else "info"


def worst(alerts: Collection[Alert]) -> Alert | None:
    """The one to look at first: of the highest severity, and of these the oldest; None where there is none."""
    return max(alerts, key=lambda alert: (RANK.get(alert.severity, 0), -alert.since_ms), default=None)


def raised_lines(at_ms: int, alert: Alert, before: Alert | None) -> list[Line]:
    """`alert.raised`. `before`: as it was raised already, with a lower severity."""
    style = severity_style(alert.severity)
    words = f"ALERT {literal(alert.severity, 20)}"
    if before is not None and before.severity != alert.severity:
        words += f" (was {literal(before.severity, 20)})"
    bits = [Bit(words, style), Bit(f" {literal(alert.rule, 40)}: ", "strong"), Bit(literal(alert.message))]
    if alert.suppressed:
        bits.append(Bit(f" (held back {alert.suppressed}× before)", "dim"))
    lines = [Line(at_ms, _who(alert), "alert", tuple(bits))]
    look = _turns(alert.because) or (ACROSS_CALLS if alert.scope == "fleet" and before is None else "")
    if look:
        lines.append(Line(None, "", "", (Bit(look),)))
    return lines


def cleared_lines(at_ms: int, alert: Alert) -> list[Line]:
    """`alert.cleared`."""
    bits = [Bit("alert over", "good"), Bit(f" {literal(alert.rule, 40)}", "strong")]
    if alert.until_ms is not None:
        bits.append(Bit(f" after {seconds(max(0, alert.until_ms - alert.since_ms)):.1f} s", "dim"))
    return [Line(at_ms, _who(alert), "yes", tuple(bits))]


def open_bits(alerts: Collection[Alert], *, short: bool) -> list[Bit]:
    """The status line's part; empty while no alert is open. `short`: among other calls, so only the worst one."""
    first = worst(alerts)
    if first is None:
        return []
    style, rule = severity_style(first.severity), literal(first.rule, 40)
    if short:
        more = f" +{len(alerts) - 1}" if len(alerts) > 1 else ""
        return [Bit(" "), Bit(f"! {rule}{more}", style)]
    others = sorted({literal(alert.rule, 40) for alert in alerts if alert.rule != first.rule})
    count = f"{len(alerts)} alert{'s' if len(alerts) != 1 else ''}"
    return [Bit("  "), Bit(f"! {count}: {', '.join([rule, *others])}", style)]


def rank(alerts: Collection[Alert]) -> int:
    """How pressing these alerts are: 0 where there is none, then by severity."""
    first = worst(alerts)
    return 0 if first is None else 1 + RANK.get(first.severity, 0)


def _who(alert: Alert) -> Style:
    return "fleet" if alert.scope == "fleet" else "call"


def _turns(because: tuple[int, ...]) -> str:
    """The last few of the turns that an alert rests on."""
    if not because:
        return ""
    shown = ", ".join(str(index) for index in because[-_TURNS_SHOWN:])
    before = f", and {len(because) - _TURNS_SHOWN} before" if len(because) > _TURNS_SHOWN else ""
    return f"it rests on turn{'s' if len(because) > 1 else ''} {shown}{before}"
