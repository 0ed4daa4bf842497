"""What holds of every call that is told, whatever came in: the event contract, and parity.

`check_stream` is asked of every stream of events in this folder. Parity: the scores of the summary are those of the
batch metric over the `turn.ended` events, to 1e-12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from monitor import TurnTakingNaturalness
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.core.turn_taking import transition_kind, transition_score

Line = Mapping[str, Any]
EXACT = 1e-12


def check_stream(events: Iterable[Event | Line]) -> None:
    """A whole call as it was told, as events or as the JSON objects of their lines."""
    lines = [msgspec.json.decode(encode(e)) if isinstance(e, Event) else e for e in events]
    check_envelopes(lines)
    turns = check_turns(lines)
    check_transitions(lines, turns)
    check_alerts(lines)
    check_summary(lines[-1]["summary"], lines, turns)


def check_envelopes(lines: list[Any]) -> None:
    """Numbered without holes, never back in time, from `call.started` to one `call.ended`."""
    assert lines, "a call that was never told"
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert {(line["v"], line["call"]) for line in lines} == {(1, lines[0]["call"])}
    assert [n for n, line in enumerate(lines) if line["type"] == "call.started"] == [0]
    assert [n for n, line in enumerate(lines) if line["type"] == "call.ended"] == [len(lines) - 1]
    for line in lines:
        assert 0 <= line["at"] <= line["known_at"]
        for time in (line["at"], line["known_at"]):
            assert time == round(time * 1000) / 1000, "a time is a multiple of 0.001"
    assert all(before["known_at"] <= after["known_at"] for before, after in pairwise(lines))


def check_turns(lines: list[Any]) -> list[Any]:
    """Every turn is announced once, in order of start, and ends once, with the start that it was announced with. ->
    the ended turns in order of index."""
    begun = [line["turn"] for line in lines if line["type"] == "turn.started"]
    over = sorted((line["turn"] for line in lines if line["type"] == "turn.ended"), key=lambda turn: turn["index"])
    assert [turn["index"] for turn in begun] == list(range(len(begun)))
    assert begun == sorted(begun, key=lambda turn: (turn["start_time"], turn["role"] == "assistant"))
    told = [{name: turn[name] for name in ("index", "role", "start_time")} for turn in over]
    assert told == begun, "each turn that started has ended, once"
    open_turns: set[int] = set()
    for line in lines:
        if line["type"] == "turn.started":
            open_turns.add(line["turn"]["index"])
            assert line["at"] == line["turn"]["start_time"]
        elif line["type"] == "turn.updated":
            assert line["turn"]["index"] in open_turns
            assert line["turn"]["duration"] >= 0
        elif line["type"] == "turn.ended":
            open_turns.remove(line["turn"]["index"])
            assert _ms(line["at"]) == _end(line["turn"])
    for turn in over:
        assert turn["duration"] > 0
        assert turn["ended_by"] in ("silence", "interruption", "stall", "call_end")
    for role in ("user", "assistant"):
        own = [turn for turn in over if turn["role"] == role]
        assert all(_end(before) <= _ms(after["start_time"]) for before, after in pairwise(own)), "nobody talks twice"
    return over


def check_transitions(lines: list[Any], turns: list[Any]) -> None:
    """What is final at the end is one transition for each change of speaker, with the gap of its turns; and the running
    score is the mean of what stands at that moment."""
    standing: dict[tuple[int, int], Any] = {}
    for line in lines:
        if not line["type"].startswith("transition."):
            continue
        transition = line["transition"]
        pair = transition["from_turn"], transition["to_turn"]
        assert not standing.get(pair, {"final": False})["final"], "what is final stands"
        if line["type"] == "transition.withdrawn":
            del standing[pair]
        else:
            standing[pair] = transition
        scores = [each["score"] for each in standing.values()]
        assert line["turn_taking"]["transitions"] == len(scores)
        mean = sum(scores) / len(scores) if scores else None
        assert line["turn_taking"]["score"] == (None if mean is None else pytest.approx(mean, abs=EXACT))
    spoken = [turn for turn in turns if not turn["backchannel"]]
    wanted = {}
    for before, after in pairwise(spoken):
        if before["role"] != after["role"] and not after.get("after_stall"):
            gap = (_ms(after["start_time"]) - _end(before)) / 1000
            kind = transition_kind(before["role"], after["role"], gap)
            pair = before["index"], after["index"]
            wanted[pair] = (kind, gap, transition_score(kind, gap), True)
    assert {
        pair: (each["kind"], each["gap_seconds"], each["score"], each["final"]) for pair, each in standing.items()
    } == wanted


def check_alerts(lines: list[Any]) -> None:
    """Every alert is raised once, again only when it gets worse, and cleared once, at the latest with the call; ids
    are stable and count up, and what it rests on has been told."""
    rank = ("info", "warning", "critical")
    open_alerts: dict[str, Any] = {}
    raised: Counter[str] = Counter()
    turns = 0
    for line in lines:
        turns += line["type"] == "turn.started"
        if not line["type"].startswith("alert."):
            continue
        alert = line["alert"]
        before = open_alerts.get(alert["id"])
        assert all(0 <= index < turns for index in alert["because"])
        if line["type"] == "alert.cleared":
            assert before is not None, "cleared, and not open"
            assert alert == before | {"until": alert["until"]}
            assert alert["until"] >= alert["since"]
            del open_alerts[alert["id"]]
        elif before is None:
            raised[alert["rule"]] += 1
            assert alert["id"] == f"{line['call']}/{alert['rule']}/{raised[alert['rule']]}"
            assert (alert["scope"], alert["since"]) == ("call", line["at"])
            assert alert["rule"] not in {one["rule"] for one in open_alerts.values()}, "one at a time of each rule"
            open_alerts[alert["id"]] = alert
        else:
            assert rank.index(alert["severity"]) > rank.index(before["severity"])
            assert alert["since"] == before["since"]
            open_alerts[alert["id"]] = alert
    assert not open_alerts, "open at the end of the call"
    assert lines[-1]["summary"]["alerts"] == dict(raised)


def check_summary(summary: Line, lines: list[Any], turns: list[Any]) -> None:
    """The figures at the end are those of the events before it."""
    spoken = [turn for turn in turns if not turn["backchannel"]]
    counts = Counter(turn["role"] for turn in spoken)
    assert summary["turns"] == {role: counts[role] for role in ("user", "assistant")}
    said = summary["turn_taking"]
    for name, chosen, figure in (
        ("score", spoken, "score"),
        ("score_with_consistency", spoken, "score_with_consistency"),
        ("score_all_turns", turns, "score"),
    ):
        metric = TurnTakingNaturalness()
        if chosen:
            metric.measure(chosen)
        wanted = getattr(metric, figure)
        assert said[name] == (None if wanted is None else pytest.approx(wanted, abs=EXACT)), name
    final = Counter(
        line["transition"]["kind"]
        for line in lines
        if line["type"] == "transition.scored" and line["transition"]["final"]
    )
    assert said["kinds"] == {kind: final[kind] for kind in ("gap", "user_barge_in", "agent_overlap")}
    assert said["transitions"] == sum(final.values())
    told: Counter[str] = Counter()
    for line in lines:
        if line["type"] == "notice":
            told[line["kind"]] += line["count"]
    assert summary["notices"] == dict(told)
    verdicts = Counter(line["verdict"] for line in lines if line["type"] == "relevancy.judged")
    if summary["relevancy"] is not None:
        relevancy, judged = summary["relevancy"], verdicts["yes"] + verdicts["no"]
        assert (relevancy["relevant"], relevancy["judged"]) == (verdicts["yes"], judged)
        assert relevancy["unscored"] == verdicts["unscored"]
        assert relevancy["score"] == (pytest.approx(verdicts["yes"] / judged, abs=EXACT) if judged else None)
    talk = summary["talk"]
    if None not in (talk["overlap"], talk["silence"]):
        whole = talk["user"] + talk["assistant"] - talk["overlap"] + talk["silence"] + talk["unknown"]
        assert whole == pytest.approx(summary["duration"], abs=0.02), "each moment is of one kind"
    for turn in turns:
        assert _end(turn) <= _ms(summary["duration"]) + 20, "nobody speaks after the call"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _end(turn: Any) -> int:
    return _ms(turn["start_time"]) + _ms(turn["duration"])
