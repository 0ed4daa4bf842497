"""Deliveries that the monitor lost: the client played something that is not known, which is not silence."""

from __future__ import annotations

from connectors import inputs
from connectors.inputs import Cut, Elapsed, Stall
from tests.builders import of, transitions_of, turns_of, voice, watch

CALLER_MS = 12_000
TRACKS = {"caller": inputs.TrackFormat("pcm", 8000), "agent": inputs.TrackFormat("pcm", 8000, "delivered")}
POLICY = inputs.PlayoutPolicy("immediate", buffer_ms=0)


def call(*agent: inputs.Input, caller: tuple[int, int] = (500, 1500)) -> list[inputs.Input]:
    """The caller speaks from `caller`[0] to [1]; the agent's part comes as given, the clock every 100 ms."""
    start, end = caller
    pcm = bytes(16 * start) + voice(end - start) + bytes(16 * (CALLER_MS - end))
    timed: list[tuple[int, int, inputs.Input]] = [(at, 1, Elapsed(at)) for at in range(0, CALLER_MS + 1, 100)]
    timed += [(at, 0, inputs.Audio("caller", at, pcm[16 * at : 16 * at + 1600])) for at in range(0, CALLER_MS, 100)]
    timed += [(one.at, 2, one) for one in agent]  # type: ignore[attr-defined]
    timed.sort(key=lambda one: one[:2])
    begun = inputs.CallStarted("call", "test", tracks=TRACKS, playout=POLICY)
    return [begun, *(given for _, _, given in timed), inputs.CallEnded(CALLER_MS, "hangup")]


def test_a_reply_that_was_lost_is_no_dead_air_and_no_late_answer() -> None:
    lost = call(Stall("agent", 2000, 8000), inputs.Audio("agent", 2500, voice(1500)))
    silent = call(inputs.Audio("agent", 8000, voice(1500)))
    assert turns_of(watch(lost)) == turns_of(watch(silent)) == [("user", 500, 1500), ("assistant", 8000, 9500)]
    assert transitions_of(watch(silent)) == [("gap", 6500)]
    assert transitions_of(watch(lost)) == [], "what follows what was lost is heard behind it, and is not charged"
    assert watch(silent)[-1].summary["dead_air"]["count"] == 1  # type: ignore[attr-defined]
    assert watch(lost)[-1].summary["dead_air"]["count"] == 0  # type: ignore[attr-defined]


def test_a_loss_in_the_midst_of_a_reply_ends_its_turn_as_a_stall() -> None:
    events = watch(call(inputs.Audio("agent", 2000, voice(1000)), Stall("agent", 2100, 4100)))
    (turn,) = [event.turn for event in of(events, "turn.ended") if event.turn.role == "assistant"]
    assert (turn.start_ms, turn.end_ms, turn.ended_by) == (2000, 3000, "stall")


def test_a_cut_silences_what_was_lost_as_it_does_all_that_is_queued() -> None:
    events = watch(
        call(
            Stall("agent", 2000, 9000), Cut("agent", 3000), inputs.Audio("agent", 4000, voice(1500)), caller=(500, 3200)
        )
    )
    assert turns_of(events) == [("user", 500, 3200), ("assistant", 4000, 5500)]
