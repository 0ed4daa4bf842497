"""Rules that speak while something goes on: at the very media time at which it is so, and never of what is unknown."""

from __future__ import annotations

import pytest

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Event
from monitor.core.rules.settings import DeadAirSettings, RulesSettings
from monitor.detectors import new_detector
from tests.builders import call, of, speech, watch
from tests.core.call.live_feed import as_it_comes
from tests.pipeline.contract import check_stream


def alerts(events: list[Event], rule: str | None = None) -> list[tuple[str, str, str, int, int]]:
    """(rule, raised or cleared, severity, when it was true, when it could be said), in order."""
    check_stream(events)
    return [
        (e.alert.rule, e.type.removeprefix("alert."), e.alert.severity, e.at_ms, e.known_at_ms)
        for e in [e for e in events if e.type.startswith("alert.")]
        if rule in (None, e.alert.rule)  # type: ignore[attr-defined]
    ]


def test_dead_air_is_told_as_soon_as_it_is_longer_than_four_seconds_and_ends_with_a_word() -> None:
    said = speech("caller", 600, 1800), speech("agent", 2300, 5000), speech("agent", 11_000, 12_000)
    assert alerts(watch(call(*said))) == [
        ("dead_air", "raised", "warning", 9000, 9020),
        ("dead_air", "cleared", "warning", 11_000, 11_100),
    ]


def test_four_seconds_are_not_more_than_four() -> None:
    said = speech("caller", 600, 1800), speech("agent", 2300, 5000), speech("agent", 9000, 12_000)
    assert alerts(watch(call(*said))) == []


def test_long_dead_air_is_critical_under_the_same_id() -> None:
    events = watch(call(speech("agent", 600, 2000), speech("agent", 20_000, 21_000)))
    assert [one[1:4] for one in alerts(events)] == [
        ("raised", "warning", 6000),
        ("raised", "critical", 17_000),
        ("cleared", "critical", 20_000),
    ]
    assert {e.alert.id for e in of(events, "alert.raised")} == {"call/dead_air/1"}
    assert events[-1].summary["alerts"] == {"dead_air": 1}  # type: ignore[attr-defined]


def test_telephones_ring_before_the_first_word_but_not_for_ever() -> None:
    assert alerts(watch(call(speech("agent", 9000, 11_000)))) == []
    assert [one[1:] for one in alerts(watch(call(speech("agent", 12_000, 14_000))))] == [
        ("raised", "warning", 10_000, 10_020),
        ("cleared", "warning", 12_000, 12_100),
    ]


def test_a_telephone_that_may_ring_for_longer_is_critical_later_by_as_much() -> None:
    patient = DeadAirSettings(warning_at_start_s=60.0)
    events = watch(call(speech("agent", 73_000, 74_000)), CoreSettings(rules=RulesSettings(dead_air=patient)))
    assert [one[2:4] for one in alerts(events)] == [("warning", 60_000), ("critical", 71_000), ("critical", 73_000)]
    later = watch(
        call(speech("agent", 600, 2000), speech("agent", 20_000, 21_000)),
        CoreSettings(rules=RulesSettings(dead_air=patient)),
    )
    assert [one[2:4] for one in alerts(later)] == [("warning", 6000), ("critical", 17_000), ("critical", 20_000)]


def test_the_cool_down_of_a_short_silence_does_not_hide_a_long_one() -> None:
    said = [speech("agent", 600, 2000), speech("agent", 6400, 8000), speech("agent", 24_500, 26_000)]
    found = alerts(watch(call(*said)), "dead_air")
    assert [one[1:4] for one in found] == [
        ("raised", "warning", 6000),
        ("cleared", "warning", 6400),
        ("raised", "critical", 23_000),
        ("cleared", "critical", 24_500),
    ]


def test_a_caller_without_a_reply_is_told_of_after_six_seconds() -> None:
    said = speech("agent", 600, 2000), speech("caller", 2500, 4000), speech("agent", 12_000, 13_000)
    events = watch(call(*said))
    assert alerts(events, "unanswered") == [
        ("unanswered", "raised", "warning", 10_000, 10_000),
        ("unanswered", "cleared", "warning", 12_000, 12_100),
    ]
    alert = of(events, "alert.raised")[-1].alert
    assert alert.because == (1,)
    assert alert.message == ("the caller has had no reply for 6 s, since 4.0 s: look at what the agent made of turn 1")


@pytest.mark.parametrize(("reply", "many"), [(9980, 0), (10_000, 1)])
def test_a_reply_that_has_begun_in_time_counts_although_it_is_heard_later(reply: int, many: int) -> None:
    said = speech("agent", 600, 2000), speech("caller", 2500, 4000), speech("agent", reply, 13_000)
    assert len(alerts(watch(call(*said)), "unanswered")) == 2 * many


def test_an_alert_that_is_open_at_the_end_ends_with_the_call() -> None:
    events = watch(call(speech("agent", 600, 2000), length=7510))
    assert [one[1:4] for one in alerts(events)] == [("raised", "warning", 6000), ("cleared", "warning", 7510)]
    assert [event.type for event in events[-2:]] == ["alert.cleared", "call.ended"]


