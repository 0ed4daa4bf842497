"""Raised once, held, raised again when it gets worse, cleared, cooled down."""

from __future__ import annotations

import pytest

from monitor.core.alerts import Standing
from monitor.core.rules import Rule


class Light(Rule):
    """A rule that sees what it is told to see."""

    name = "light"

    def __init__(self) -> None:
        super().__init__(None, ())

    def shows(self, at: int, severity="warning"):
        self.raise_at(at, severity, f"{severity} at {at}", 1.0, 0.5, (3,))
        return self

    def off(self, at: int):
        self.release(at)
        return self

    def between(self):
        self.steady()
        return self


@pytest.fixture
def light():
    return Light()


@pytest.fixture
def standing():
    return Standing("c1", "light", 10_000)


def kinds(told):
    return [(one.kind.type.removeprefix("alert."), one.at_ms, one.alert.severity) for one in told]


def test_it_is_raised_once_and_held_while_it_is_so(standing, light):
    assert kinds(standing.judge(light.shows(900), 1000, False)) == [("raised", 900, "warning")]
    assert standing.judge(light.shows(1500), 2000, False) == []
    assert standing.judge(light.between(), 3000, False) == []
    assert standing.alert.since_ms == 900
    assert standing.alert.id == "c1/light/1"


def test_it_is_raised_again_under_the_same_id_only_when_it_gets_worse(standing, light):
    standing.judge(light.shows(900), 1000, False)
    told = standing.judge(light.shows(1500, "critical"), 2000, False)
    assert kinds(told) == [("raised", 1500, "critical")]
    assert (told[0].alert.id, told[0].alert.since_ms) == ("c1/light/1", 900)
    assert standing.judge(light.shows(1800), 2200, False) == []
    assert standing.alert.severity == "critical", "an alert keeps the highest that it has had"


def test_it_is_cleared_once_with_its_end(standing, light):
    standing.judge(light.shows(900), 1000, False)
    told = standing.judge(light.off(4000), 4200, False)
    assert kinds(told) == [("cleared", 4000, "warning")]
    assert told[0].alert.until_ms == 4000
    assert standing.judge(light, 4300, False) == []
    assert standing.raised == 1


def test_an_end_before_its_beginning_is_its_beginning(standing, light):
    standing.judge(light.shows(900), 1000, False)
    assert standing.judge(light.off(500), 1200, False)[0].alert.until_ms == 900


def test_while_it_cools_down_it_is_counted_and_not_raised(standing, light):
    standing.judge(light.shows(900), 1000, False)
    standing.judge(light.off(2000), 2000, False)
    for at in (3000, 5000):
        assert standing.judge(light.shows(at), at, False) == []
        assert standing.judge(light.shows(at + 100), at + 100, False) == []
        standing.judge(light.off(at + 500), at + 500, False)
    told = standing.judge(light.shows(11_000), 11_000, False)
    assert (told[0].alert.id, told[0].alert.suppressed) == ("c1/light/2", 2)


def test_a_warning_that_cools_down_hides_nothing_worse(standing, light):
    standing.judge(light.shows(900), 1000, False)
    standing.judge(light.off(2000), 2000, False)
    assert standing.judge(light.shows(3000), 3000, False) == []
    told = standing.judge(light.shows(4000, "critical"), 4000, False)
    assert kinds(told) == [("raised", 4000, "critical")]
    assert (told[0].alert.id, told[0].alert.suppressed) == ("c1/light/2", 1)
    standing.judge(light.off(5000), 5000, False)
    for at, severity in ((6000, "warning"), (8000, "critical"), (13_900, "critical")):
        assert standing.judge(light.shows(at, severity), at, False) == [], "no worse than the last, and cooled anew"
        standing.judge(light.off(at + 50), at + 50, False)
    told = standing.judge(light.shows(14_000), 14_000, False)
    assert (told[0].alert.severity, told[0].alert.suppressed) == ("warning", 3)


def test_what_became_critical_while_it_was_open_cools_down_as_critical(standing, light):
    standing.judge(light.shows(900), 1000, False)
    standing.judge(light.shows(1500, "critical"), 1500, False)
    standing.judge(light.off(2000), 2000, False)
    assert standing.judge(light.shows(3000, "critical"), 3000, False) == []


def test_what_is_still_so_when_it_has_cooled_down_is_raised_then(standing, light):
    standing.judge(light.shows(900), 1000, False)
    standing.judge(light.off(2000), 2000, False)
    assert standing.judge(light.shows(9000), 9000, False) == []
    assert standing.judge(light, 10_999, False) == []
    told = standing.judge(light, 11_000, False)
    assert kinds(told) == [("raised", 9000, "warning")]
    assert told[0].alert.suppressed == 1


def test_what_is_not_so_any_more_when_it_has_cooled_down_is_not(standing, light):
    standing.judge(light.shows(900), 1000, False)
    standing.judge(light.off(2000), 2000, False)
    standing.judge(light.shows(9000), 9000, False)
    assert standing.judge(light.between(), 12_000, False) == []


def test_what_is_held_back_is_neither_raised_nor_worse_but_can_end(standing, light):
    assert standing.judge(light.shows(900), 1000, True) == []
    assert kinds(standing.judge(light, 1500, False)) == [("raised", 900, "warning")]
    assert standing.judge(light.shows(2000, "critical"), 2000, True) == []
    assert kinds(standing.judge(light.off(3000), 3000, True)) == [("cleared", 3000, "warning")]


def test_the_end_of_the_call_is_the_end_of_what_is_open(standing, light):
    assert standing.clear(5000) == []
    standing.judge(light.shows(900), 1000, False)
    assert kinds(standing.clear(5000)) == [("cleared", 5000, "warning")]
    assert standing.alert is None
