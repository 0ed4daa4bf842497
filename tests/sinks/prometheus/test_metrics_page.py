"""The page itself: what stands on it, in both formats, as Prometheus wants it."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from pathlib import Path

import pytest

from monitor.core import events
from monitor.core.events import Event
from monitor.runtime.demo import Demo
from monitor.sinks.prometheus.folding import Metrics
from monitor.sinks.prometheus.standing import Standing
from tests.sinks.prometheus.pages import OPENMETRICS, STANDING, Page, complaints, folded
from tests.sinks.screens import SUMMARY, Script, whole_call

JUDGED = {"score": 0.75, "requests": 3, "tokens": {"input": 2100, "output": 260}, "cost_usd": 0.25}


def busy_call() -> list[Event]:
    """A call in which everything is counted."""
    told = Script("busy").started(agent_id='a"d\\a\nü').judged(1, 0).judged(2, 2, "no").judged(3, 4, "unscored")
    told.alerts(5000, "barge_in_spike").alerts(6000, "barge_in_spike", "critical").alerts(7000, "dead_air")
    told.clears(8000, "barge_in_spike", "critical").notices(8100, "gap", "x", count=4)
    return [*whole_call(), *told.told, *Script("third").started().hangs_up(9, **{**SUMMARY, "relevancy": JUDGED}).told]


def test_prometheus_has_nothing_to_complain_about() -> None:
    page = Page(folded(*busy_call()))
    assert page.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert complaints(page.body) == ""


def test_the_checker_would_complain() -> None:
    assert "no help text" in complaints(b"# TYPE a_milliseconds counter\na_milliseconds 1\n")


def test_every_metric_is_ours_and_explains_itself() -> None:
    page = Page(folded(*busy_call()))
    for family in page.families.values():
        assert family.name.startswith("turnwatch_")
        assert family.documentation.endswith(".")
    assert len(page.families) > 40
    assert "_created" not in page.text
    assert "call-1" not in page.text  # a call is never a label


def test_openmetrics_is_spoken_with_whoever_asks_for_it() -> None:
    metrics = folded(*busy_call())
    page = Page(metrics, accept=f"{OPENMETRICS},text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
    assert page.content_type.startswith(OPENMETRICS)
    assert page.text.endswith("# EOF\n")
    plain = Page(metrics)
    for name in ("turns_total", "transition_score_count", "alerts_open", "calls_live", "sink_waiting_events"):
        assert page.value(name) == plain.value(name) is not None


@pytest.mark.parametrize("accept", [None, "", "*/*", "text/html", "application/openmetrics-text;version=0.0.1", ";;,,"])
def test_whoever_asks_for_nothing_known_gets_plain_text(accept: str | None) -> None:
    assert Page(folded(), accept=accept).content_type.startswith("text/plain; version=0.0.4")


def test_what_the_program_says_of_itself() -> None:
    page = Page(folded())
    assert {
        name: page.value(name)
        for name in (
            "calls_live",
            "longest_wait_seconds",
            "event_loop_lag_seconds",
            "calls_failed_total",
            "inputs_dropped_total",
            "connections_refused_total",
            "judge_waiting_questions",
            "judge_requests_total",
            "transcriber_sound_seconds_total",
        )
    } == {
        "calls_live": 2,
        "longest_wait_seconds": 1.2,
        "event_loop_lag_seconds": 0.0035,
        "calls_failed_total": 1,
        "inputs_dropped_total": 7,
        "connections_refused_total": 2,
        "judge_waiting_questions": 3,
        "judge_requests_total": 9,
        "transcriber_sound_seconds_total": 12.5,
    }
    assert page.value("judge_available", judge="gpt") == 1
    assert page.value("transcriber_available", transcriber="whisper") == 0
    assert page.value("build_info", version="1.2.3") == 1


def test_each_sink_has_its_figures() -> None:
    page = Page(folded())
    assert page.value("sink_waiting_events", sink="mqtt") == 4
    assert page.value("sink_overflowed_events_total", sink="mqtt") == 5
    assert page.value("sink_spooled_items", sink="mqtt") == 6
    assert page.value("sink_connected", sink="mqtt") == 0
    assert page.value("sink_up", sink="standard output") == 0
    assert page.value("sink_spooled_items", sink="standard output") is None


def test_a_program_without_anything_has_a_good_page_as_well() -> None:
    page = Page(Metrics(), Standing())
    assert complaints(page.body) == ""
    assert page.value("calls_live") == 0
    assert page.value("judge_available") is None


@pytest.mark.parametrize("text", ["\ud83d", 'a"b', "a\\b", "a\nb", "\x00", "ü", "x" * 10_000])
def test_no_agents_name_breaks_the_page(text: str) -> None:
    page = Page(folded(*Script().started(agent_id=text).told), accept=OPENMETRICS)
    assert page.value("calls_started_total") == 1
    assert len(page.text) < 20_000


async def test_sums_over_a_call_are_those_of_its_summary() -> None:
    told: list[Event] = []

    async def deliver(event: Event) -> None:
        told.append(event)

    await Demo(speed=None).run(deliver)
    metrics = Metrics()
    for event in told:
        await metrics.deliver(event)
    page = Page(metrics)
    ended = told[-1]
    assert isinstance(ended, events.CallEnded)
    summary = ended.summary
    for by, name in (("user", "user"), ("assistant", "agent")):
        assert page.value("barge_ins_total", by=by) == summary["barge_in"][name] > 0
    assert page.value("backchannels_total") == summary["barge_in"]["backchannels"] > 0
    assert page.value("response_time_seconds_count") == summary["response_time"]["count"] > 0
    mean = summary["response_time"]["mean"] * summary["response_time"]["count"]
    assert page.value("response_time_seconds_sum") == pytest.approx(mean)
    for kind, many in summary["turn_taking"]["kinds"].items():
        assert page.value("transitions_total", kind=kind) == many
    assert page.value("call_turn_taking_score_sum") == pytest.approx(summary["turn_taking"]["score"])
    assert page.value("yield_time_seconds_count") == 1


def test_pages_and_events_at_the_same_time() -> None:
    """The sink runs in a thread of its own; every page is whole, and in the end nothing is missing."""
    metrics, done, pages = Metrics(), threading.Event(), []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def tell() -> None:
        async def deliver() -> None:
            for number in range(150):
                for event in Script(f"call-{number}").started(agent_id=f"agent-{number % 20}").alerts(1).told:
                    await metrics.deliver(event)
                await metrics.deliver(Script(f"call-{number}").clears(2).told[0])

        asyncio.run(deliver())
        done.set()

    thread = threading.Thread(target=tell)
    thread.start()
    try:
        while not done.is_set():
            pages.append(Page(metrics))
    finally:
        thread.join()
        sys.setswitchinterval(before)
    for page in pages:
        raised, cleared = page.value("alerts_raised_total") or 0, page.value("alerts_cleared_total") or 0
        assert raised - cleared == (page.value("alerts_open") or 0)
    assert Page(metrics).value("calls_started_total") == 150
    assert pages


def test_every_kind_of_notice_in_the_code_has_a_label() -> None:
    from monitor.sinks.prometheus.labels import NOTICES

    root = Path(__file__).resolve().parents[3]
    made = re.compile(r'(?:Notice\([^"()]*|Trouble\(|ally\.count\(|\.notice\(|self\._tell\()"([a-z_]+)"')
    found = {
        kind
        for folder in ("monitor", "connectors")
        for path in (root / folder).rglob("*.py")
        for kind in made.findall(path.read_text("utf-8"))
    }
    assert len(found) > 20
    assert found <= NOTICES


def test_a_page_shows_how_it_stands_now() -> None:
    metrics = folded()
    assert Page(metrics, STANDING._replace(calls=())).value("calls_live") == 0
    assert Page(metrics, STANDING).value("calls_live") == 2
