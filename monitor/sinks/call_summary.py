"""The summary of a call that is over, as a few lines that can be read at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from monitor.sinks.literal import literal
from monitor.sinks.screen_line import Bit, Line, Style, score_style
from monitor.sinks.verdict_lines import summary_bits, transcription_bits

LABEL_WIDTH = 15
_KINDS = {
    "gap": ("gap", "gaps"),
    "user_barge_in": ("caller barge-in", "caller barge-ins"),
    "agent_overlap": ("agent overlap", "agent overlaps"),
}


def summary_lines(summary: Mapping[str, Any]) -> list[Line]:
    """One line for each part of a summary (see `call.ended`) that says something. A figure that is None is a dash."""
    return [Line(None, "", "", (Bit(label.ljust(LABEL_WIDTH), "dim"), *bits)) for label, bits in _rows(summary)]


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Bit, ...]]]:
    def part(name: str) -> Mapping[str, Any]:
        found = summary.get(name)
        return found if isinstance(found, Mapping) else {}

    taking = part("turn_taking")
    yield "turn-taking", (*_score(taking.get("score")), Bit(_kinds(taking), "dim"))
    turns, talk = part("turns"), part("talk")
    yield "turns", _people(f"{_figure(turns.get('user'))}", f"{_figure(turns.get('assistant'))}")
    if talk:
        both = f" · both {_time(talk.get('overlap'))} · nobody {_time(talk.get('silence'))}"
        yield "talk", (*_people(_time(talk.get("user")), _time(talk.get("assistant"))), Bit(both, "dim"))
    response = part("response_time")
    if response.get("count"):
        slowest = _time(response.get("max"), 2)
        text = (
            f"{_time(response.get('p50'), 2)} in the middle, {_time(response.get('p95'), 2)} at p95, slowest {slowest}"
        )
        yield "agent answers", (Bit(text),)
    barge = part("barge_in")
    if any(barge.get(key) for key in ("user", "agent", "backchannels")):
        caller, agent = _figure(barge.get("user")), _figure(barge.get("agent"))
        rest = f" · backchannels {_figure(barge.get('backchannels'))}"
        if barge.get("yield_p50") is not None:
            rest += f" · agent gives way in {_time(barge['yield_p50'], 2)}"
        yield "barge-ins", (*_people(caller, agent), Bit(rest, "dim"))
    if bad := list(_troubles(summary)):
        yield "trouble", (Bit(" · ".join(bad), "fair"),)
    relevancy = part("relevancy")
    if relevancy:
        few = (relevancy.get("unscored") or 0) > (relevancy.get("judged") or 0)
        yield "relevancy", (*_score(relevancy.get("score"), "fair" if few else None), *summary_bits(relevancy))
    if bits := transcription_bits(part("transcription")):
        yield "transcriber", bits
    styles: dict[str, Style] = {"alerts": "poor", "notices": "notice"}
    for name, style in styles.items():
        if counts := part(name):
            told = " · ".join(f"{literal(str(key), 40)} {count}" for key, count in counts.items())
            yield name, (Bit(told, style),)


def _troubles(summary: Mapping[str, Any]) -> Iterator[str]:
    def count(name: str) -> int:
        found = summary.get(name)
        return (found.get("count") if isinstance(found, Mapping) else None) or 0

    if number := count("dead_air"):
        yield f"dead air {number}× ({_time(summary['dead_air'].get('total'))})"
    if number := count("unanswered"):
        yield f"left unanswered {number}×"
    if number := count("false_interruptions"):
        yield f"interrupted for nothing {number}×"


def _score(score: float | None, style: Style | None = None) -> tuple[Bit, ...]:
    """`style`: in place of the one that praises or blames."""
    if score is None:
        return (Bit("no score", "dim"),)
    return (Bit(f"{score:.2f}", style or score_style(score), meter=score),)


def _people(caller: str, agent: str) -> tuple[Bit, ...]:
    return (Bit("caller ", "caller"), Bit(caller), Bit(" · ", "dim"), Bit("agent ", "agent"), Bit(agent))


def _kinds(taking: Mapping[str, Any]) -> str:
    transitions = taking.get("transitions") or 0
    kinds = taking.get("kinds") or {}
    told = [f"{n} {_KINDS.get(kind, (kind, kind))[n != 1]}" for kind, n in kinds.items() if n]
    return f"  {transitions} transition{'' if transitions == 1 else 's'}" + (f": {', '.join(told)}" if told else "")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _time(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f} s"
