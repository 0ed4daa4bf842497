"""Alerts on the console: they stand out, say what to look at, and ring where somebody can hear it."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.core.events import Event
from monitor.sinks.alert_lines import ACROSS_CALLS
from monitor.sinks.console import ConsoleSink
from tests.sinks.screens import Screen, Script, bare, show, state, terminal_of, whole_call
from tests.sinks.test_console_status_line import bottom_of

MESSAGE = "callers barged in on 4 of the last 6 agent turns"


def spike(**fields: Any) -> Script:
    return Script().alerts(42_120, "barge_in_spike", message=MESSAGE, because=(3, 5, 7, 9), **fields)


def test_an_alert_says_what_it_is_and_what_to_look_at() -> None:
    told = spike().clears(73_300, "barge_in_spike", since_ms=42_100).told
    assert show(told) == [
        f"00:42.120  call    ! ALERT warning barge_in_spike: {MESSAGE}",
        "          it rests on turns 3, 5, 7, 9",
        "01:13.300  call    ✓ alert over barge_in_spike after 31.2 s",
    ]


def test_a_rise_is_told_without_saying_everything_again() -> None:
    script = spike().alerts(50_000, "barge_in_spike", "critical", message=MESSAGE, because=(3, 5, 7, 9, 11))
    assert show(script.told)[2:] == [
        f"00:50.000  call    ! ALERT critical (was warning) barge_in_spike: {MESSAGE}",
        "          it rests on turns 3, 5, 7, 9, 11",
    ]


def test_of_many_turns_the_last_are_named() -> None:
    (_, look) = show(Script().alerts(1000, "slow_response", because=tuple(range(40))).told)
    assert look == "          it rests on turns 32, 33, 34, 35, 36, 37, 38, 39, and 32 before"


def test_a_rule_of_ones_own_without_turns_has_one_line() -> None:
    script = Script().alerts(1000, "too_loud", "info", because=(), message="97 dB", suppressed=3)
    assert show(script.told) == ["00:01.000  call    ! ALERT info too_loud: 97 dB (held back 3× before)"]


def test_an_alert_across_calls_belongs_to_the_fleet() -> None:
    script = Script("fleet").alerts(1000, "barge_in_spike", "critical", scope="fleet", because=())
    line, look = show(script.told)
    assert line.startswith("00:01.000  fleet   ! ALERT critical barge_in_spike: ")
    assert look == f"          {ACROSS_CALLS}"


def test_what_stands_for_the_fleet_is_shown_as_no_call() -> None:
    script = Script("fleet:ada@1700000000").started(source="fleet", agent_id="ada")
    script.alerts(1000, "barge_in_spike", "critical", scope="fleet", because=()).clears(3000, "barge_in_spike")
    lines = show(script.hangs_up(4000, "stopped", alerts={"barge_in_spike": 1}).told, many=True)
    assert [line[:9] for line in lines] == ["fleet ada"] * 3
    assert "ALERT critical" in lines[0]


def test_alerts_of_several_calls_are_told_apart() -> None:
    told: list[Event] = [*Script("one").alerts(1000).told, *Script("two").alerts(2000).told]
    told += Script("one").clears(3000).told
    lines = show(told, many=True)
    assert [line.split()[0] for line in lines] == ["one", "one", "two", "two", "one"]


def test_words_in_an_alert_do_nothing() -> None:
    bad = "\x1b[2J[bold]\u202e\a"
    script = (
        Script().alerts(1, bad, bad, message=bad, id="1").alerts(2, bad, "info", message=bad, id="1").clears(3, bad)
    )
    text = "\n".join(show(script.told))
    assert not any(character in text for character in "\x1b\u202e\a")
    assert "[bold]" in text


@pytest.mark.parametrize(
    ("severity", "codes"), [("info", "\x1b[1;36m"), ("warning", "\x1b[1;30;43m"), ("critical", "\x1b[1;37;41m")]
)
def test_severity_has_a_colour_and_a_weight(monkeypatch: pytest.MonkeyPatch, severity: str, codes: str) -> None:
    screen = terminal_of(monkeypatch, 120)
    show(Script().alerts(1000, "dead_air", severity).told, screen)
    assert f"{codes}ALERT {severity}" in screen.getvalue()
    assert f"{codes}!" in screen.getvalue()


def test_open_alerts_stand_in_the_status_line_until_they_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = state(now_ms=9000, waiting_ms=4100, score=0.5, transitions=12)
    script = Script().alerts(1000, "slow_response", "warning").alerts(2000, "dead_air", "critical")
    screen = terminal_of(monkeypatch, 120)
    assert bottom_of(screen, now, told=script.told).endswith("12 transitions  ! 2 alerts: dead_air, slow_response")
    assert "\x1b[1;37;41m! 2 alerts" in screen.getvalue()
    script.clears(3000, "dead_air", "critical")
    bottom = bottom_of(terminal_of(monkeypatch, 120), now, told=script.told)
    assert bottom.endswith("12 transitions  ! 1 alert: slow_response")
    script.clears(3000, "slow_response")
    assert bottom_of(terminal_of(monkeypatch, 120), now, told=script.told).endswith("12 transitions")


def test_among_many_calls_the_one_with_an_alert_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    states = (
        state("one", 1000, ("agent",)),
        state("two", 1000, (), 3100),
        state("three", 1000, ("agent",)),
        state("four", 1000),
    )
    told = [*Script("three").alerts(1, "unanswered", "critical").told, *Script("four").alerts(1, "dead_air").told]
    told += Script("four").alerts(2, "slow_yield").told
    told += Script("one").begins(0, "assistant", 0).told
    bottom = bottom_of(terminal_of(monkeypatch, 140), *states, told=told)
    assert bottom == (
        " 4 calls 3 alerts  │ three agent speaks ! unanswered │ four quiet ! dead_air +1"
        " │ two caller waits 3.1 s │ one agent speaks 1.0 s"
    )


def test_a_call_that_is_over_has_no_open_alerts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [*Script("one").alerts(1).hangs_up(2).told]
    bottom = bottom_of(terminal_of(monkeypatch, 120), state("two", 1000), told=told)
    assert bottom.strip() == "00:01  quiet"


def test_the_summary_names_the_alerts(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 100)
    lines = show(Script().hangs_up(1000, alerts={"barge_in_spike": 2, "dead_air": 1}).told, screen)
    assert lines[-1] == "           alerts         barge_in_spike 2 · dead_air 1"
    assert "\x1b[1;31mbarge_in_spike 2" in screen.getvalue()


def test_the_bell_rings_on_a_terminal_when_an_alert_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        Script().alerts(1000, "dead_air").alerts(2000, "dead_air", "critical").clears(3000).notices(4000, "gap", "x")
    )
    for environment in ({}, {"TERM": "dumb"}):
        screen = terminal_of(monkeypatch, 100, **environment)
        show(script.told, screen, bell=True)
        assert screen.getvalue().count("\a") == 2


def test_the_bell_is_silent_without_a_terminal_and_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, terminal = Screen(), terminal_of(monkeypatch, 100)
    show(spike().told, pipe, bell=True)
    show(spike().told, terminal)
    assert "\a" not in pipe.getvalue() + terminal.getvalue()
    assert "ALERT" in pipe.getvalue()
    assert "ALERT" in bare(terminal.getvalue())


@pytest.mark.parametrize("width", [24, 50, 80])
def test_a_narrow_terminal_keeps_the_alert(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = "\n".join(show(spike().told, terminal_of(monkeypatch, width)))
    assert "ALERT warning barge_in_spike" in text
    assert "it rests on turns 3," in text


async def test_calls_whose_end_never_comes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.sinks.console._MOST_CALLS", 3)
    sink = ConsoleSink(Screen())
    await sink.open()
    for number in range(10):
        await sink.deliver(whole_call(f"call-{number}")[0])
    assert len(sink._views) == 3
    await sink.close()
