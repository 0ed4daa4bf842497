"""One agent across its calls: when an alert is raised, held and cleared, and what is learnt meanwhile."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from monitor.core.fleet.agent import AgentWatch, Change
from monitor.core.fleet.baselines import Baselines
from monitor.core.fleet.settings import FleetSettings


class Minutes:
    """An agent whose baseline rests on 1000 turns, 100 of them barged in on; by hand, minute by minute."""

    def __init__(self, *, known: int = 1000, **settings: Any) -> None:
        self.settings = FleetSettings(**settings)
        self.baselines = Baselines(self.settings)
        if known:
            self.baselines.learn("agent", known, known // 10)
        self.watch = AgentWatch("agent", self.settings, self.baselines)
        self.now = 0
        self.told: list[tuple[int, Change]] = []

    def minute(self, turns: int, barge_ins: int, calls: int = 7) -> None:
        """A minute with so many, spread over some calls."""
        for number in range(turns):
            call = f"call-{number % calls}"
            self.watch.turn(call)
            barged = number * barge_ins // turns != (number + 1) * barge_ins // turns
            if barged and (change := self.watch.barge_in(call)):
                self.told.append((self.now, change))
        self.now += 1
        self.told += [(self.now - 1, change) for change in self.watch.reach(self.now)]

    def minutes(self, many: int, turns: int, barge_ins: int, calls: int = 7) -> None:
        for _ in range(many):
            self.minute(turns, barge_ins, calls)

    def changes(self) -> list[Change]:
        return [change for _, change in self.told]


def test_few_barge_ins_are_looked_at_with_each_one() -> None:
    agent = Minutes()
    agent.minutes(10, 10, 1)
    agent.minute(30, 30)
    assert agent.told[0] == (10, "raised")  # within the minute, before it was over
    assert agent.watch.standing().kind == "sparse"


def test_one_wild_call_is_no_matter_of_the_fleet() -> None:
    agent = Minutes()
    agent.minutes(10, 10, 1)
    agent.minutes(5, 20, 20, calls=1)
    assert agent.told == []


def test_nine_barge_ins_are_too_few_however_unlikely() -> None:
    agent = Minutes(dispersion=1.0)
    agent.minute(9, 9)
    assert agent.told == []
    agent.minute(1, 1)
    assert agent.changes() == ["raised"]


def test_less_than_half_as_many_again_is_no_spike() -> None:
    agent = Minutes(dispersion=1.0)
    agent.minutes(60, 1000, 140)
    assert agent.told == []
    assert not agent.watch.raised


def test_many_barge_ins_are_found_by_the_smoothed_score() -> None:
    agent = Minutes()
    agent.minutes(20, 100, 10)
    agent.minutes(10, 100, 25)
    assert agent.changes() == ["raised"]
    assert agent.watch.standing().kind == "dense"
    assert 20 <= agent.told[0][0] <= 24
    agent.minutes(20, 100, 10)
    assert agent.changes() == ["raised", "cleared"]


def test_three_times_as_many_are_critical_under_the_same_alert() -> None:
    agent = Minutes()
    agent.minutes(20, 100, 10)
    agent.minutes(6, 100, 25)
    agent.minutes(8, 100, 60)
    assert agent.changes() == ["raised", "worse"]
    assert agent.watch.standing().critical


def test_an_agent_of_which_little_is_known_says_so_and_raises_nothing() -> None:
    agent = Minutes(known=0)
    agent.minutes(10, 20, 20)
    standing = agent.watch.standing()
    assert agent.told == []
    assert standing.state == "too_little_data"
    assert standing.missing == "what is usual rests on 0 agent turns of finished calls, 200 are needed"


def test_too_little_traffic_is_said_as_such_as_well() -> None:
    agent = Minutes()
    agent.minute(4, 0, calls=2)
    assert agent.watch.standing().missing == "2 calls of late, 3 are needed"
    agent.minute(4, 0, calls=4)
    assert agent.watch.standing().missing == "8 agent turns of late, 10 are needed"
    agent.minute(40, 4, calls=4)
    assert (agent.watch.standing().state, agent.watch.standing().missing) == ("ordinary", None)
    agent.minutes(40, 0, 0)
    assert agent.watch.standing().state == "too_little_data"


def test_what_is_under_suspicion_does_not_become_usual() -> None:
    agent = Minutes()
    usual = agent.baselines.share("agent")
    agent.minutes(30, 10, 1)
    for number in range(20):
        agent.watch.finished(f"before-{number}", 20, 18)  # calls of the rise, over before it is found
        agent.minute(10, 9)
        agent.watch.finished(f"in-{number}", 20, 18)
    assert agent.watch.raised
    agent.minutes(100, 10, 1)
    assert not agent.watch.raised
    assert agent.baselines.share("agent") == usual


def test_ordinary_calls_teach_after_a_while_and_are_kept_once() -> None:
    agent = Minutes()
    agent.watch.finished("one", 20, 4, ended_s=4 * 86_400)
    agent.minutes(30, 10, 1)
    assert agent.baselines.turns("agent") == 1000
    agent.minute(10, 1)
    assert agent.baselines.turns("agent") == 1020
    assert [(one.call, one.turns, one.barge_ins) for one in agent.watch.learnt] == [("one", 20, 4)]


def test_what_waits_is_learnt_at_the_end() -> None:
    agent = Minutes()
    agent.watch.finished("one", 20, 4)
    agent.watch.close()
    assert agent.baselines.turns("agent") == 1020


def test_a_rise_that_stays_becomes_usual_after_a_day() -> None:
    agent = Minutes(freeze_max_h=1.0, remembered_turns=1000)
    for number in range(400):
        agent.watch.finished(f"{number}", 10, 5)
        agent.minute(10, 5)
    assert agent.changes()[:1] == ["raised"]
    assert agent.changes()[-1] == "cleared"
    assert agent.baselines.share("agent") > 0.4


def test_a_rate_that_dances_on_the_threshold_tells_little() -> None:
    agent = Minutes()
    agent.minutes(20, 100, 10)
    for _ in range(60):
        agent.minutes(4, 100, 30)
        agent.minutes(8, 100, 8)
    raised = [at for at, change in agent.told if change == "raised"]
    assert all(later - earlier >= 10 for earlier, later in pairwise(raised))
    assert len(raised) <= 60 * 12 / 10
    assert agent.watch.standing().suppressed >= 0


def test_forty_at_once_are_one_alert() -> None:
    agent = Minutes()
    agent.minutes(10, 10, 1)
    agent.minute(40, 40)
    agent.minutes(3, 10, 1)
    assert agent.changes().count("raised") == 1


def test_a_spike_that_comes_again_while_it_cools_down_is_counted() -> None:
    agent = Minutes(cooldown_s=1800.0)
    agent.minutes(10, 10, 1)
    agent.minutes(3, 20, 18)
    agent.minutes(12, 10, 0)
    assert agent.changes()[-1] == "cleared"
    agent.minutes(3, 20, 18)
    assert agent.changes().count("raised") == 1
    assert agent.watch.standing().suppressed == 1
    agent.minutes(30, 20, 18)
    assert agent.changes().count("raised") == 2


def test_an_agent_that_falls_silent_keeps_no_alert() -> None:
    agent = Minutes()
    agent.minutes(20, 100, 10)
    agent.minutes(10, 100, 40)
    assert agent.watch.raised
    agent.minutes(40, 0, 0)
    assert not agent.watch.raised


def test_a_spike_does_not_teach_that_such_counts_are_ordinary() -> None:
    agent = Minutes()
    agent.minutes(3, 30, 25)  # dense enough to be far from ordinary, before anything is raised
    assert agent.watch._dense.dispersion == 2
    agent.minutes(40, 100, 10)
    assert agent.watch._dense.dispersion < 2
