"""Turns, transitions and scores against the labels, with the default settings and Silero at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor import TurnTakingNaturalness
from monitor.core.events import CallEnded
from tests.accuracy.labelled import CALLS, HARD, figures, heard
from tests.builders import of

GOALS = [
    # turns P, R; onset median, p95; offset the same; kind; gap median, p95; backchannels P, R; barge-ins P, R; score
    pytest.param(
        [path for path in CALLS if not path.name.startswith(HARD)],
        (0.99, 1.00, 10, 100, 25, 150, 0.99, 30, 150, 1.00, 0.93, 0.92, 1.00, 0.015),
        id="without strong noise, babble, comfort noise and music",
    ),
    pytest.param(
        CALLS,
        (0.97, 0.97, 10, 100, 25, 150, 0.97, 25, 180, 0.97, 0.95, 0.95, 0.95, 0.015),
        id="all fourteen",
    ),
]


@pytest.mark.parametrize(("paths", "goal"), GOALS)
def test_the_timeline_is_as_true_as_the_goals_ask(paths: list[Path], goal: tuple[float, ...]) -> None:
    assert len(paths) >= 10
    found = figures(paths)
    at_least = {
        "turns P": (found["turns"]["precision"], goal[0]),
        "turns R": (found["turns"]["recall"], goal[1]),
        "kind": (found["transitions"]["kind_accuracy"], goal[6]),
        "backchannels P": (found["backchannels"]["precision"], goal[9]),
        "backchannels R": (found["backchannels"]["recall"], goal[10]),
        "barge-ins P": (found["user_barge_ins"]["precision"], goal[11]),
        "barge-ins R": (found["user_barge_ins"]["recall"], goal[12]),
    }
    at_most = {
        "onset median": (found["onset_ms"]["median"], goal[2]),
        "onset p95": (found["onset_ms"]["p95"], goal[3]),
        "offset median": (found["offset_ms"]["median"], goal[4]),
        "offset p95": (found["offset_ms"]["p95"], goal[5]),
        "gap median": (found["transitions"]["gap_ms"]["median"], goal[7]),
        "gap p95": (found["transitions"]["gap_ms"]["p95"], goal[8]),
        "score error": (found["turn_taking_error"]["stated"], goal[13]),
    }
    missed = {name: pair for name, pair in at_least.items() if pair[0] < pair[1]}
    assert not missed | {name: pair for name, pair in at_most.items() if pair[0] > pair[1]}


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_no_call_is_heard_badly(path: Path) -> None:
    turns = figures([path])["turns"]
    assert turns["precision"] >= 0.9
    assert turns["recall"] >= 0.9


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_a_turn_that_is_not_in_the_labels_is_less_sure_than_those_that_are(path: Path) -> None:
    ended = [event.turn for event in of(heard(path), "turn.ended")]
    assert all(0 < turn.sure <= 1 for turn in ended)
    music = [turn for turn in ended if turn.sure < 0.5]
    assert len(music) == path.name.startswith("13_")


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_the_summary_is_the_batch_metric_over_the_turns_told(path: Path) -> None:
    events = heard(path)
    ended = events[-1]
    assert isinstance(ended, CallEnded)
    turns = [event.turn for event in of(events, "turn.ended")]
    told = ended.summary["turn_taking"]
    without, plain = TurnTakingNaturalness(), TurnTakingNaturalness()
    without.measure([turn for turn in turns if not turn.backchannel])
    plain.measure(turns)
    assert told["score"] == pytest.approx(without.score, abs=1e-12)
    assert told["score_with_consistency"] == pytest.approx(without.score_with_consistency, abs=1e-12)
    assert told["score_all_turns"] == pytest.approx(plain.score, abs=1e-12)


@pytest.mark.parametrize("path", [p for p in CALLS if p.name.startswith(("03_", "04_", "10_"))], ids=lambda p: p.stem)
def test_a_barge_in_is_told_within_120_ms_of_its_first_voiced_frame(path: Path) -> None:
    first: dict[tuple[int, int], int] = {}
    for event in of(heard(path), "transition.scored"):
        key = (event.transition.from_turn, event.transition.to_turn)
        if event.transition.kind == "user_barge_in":
            first.setdefault(key, event.known_at_ms - event.at_ms)
    assert first
    assert max(first.values()) <= 120
