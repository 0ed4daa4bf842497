"""What goes wrong with the feed is counted and told: once for each thing, not for each piece of audio."""

from __future__ import annotations

import pytest

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.feed_health import TELL_EVERY_MS, FeedHealth
from monitor.core.framing import Framer
from monitor.core.lockstep import Lane
from monitor.core.speech import SpeechSettings
from monitor.core.track_frames import TrackFrames
from tests.builders import call, even, noise, of, sound, speech, started, watch


class Deaf:
    """A detector that hears no voice."""

    def voiced(self, pcm: bytes) -> bytes:
        return bytes(len(pcm) // 320)

    def reset(self) -> None:
        pass


def lane() -> Lane:
    return Lane(Framer(8000), TrackFrames(8000, SpeechSettings(), Deaf()))


def test_damage_of_a_kind_is_told_at_once_and_then_every_five_seconds_with_its_count() -> None:
    health = FeedHealth()
    told = []
    for now in range(0, 3 * TELL_EVERY_MS, 1000):
        health.bad("caller")
        told += [(now, trouble.many) for trouble in health.due(now, {})]
    assert told == [(0, 1), (5000, 5), (10000, 5)]
    assert [trouble.many for trouble in health.rest(15000, {})] == [4]
    assert health.rest(15000, {}) == []


def test_late_audio_is_told_in_ms() -> None:
    health, track = FeedHealth(), lane()
    track.audio(0, noise(200, 500, 1))
    track.audio(40, noise(60, 500, 2))
    (trouble,) = health.due(1000, {"caller": track})
    assert (trouble.kind, trouble.track, trouble.many) == ("late_audio", "caller", 60)
    assert track.framer.late_ms == 0


def test_an_impossible_time_stamp_is_told_as_a_bad_payload() -> None:
    health, track = FeedHealth(), lane()
    track.audio(0, noise(20, 500, 1))
    track.audio(10_000_000, noise(20, 500, 1))
    assert [t.kind for t in health.due(1000, {"agent": track})] == ["bad_payload"]


def test_an_outage_is_told_when_it_begins_and_when_it_is_over() -> None:
    health = FeedHealth()
    health.stalled("caller", 2500, 2600)
    health.stalled("caller", 2600, 9000)
    (begun,) = health.due(3000, {})
    assert (begun.kind, begun.at) == ("gap", 2500)
    assert "2.500 s" in begun.message
    health.resumed("caller", 9400)
    (over,) = health.due(10000, {})
    assert (over.kind, over.at) == ("feed_back", 9400)
    assert "6.900 s" in over.message
    health.resumed("caller", 9500)
    assert health.due(20000, {}) == []


def notices(tape: list[inputs.Input]) -> list[tuple[str, str | None, int]]:
    return [(event.kind, event.track, event.count) for event in of(watch(tape), "notice")]


def test_on_a_call_each_kind_of_damage_reaches_the_events_and_the_summary() -> None:
    tape = call(speech("caller", 1000, 3000), length=4000)
    late = inputs.Audio("caller", 400, noise(20, 500, 1))
    odd = inputs.Audio("agent", 1500, b"\x01\x02\x03")
    wide = inputs.Audio("agent", 1500, noise(20, 500, 1), rate=16000)
    damaged = [*tape[:300], late, odd, wide, *tape[300:]]
    assert notices(damaged) == [("late_audio", "caller", 20), ("bad_payload", "agent", 2)]
    assert watch(damaged)[-1].summary["notices"] == {"late_audio": 20, "bad_payload": 2}  # type: ignore[attr-defined]


def test_audio_of_a_track_that_the_call_does_not_have_is_told() -> None:
    tape = [
        started(tracks=("caller",)),
        inputs.Audio("agent", 0, noise(20, 500, 1)),
        inputs.CallEnded(1000, "hangup"),
    ]
    assert notices(tape) == [("bad_payload", "agent", 1)]


@pytest.mark.parametrize("times", [1, 3])
def test_damage_changes_no_turn(times: int) -> None:
    tape = call(speech("caller", 1000, 3000), speech("agent", 3600, 5000))
    bad = [inputs.Audio("caller", 1200, b"x" * 321), inputs.Audio("caller", 0, noise(20, 9000, 4))] * times
    damaged = [*tape[:250], *bad, *tape[250:]]
    assert of(watch(damaged), "turn.ended") != []
    assert [e.turn for e in of(watch(damaged), "turn.ended")] == [e.turn for e in of(watch(tape), "turn.ended")]


def test_a_track_ten_minutes_behind_the_other_is_not_waited_for() -> None:
    length = 605_000
    caller = sound([speech("caller", 1000, 3000)], 4000)["caller"] + noise(1000, 2, 5) * 601
    tape = [started(), *even("caller", caller, 1000), *even("agent", noise(1000, 2, 5), 1000)]
    events = watch([*tape, inputs.CallEnded(length, "end_of_file")])
    assert ("overload", "agent") in {(e.kind, e.track) for e in of(events, "notice")}
    assert len(of(events, "turn.ended")) == 1
    assert set(TRACKS) == {"caller", "agent"}
