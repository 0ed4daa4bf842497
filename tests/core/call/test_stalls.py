"""Audio that stops coming is unknown, not silence: turns end, nobody is blamed, and the call goes on."""

from __future__ import annotations

import pytest

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.call import CallMonitor, CoreSettings
from monitor.detectors import new_detector
from tests.builders import even, noise, of, sound, speech, started, transitions_of, turns_of, voice, watch
from tests.core.call.live_feed import as_it_comes


def test_a_turn_ends_soon_after_its_audio_stops_although_the_other_track_goes_on() -> None:
    """B15: the caller's frames stop in the middle of a word; the agent keeps talking."""
    said = speech("caller", 1000, 8000), speech("agent", 3000, 19000)
    tape = as_it_comes(said, 20_000, silent_from={"caller": 2500})
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    ended: list[tuple[int, object]] = []
    clock = 0
    for given in tape:
        clock = given.at if isinstance(given, inputs.Elapsed) else clock
        ended += [(clock, event) for event in of(monitor.feed(given), "turn.ended")]
    when, event = ended[0]
    assert (event.turn.role, event.turn.start_ms, event.turn.end_ms) == ("user", 1000, 2500)  # type: ignore[attr-defined]
    assert event.turn.ended_by == "stall"  # type: ignore[attr-defined]
    assert when <= 2500 + 2500


def test_the_outage_is_told_while_it_lasts() -> None:
    tape = as_it_comes([speech("caller", 1000, 2400)], 12_000, silent_from={"caller": 2500}, back_at={"caller": 9000})
    notices = of(watch([*tape, inputs.CallEnded(12_000, "hangup")]), "notice")
    assert [(n.kind, n.track, n.at_ms) for n in notices] == [("gap", "caller", 2500), ("feed_back", "caller", 9000)]
    assert notices[0].known_at_ms <= 4500


@pytest.mark.parametrize(("clock", "back"), [(3550, 2540), (4500, 3500)])
def test_a_track_that_comes_back_exactly_as_late_as_was_given_up_is_back_from_its_first_piece_on(
    clock: int, back: int
) -> None:
    pcm = noise(20, 2, 3)
    tape: list[inputs.Input] = [started()]
    tape += [inputs.Audio("caller", at, pcm) for at in range(0, 2500, 20)]
    tape += [inputs.Audio("agent", at, pcm) for at in range(0, clock, 20)]
    tape += [inputs.Elapsed(clock), *(inputs.Audio("caller", at, pcm) for at in range(back, 4500, 20))]
    notices = of(watch([*tape, inputs.CallEnded(6000, "hangup")]), "notice")
    assert [(n.kind, n.at_ms) for n in notices] == [("gap", 2500), ("feed_back", back)]


def test_no_gap_is_charged_to_anybody_across_an_outage() -> None:
    """B46: the socket drops at 20 s and is back at 28; the caller speaks a second later."""
    said = speech("agent", 17_000, 19_500), speech("caller", 29_000, 30_000), speech("agent", 30_800, 32_000)
    gone = dict.fromkeys(TRACKS, 20_000)
    tape = as_it_comes(said, 34_000, silent_from=gone, back_at=dict.fromkeys(TRACKS, 28_000))
    events = watch([*tape, inputs.CallEnded(34_000, "hangup")])
    assert turns_of(events) == [("assistant", 17_000, 19_500), ("user", 29_000, 30_000), ("assistant", 30_800, 32_000)]
    assert [t.turn.after_stall for t in sorted(of(events, "turn.ended"), key=lambda e: e.turn.index)] == [
        False,
        True,
        False,
    ]
    assert transitions_of(events) == [("gap", 800)]
    assert events[-1].summary["turn_taking"]["score_all_turns"] is not None  # type: ignore[attr-defined]


def test_a_short_outage_of_both_tracks_is_not_taken_for_a_long_one() -> None:
    said = speech("agent", 1000, 4900), speech("caller", 5800, 7000)
    tape: list[inputs.Input] = [started()]
    for piece in as_it_comes(said, 9000)[1:]:
        if isinstance(piece, inputs.Audio) and 5000 <= piece.at < 5600:
            if piece.at % 100 == 0:
                tape.append(inputs.Stall(piece.track, piece.at, piece.at + 100))
        else:
            tape.append(piece)
    assert transitions_of(watch([*tape, inputs.CallEnded(9000, "hangup")])) == [("gap", 900)]


@pytest.mark.parametrize("missing", [1100, 1500, 2600])
def test_an_outage_is_unknown_to_its_end_and_not_only_to_a_second_before_it(missing: int) -> None:
    """The clock gives a track up a second late; what it missed in that second is no silence either."""
    said = speech("agent", 1000, 4900), speech("caller", 5200 + missing, 6800 + missing)
    back = dict.fromkeys(TRACKS, 5000 + missing)
    tape = as_it_comes(said, 12_000, silent_from=dict.fromkeys(TRACKS, 5000), back_at=back)
    events = watch([*tape, inputs.CallEnded(12_000, "hangup")])
    assert turns_of(events) == [("assistant", 1000, 4900), ("user", 5200 + missing, 6800 + missing)]
    assert [event.turn.after_stall for event in of(events, "turn.ended")] == [False, True]
    assert transitions_of(events) == []


def test_a_short_loss_inside_speech_is_bridged_where_the_transport_says_so() -> None:
    heard = sound([speech("caller", 1000, 4000)], 6000)
    tape: list[inputs.Input] = [started()]
    for caller, agent in zip(even("caller", heard["caller"]), even("agent", heard["agent"]), strict=True):
        if 2000 <= caller.at < 2240:
            if caller.at == 2000:
                tape.append(inputs.Stall("caller", 2000, 2240))
        else:
            tape.append(caller)
        tape.append(agent)
    assert turns_of(watch([*tape, inputs.CallEnded(6000, "hangup")])) == [("user", 1000, 4000)]


def test_a_stall_that_says_nothing_new_changes_nothing() -> None:
    heard = sound([speech("caller", 1000, 4000)], 6000)
    tape = [started(), *even("caller", heard["caller"], 1000), *even("agent", heard["agent"], 1000)]
    end = inputs.CallEnded(6000, "hangup")
    late = [inputs.Stall("caller", 500, 900), inputs.Stall("caller", 3000, 2000)]
    assert turns_of(watch([*tape, *late, end])) == turns_of(watch([*tape, end])) == [("user", 1000, 4000)]


def test_a_sender_that_sends_nothing_in_silence_keeps_its_times() -> None:
    """B36: speech to 2 s, then the next packet says 6 s."""
    tape = [
        started(tracks=("caller",)),
        *even("caller", noise(500, 2, 1) + voice(1500)),
        *[
            inputs.Audio("caller", 6000 + piece.at, piece.pcm)
            for piece in even("caller", voice(1000) + noise(1500, 2, 2))
        ],
        inputs.CallEnded(8500, "hangup"),
    ]
    assert turns_of(watch(tape)) == [("user", 500, 2000), ("user", 6000, 7000)]
