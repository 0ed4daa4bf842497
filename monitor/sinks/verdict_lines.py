"""What the judge of relevancy says, as lines of the feed: a "no" stands out with its reason, the rest is quiet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.core import events
from monitor.sinks.literal import literal
from monitor.sinks.screen_line import Bit, Line, score_style

_REASON = 240


def verdict_lines(event: events.RelevancyJudged, words: str | None) -> list[Line]:
    """`relevancy.judged`. `words`: what was said in the turn, as far as that is remembered."""
    at, score = event.at_ms, event.relevancy.score
    running = () if score is None else (Bit("  relevancy ", "dim"), Bit(f"{score:.2f}", "dim"))
    reason = f": {literal(event.reason, _REASON)}" if event.reason else ""
    match event.verdict:
        case "yes":
            return [Line(at, "agent", "yes", (Bit("to the point", "dim"), *running))]
        case "no":
            return [Line(at, "agent", "no", (Bit(f"beside the point{reason}", "poor"), *running), words=words)]
        case _:
            return [Line(at, "agent", "small", (Bit(f"not judged{reason}", "dim"),))]


def conversation_lines(event: events.RelevancyScored) -> list[Line]:
    """`relevancy.scored`."""
    reason = f": {literal(event.reason, _REASON)}" if event.reason else ""
    if event.score is None:
        return [Line(event.at_ms, "agent", "small", (Bit(f"conversation not judged{reason}", "dim"),))]
    sure = "" if event.confidence is None else f", confidence {event.confidence:.2f}"
    bits = (Bit("relevancy of the conversation "), Bit(f"{event.score:.2f}", score_style(event.score)))
    return [Line(event.at_ms, "agent", "yes" if event.score >= 0.5 else "no", (*bits, Bit(f"{sure}{reason}", "dim")))]


def standing_bits(state: events.Relevancy | None, awaited: int, closing: bool) -> list[Bit]:
    """The status line's part: the running score, how many answers it rests on, and what is awaited."""
    bits: list[Bit] = []
    if state is not None and state.score is not None:
        counts = f" {state.judged}/{state.assistant_turns}"
        bits += [Bit("  relevancy ", "dim"), Bit(f"{state.score:.2f}", score_style(state.score)), Bit(counts, "dim")]
    if awaited:
        last = "last " if closing else ""
        bits.append(Bit(f"  {last}{awaited} verdict{'s' if awaited != 1 else ''} awaited", "dim"))
    return bits


_NOT_ASKED = {
    "no_words": "without words",
    "interaction": "not the last of an interaction",
    "too_many": "beyond what is kept",
}


def summary_bits(relevancy: Mapping[str, Any]) -> tuple[Bit, ...]:
    """The summary's part behind the score: what it rests on, and what it took. Where most turns have no verdict, that
    stands out."""

    def number(name: str) -> int:
        return relevancy.get(name) or 0

    judged, unscored, relevant = number("judged"), number("unscored"), relevancy.get("relevant")
    answers = f"{judged} answer{'s' if judged != 1 else ''}"
    told = [f"over {answers}" if relevant is None else f"{relevant:g} of {answers} to the point"]
    skipped = relevancy.get("not_asked") or {}
    if not judged:
        told = [] if unscored or skipped else ["no answer whose words are known"]
    bits = [Bit(f"  {' · '.join(told)}", "dim")] if told else []
    if unscored:
        bits.append(Bit(f"{' ·' if told else ' '} {unscored} not judged", "fair" if unscored > judged else "dim"))
    told = [
        f"{count} not asked about, {_NOT_ASKED.get(why, literal(str(why), 40))}"
        for why, count in skipped.items()
        if count
    ]
    if number("requests"):
        told.append(f"{number('requests')} request{'s' if number('requests') != 1 else ''}")
    tokens = relevancy.get("tokens") or {}
    if total := (tokens.get("input") or 0) + (tokens.get("output") or 0):
        cost = relevancy.get("cost_usd")
        told.append(f"{total:,} tokens" + ("" if cost is None else f", ${cost:.4f}"))
    if told:
        bits.append(Bit(f"{' ·' if bits else ' '} {' · '.join(told)}", "dim"))
    return tuple(bits)


def transcription_bits(transcription: Mapping[str, Any]) -> tuple[Bit, ...]:
    """The summary's part on the transcriber; empty where it was not asked."""

    def number(name: str) -> float:
        return transcription.get(name) or 0

    if not number("turns") and not number("lost"):
        return ()
    told = [f"{number('worded'):g} of {number('turns'):g} turn{'s' if number('turns') != 1 else ''} with words"]
    if number("lost"):
        told.append(f"{number('lost'):g} without sound")
    if number("requests"):
        cost = transcription.get("cost_usd")
        told.append(f"{number('seconds'):.1f} s of sound" + (f", ${cost:.4f}" if cost else ""))
    return (Bit(" · ".join(told)),)
