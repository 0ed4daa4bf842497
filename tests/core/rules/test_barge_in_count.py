"""B66: a count that dances on its threshold sends no storm."""

from __future__ import annotations

from typing import Any

import msgspec

from monitor.core.alerts import Told
from monitor.core.encode import encode
from monitor.core.measures.panel import Panel
from monitor.core.rules.board import RuleBoard
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import RulesSettings
from tests.core.rules.simulated import agent_turn, barge_in_on

BOTH = ("caller", "agent")


def board(cooldown_s: float) -> RuleBoard:
    quiet = {name: msgspec.structs.replace(group, enabled=False) for name, group in groups().items()}
    wanted = msgspec.structs.replace(groups()["barge_in_count"], enabled=True, cooldown_s=cooldown_s)
    return RuleBoard(RulesSettings(**quiet | {"barge_in_count": wanted}), "call", BOTH, Panel(BOTH))


def groups():
    return msgspec.structs.asdict(RulesSettings())


def spoken(rules: RuleBoard, barge_ins_s: list[float], until_s: int) -> list[Told]:
    """The agent talks without a break; the caller barges in at these times, and each time a turn of the agent ends.
    What is not decided yet when time is up comes out when the call ends."""
    told: list[Told] = []
    begun = number = 0
    ends = sorted({round(1000 * at) + 200 for at in barge_ins_s} | {1000 * at for at in range(5, until_s, 5)})
    for end in ends:
        barged = any(begun < 1000 * at + 200 <= end for at in barge_ins_s)
        turn = agent_turn(number, begun, end - begun)
        rules.turn_started(msgspec.structs.replace(turn, duration_ms=None, ended_by=None))
        if barged:
            caller = barge_in_on(turn, turn.duration_ms - 200)
            rules.turn_started(msgspec.structs.replace(caller, duration_ms=None, ended_by=None))
            rules.turn_ended(caller)
        rules.turn_ended(turn)
        told += rules.look(Moment(end, end, end))
        begun, number = end, number + 1
    rules.close()
    return told + rules.look(Moment(begun, begun, begun))


def test_forty_barge_ins_and_three_more_are_two_alerts():
    told = spoken(board(60), [1.5 * k for k in range(40)] + [121.5, 122.5, 123.5], 140)
    assert [one.kind.type for one in told] == ["alert.raised", "alert.cleared", "alert.raised"]
    first, cleared, second = (one.alert for one in told)
    assert (first.id, second.id) == ("call/barge_in_count/1", "call/barge_in_count/2")
    assert (first.since_ms, first.value, first.threshold) == (3000, 3, 3)
    assert 115_000 <= (cleared.until_ms or 0) <= 121_000
    assert second.since_ms == 123_500
    assert first.suppressed == second.suppressed == 0, "the first was held all the while: nothing was to be raised anew"
    assert [list(one["alert"])[-1] for one in encoded(told)] == ["since", "until", "since"], "and a line tells no 0"


def encoded(told: list[Told]) -> list[dict[str, Any]]:
    """The alerts as they go out."""
    events = [
        one.kind(call="call", seq=n, at_ms=one.at_ms, known_at_ms=one.at_ms, alert=one.alert)
        for n, one in enumerate(told, 1)
    ]
    return [msgspec.json.decode(encode(event)) for event in events]


def test_the_line_of_an_alert_says_how_often_it_was_held_back_and_so_does_its_end():
    """Run 1 with a caller who pauses twice within the cool-down, so that the count is met anew."""
    barge_ins = [1.5 * k for k in range(10)] + [90, 91, 92, 170, 171, 172] + [251.5, 252.5, 253.5]
    lines = encoded(spoken(board(240), barge_ins, 340))
    assert [(one["type"], one["alert"].get("suppressed")) for one in lines] == [
        ("alert.raised", None),
        ("alert.cleared", None),
        ("alert.raised", 2),
        ("alert.cleared", 2),
    ]


def test_a_rate_of_two_and_three_a_minute_by_turns_is_at_most_five_alerts_and_says_what_it_held_back():
    times = [60 * minute + 60 / (2 + minute % 2) * k + 5 for minute in range(10) for k in range(2 + minute % 2)]
    told = spoken(board(120), times, 620)
    raised = [one.alert for one in told if one.kind.type == "alert.raised"]
    assert 1 <= len(raised) <= 5
    starts = [alert.since_ms for alert in raised]
    assert starts == sorted(set(starts))


def test_what_came_up_in_the_cooldown_is_counted_in_the_next_alert():
    bursts = [at + k for at in (10, 80, 150, 300) for k in (0, 1, 2)]
    told = spoken(board(250), bursts, 320)
    raised = [one.alert for one in told if one.kind.type == "alert.raised"]
    assert [(alert.since_ms // 1000, alert.suppressed) for alert in raised] == [(12, 0), (302, 2)]


def test_calls_know_nothing_of_each_other():
    one, other = board(120), board(120)
    assert spoken(one, [1, 2, 3], 20)
    assert spoken(other, [1, 2, 3], 20)
