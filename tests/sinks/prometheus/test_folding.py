"""Events are counted under bounded labels, and what is remembered of calls is bounded as well."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from monitor.config import ConfigError, load
from monitor.sinks.prometheus.calls_heard import FORGOTTEN_AFTER_S
from monitor.sinks.prometheus.folding import Metrics
from monitor.sinks.prometheus.settings import PrometheusSettings
from monitor.sinks.prometheus.standing import Standing
from tests.sinks.prometheus.pages import Page, folded, told
from tests.sinks.screens import SUMMARY, Script, whole_call


def test_a_whole_call() -> None:
    page = Page(folded(*whole_call()))
    assert page.value("calls_started_total", agent="ada") == 1
    assert page.value("calls_ended_total", agent="ada", cause="hangup") == 1
    assert page.value("turns_total", role="user") == 3
    assert page.value("turns_total", role="assistant") == 2
    assert page.value("backchannels_total", role="user") == 1
    assert page.value("transitions_total", kind="gap") == 1
    assert page.value("transitions_total", kind="agent_overlap") == 1
    assert page.value("transitions_total", kind="user_barge_in") == 1
    assert page.value("barge_ins_total", by="assistant") == 1
    assert page.value("yield_time_seconds_sum", agent="ada") == pytest.approx(0.6)
    assert page.value("transition_score_count") == 3
    assert page.value("call_turn_taking_score_sum") == 0.8125
    assert page.value("notices_total", kind="bad_payload") == 3
    assert page.value("response_time_seconds_count") is None  # the one gap was the caller's


def test_an_answer_after_a_stall_is_no_response_time() -> None:
    script = Script().started().begins(0, "user", 0).ends(0, "user", 0, 900, ended_by="stall")
    script.begins(1, "assistant", 2000).passes(0, 1, "gap", 2000, 1100, 0.6, 0.6)
    script.ends(1, "assistant", 2000, 3000).begins(2, "user", 4000).ends(2, "user", 4000, 5000)
    script.begins(3, "assistant", 5400).passes(2, 3, "gap", 5400, 400, 0.8, 0.7)
    assert Page(folded(*script.told)).value("response_time_seconds_sum") == pytest.approx(0.4)


def test_what_calls_took_of_the_judge() -> None:
    relevancy = {"score": None, "requests": 3, "tokens": {"input": 2100, "output": 260}, "cost_usd": 0.5}
    script = Script().started().judged(1, 0).judged(2, 2, "unscored").hangs_up(9, **{**SUMMARY, "relevancy": relevancy})
    page = Page(folded(*script.told))
    assert page.value("verdicts_total", verdict="yes") == page.value("verdicts_total", verdict="unscored") == 1
    assert page.value("call_judge_requests_total") == 3
    assert page.value("call_judge_tokens_total", direction="input") == 2100
    assert page.value("call_judge_cost_dollars_total", agent="ada") == 0.5
    assert page.value("call_relevancy_score_count") is None  # no score is no 0


def test_alerts_are_counted_and_shown_while_they_are_open() -> None:
    script = Script().started().alerts(1000, "dead_air").alerts(2000, "dead_air", "critical").alerts(2500, "mine")
    metrics = folded(*script.told)
    page = Page(metrics)
    assert page.value("alerts_open", rule="dead_air", severity="critical", scope="call", agent="ada") == 1
    assert page.value("alerts_open", severity="warning") == page.value("alerts_open", rule="other") == 1
    assert page.value("alerts_raised_total", rule="dead_air") == 2
    page = Page(told(metrics, Script().clears(3000, "dead_air", "critical").told))
    assert page.value("alerts_open", rule="dead_air") is None
    assert page.value("alerts_cleared_total", rule="dead_air", severity="critical") == 1
    assert Page(told(metrics, Script().hangs_up(4000).told)).value("alerts_open") is None


def test_an_alert_across_calls_stays_open_until_it_is_cleared() -> None:
    now = [0.0]
    metrics = Metrics(clock=lambda: now[0])
    told(metrics, [*Script("fleet").alerts(1, "barge_in_spike", scope="fleet").told, *Script("one").alerts(2).told])
    now[0] = FORGOTTEN_AFTER_S + 1
    page = Page(metrics, Standing(calls=("two",)))
    assert page.value("alerts_open", scope="fleet") == 1
    assert page.value("alerts_open", scope="call") is None  # that call is gone, and its end was lost
    told(metrics, Script("fleet").clears(3, "barge_in_spike", scope="fleet").told)
    assert Page(metrics, Standing()).value("alerts_open") is None


def test_what_stands_for_the_fleet_is_no_call() -> None:
    now = [0.0]
    metrics = Metrics(clock=lambda: now[0])
    script = Script("fleet:ada@1").started(source="fleet").alerts(1, "barge_in_spike", scope="fleet")
    told(metrics, script.told)
    now[0] = 10 * FORGOTTEN_AFTER_S
    assert Page(metrics, Standing()).value("alerts_open", agent="ada", scope="fleet") == 1
    told(metrics, Script("fleet:ada@1").clears(2, "barge_in_spike", scope="fleet").hangs_up(3, "stopped").told)
    told(metrics, Script("fleet:unnamed@1").started(source="fleet", agent_id="unnamed").alerts(1, scope="fleet").told)
    page = Page(metrics, Standing())
    assert page.value("calls_started_total") is page.value("calls_ended_total") is None
    assert page.value("alerts_cleared_total", agent="ada") == 1
    assert page.value("alerts_open", agent="") == page.value("alerts_open") == 1


def test_a_call_that_is_silent_but_goes_on_is_kept() -> None:
    now = [0.0]
    metrics = Metrics(clock=lambda: now[0])
    told(metrics, Script("one").started().alerts(2).told)
    now[0] = 10 * FORGOTTEN_AFTER_S
    assert Page(metrics, Standing(calls=("one",))).value("alerts_open", agent="ada") == 1


def test_of_agents_there_are_so_many_and_the_rest() -> None:
    settings = PrometheusSettings(agents=("vip",), max_agents=3)
    script = [event for name in "abcdefg" for event in Script(name).started(agent_id=name).hangs_up(1).told]
    script += Script("h").started(agent_id="vip").told + Script("i").started(agent_id=None).told
    page = Page(folded(*script, settings=settings))
    assert page.labels("calls_started_total", "agent") == {"a", "b", "vip", "other", ""}
    assert page.value("calls_started_total", agent="other") == 5
    assert page.value("calls_ended_total", agent="other") == 5


def test_kinds_that_nobody_knows_are_other() -> None:
    script = Script().started().notices(1, "made_up_1", "x").notices(2, "made_up_2", "x", count=2)
    script.alerts(3, "rule-1", "loud", scope="town").alerts(4, "rule-2", "loud", scope="town", id="2").hangs_up(
        5, "bored"
    )
    page = Page(folded(*script.told))
    assert page.value("notices_total", kind="other") == 3
    assert page.value("alerts_raised_total", rule="other", severity="other", scope="other") == 2
    assert page.value("calls_ended_total", cause="other") == 1


def test_an_event_of_a_call_whose_beginning_was_lost_is_counted() -> None:
    page = Page(folded(*whole_call()[3:]))
    assert page.value("calls_ended_total", agent="") == 1
    assert page.value("calls_started_total") is None


def test_a_day_of_calls_takes_no_more_memory_than_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the calls' ends is lost."""
    monkeypatch.setattr("monitor.sinks.prometheus.calls_heard.MOST_CALLS", 10)
    metrics = Metrics()
    number = 0

    def calls(many: int) -> None:
        nonlocal number
        for _ in range(many):
            number += 1
            script = Script(f"call-{number}").started(agent_id=f"agent-{number}").begins(0, "user", 0)
            script.ends(0, "user", 0, 500, "words " * 50).alerts(600).notices(700, f"kind-{number}", "x")
            told(metrics, script.told if number % 10 == 0 else script.hangs_up(900, **SUMMARY).told)

    calls(200)
    lines = len(Page(metrics, Standing()).text.splitlines())
    tracemalloc.start()
    try:
        calls(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        calls(600)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
    assert len(Page(metrics, Standing()).text.splitlines()) == lines


def test_calls_whose_end_is_lost_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.sinks.prometheus.calls_heard.MOST_CALLS", 5)
    monkeypatch.setattr("monitor.sinks.prometheus.calls_heard.MOST_ALERTS", 3)
    metrics = folded(*(event for n in range(20) for event in Script(f"c{n}").started().alerts(1).told))
    assert len(metrics._calls) == 5
    assert Page(metrics, Standing()).value("alerts_open") == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("max_agents=0", "prometheus.max_agents must be from 1 to 1000"),
        ("delay_buckets_s=[1.0, 0.5]", "prometheus.delay_buckets_s must be 1 to 40 rising numbers"),
        ("score_buckets=[0.5]", "prometheus.score_buckets must end with 1"),
    ],
)
def test_settings_that_make_no_sense_are_told(given: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(assignments=[f"prometheus.{given}"])


def test_the_buckets_are_the_ones_that_were_set() -> None:
    settings = load(assignments=["prometheus.delay_buckets_s=[0.25, 2]"]).sink("prometheus")
    script = Script().started().ends(0, "user", 0, 900).begins(1, "assistant", 1000)
    page = Page(folded(*script.passes(0, 1, "gap", 1000, 100, 0.9, 0.9).told, settings=settings))
    assert page.labels("response_time_seconds_bucket", "le") == {"0.25", "2.0", "+Inf"}