def test_a_side_that_is_not_heard_while_the_other_talks_is_told_of_live() -> None:
    said = [speech("caller", 600, 1200), *(speech("agent", 1500 + 3000 * k, 4000 + 3000 * k) for k in range(22))]
    said.append(speech("caller", 68_000, 69_000))
    found = alerts(watch(call(*said)), "one_way_audio")
    assert [one[1:4] for one in found] == [
        ("raised", "warning", 31_500),
        ("raised", "critical", 61_500),
        ("cleared", "critical", 68_000),
    ]
    alert = of(watch(call(*said)), "alert.raised")[0].alert
    assert alert.message.startswith(
        "the caller has not been heard for 30.0 s, since 1.5 s, and the agent has talked for 30.0 s of that: look at "
    )
    assert (alert.value, alert.threshold) == (30.0, 30.0)
    assert all(known <= at + 1500 for *_, at, known in found), "the other's talk is told once a second"


def test_a_hold_is_not_one_way() -> None:
    said = speech("caller", 600, 8000), speech("agent", 9000, 11_000), speech("agent", 47_000, 50_000)
    events = watch(call(*said, speech("caller", 51_000, 52_000)))
    assert alerts(events, "one_way_audio") == []
    assert events[-1].summary["one_way_audio"] == {"caller": 0, "agent": 0}  # type: ignore[attr-defined]


def test_an_agent_that_goes_on_behind_a_hold_is_one_way_in_the_end() -> None:
    events = watch(call(speech("caller", 600, 8000), speech("agent", 9000, 11_000), speech("agent", 47_000, 75_000)))
    assert next(one[1:4] for one in alerts(events, "one_way_audio")) == ("raised", "warning", 71_000)
    alert = next(e.alert for e in of(events, "alert.raised") if e.alert.rule == "one_way_audio")
    assert "has not been heard for 62.0 s, since 9.0 s, and the agent has talked for 26.0 s of that" in alert.message


def test_one_track_alone_is_not_judged_by_the_other() -> None:
    tape = as_it_comes([speech("caller", 600, 1800)], 30_000, tracks=("caller",))
    assert alerts(watch([*tape, inputs.CallEnded(30_000, "hangup")])) == []


def test_a_gap_in_the_feed_is_told_and_what_is_silent_in_it_is_not_dead_air() -> None:
    said = speech("caller", 1000, 2000), speech("agent", 2400, 4000), speech("caller", 21_500, 22_500)
    gone = dict.fromkeys(TRACKS, 5000)
    tape = as_it_comes(said, 24_000, silent_from=gone, back_at=dict.fromkeys(TRACKS, 20_000))
    assert alerts(watch([*tape, inputs.CallEnded(24_000, "hangup")])) == [
        ("feed_gap", "raised", "warning", 8000, 8000),
        ("feed_gap", "raised", "critical", 15_000, 15_000),
        ("feed_gap", "cleared", "critical", 20_000, 20_020),
    ]


def test_dead_air_that_begins_in_a_gap_counts_from_its_end() -> None:
    said = speech("caller", 1000, 2000), speech("agent", 2400, 4000), speech("agent", 15_000, 16_000)
    tape = as_it_comes(said, 17_000, silent_from={"caller": 7000}, back_at={"caller": 9000})
    found = alerts(watch([*tape, inputs.CallEnded(17_000, "hangup")]))
    assert [one[:4] for one in found] == [
        ("dead_air", "raised", "warning", 13_000),
        ("dead_air", "cleared", "warning", 15_000),
    ]


def test_an_alert_that_is_open_when_a_gap_begins_stays_until_somebody_is_heard() -> None:
    said = speech("caller", 1000, 2000), speech("agent", 2400, 4000), speech("agent", 15_000, 16_000)
    tape = as_it_comes(said, 17_000, silent_from={"caller": 9000}, back_at={"caller": 11_000})
    found = alerts(watch([*tape, inputs.CallEnded(17_000, "hangup")]), "dead_air")
    assert [one[1:4] for one in found] == [("raised", "warning", 8000), ("cleared", "warning", 15_000)]


def test_lost_packets_hold_a_rule_back_only_while_they_are_lost() -> None:
    tape = call(speech("caller", 1000, 2000), speech("agent", 2400, 4000), speech("agent", 12_000, 13_000))
    lost = [one for one in tape if not (isinstance(one, inputs.Audio) and 7900 <= one.at < 8140)]
    place = next(n for n, one in enumerate(lost) if isinstance(one, inputs.Audio) and one.at == 8140)
    lost[place:place] = [inputs.Stall(track, 7900, 8140) for track in TRACKS]
    assert alerts(watch(lost))[0][1:] == ("raised", "warning", 8000, 8160)


def test_an_alert_of_a_live_call_comes_with_the_piece_that_made_it_known() -> None:
    said = speech("caller", 1000, 2000), speech("agent", 2400, 4000), speech("agent", 24_000, 25_000)
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    late, open_at = [], {}
    for given in call(*said)[:-1]:
        late += [
            monitor.status.now_ms - event.known_at_ms
            for event in monitor.feed(given)
            if event.type.startswith("alert.")
        ]
        open_at[monitor.status.now_ms] = [alert.severity for alert in monitor.status.alerts]
    assert set(late) == {0}
    assert [open_at[at] for at in (8000, 8020, 19_000, 19_020, 24_080, 24_100)] == [
        [],
        ["warning"],
        ["warning"],
        ["critical"],
        ["critical"],
        [],
    ]
