"""A call as a trace: what a collector gets, decoded from its wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from monitor.core.events import Event
from monitor.sinks.otel.call_trace import HOLD_MS, MOST_ALERTS
from monitor.sinks.otel.settings import OtelSettings
from monitor.sinks.otel.sink import OtelSink
from tests.sinks.otel.collectors import attributes, collecting, export, sink_to
from tests.sinks.screens import SUMMARY, Script

BEGAN = "2026-03-01T12:00:00.250Z"
BEGAN_NS = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()) * 10**9 + 250_000_000


def ns(ms: int) -> int:
    return BEGAN_NS + ms * 1_000_000


def a_call(call: str = "call-1", began: str | None = BEGAN) -> Sequence[Event]:
    script = Script(call).started(started_at=began, labels={"team": "east"}).begins(0, "assistant", 400)
    script.ends(0, "assistant", 400, 3300, "Hello, this is Ada.").begins(1, "user", 4120)
    script.passes(0, 1, "gap", 4120, 820, 0.72, 0.72, final=False).passes(0, 1, "gap", 4120, 820, 0.72, 0.72)
    script.ends(1, "user", 4120, 7400, "I'd like a refund.", interrupted=True).judged(8000, 0, "no", "it says Ada")
    script.alerts(7500, "unanswered", "critical", because=(1,), message="no answer").clears(9000, "unanswered")
    return script.hangs_up(14_000, **SUMMARY).told


async def test_a_call_is_a_span_and_each_turn_is_one_beneath_it() -> None:
    with collecting() as collector:
        await export(sink_to(collector), a_call())
        (call,), turns = collector.named("call"), [*collector.named("assistant turn"), *collector.named("user turn")]
        assert (call.start_time_unix_nano, call.end_time_unix_nano) == (ns(0), ns(14_000))
        assert call.parent_span_id == b""
        assert [(t.start_time_unix_nano, t.end_time_unix_nano) for t in turns] == [
            (ns(400), ns(3300)),
            (ns(4120), ns(7400)),
        ]
        for turn in turns:
            assert (turn.trace_id, turn.parent_span_id) == (call.trace_id, call.span_id)
        assert len({call.span_id, *(turn.span_id for turn in turns)}) == 3
        assert collector.paths == ["/v1/traces"]
        assert collector.headers[0]["Content-Type"] == "application/x-protobuf"


async def test_spans_say_what_is_known_of_them() -> None:
    with collecting() as collector:
        await export(sink_to(collector, service_name="desk"), a_call())
        (call,), (user,), (agent,) = map(collector.named, ("call", "user turn", "assistant turn"))
        about = attributes(call)
        assert about["turnwatch.agent_id"] == "ada"
        assert about["turnwatch.label.team"] == "east"
        assert about["turnwatch.cause"] == "hangup"
        assert about["turnwatch.turn_taking.score"] == 0.8125
        assert about["turnwatch.response_time.p95"] == 0.9
        assert "turnwatch.barge_in.recovery_p50" not in about  # None is no number
        assert attributes(user) == {
            "turnwatch.call": "call-1",
            "turnwatch.agent_id": "ada",
            "turnwatch.turn.index": 1,
            "turnwatch.turn.role": "user",
            "turnwatch.turn.duration_seconds": 3.28,
            "turnwatch.turn.backchannel": False,
            "turnwatch.turn.interrupted": True,
            "turnwatch.turn.ended_by": "silence",
            "turnwatch.transition.from_turn": 0,
            "turnwatch.transition.kind": "gap",
            "turnwatch.transition.gap_seconds": 0.82,
            "turnwatch.transition.score": 0.72,
        }
        assert attributes(agent)["turnwatch.relevancy.verdict"] == "no"
        (resource,) = {r.resource.SerializeToString(): r.resource for r in collector.taken[0].resource_spans}.values()
        assert attributes(resource)["service.name"] == "desk"


async def test_alerts_are_events_of_the_calls_span() -> None:
    with collecting() as collector:
        await export(sink_to(collector), a_call())
        (call,) = collector.named("call")
        raised, cleared = call.events
        assert (raised.name, raised.time_unix_nano) == ("alert.raised", ns(7500))
        assert (cleared.name, cleared.time_unix_nano) == ("alert.cleared", ns(9000))
        about = attributes(raised)
        assert about["turnwatch.alert.id"] == "call-1/unanswered/1"
        assert about["turnwatch.alert.severity"] == "critical"
        assert about["turnwatch.alert.because"] == [1]
        assert (about["turnwatch.alert.value"], about["turnwatch.alert.threshold"]) == (5.0, 4.0)


async def test_words_stay_here_unless_they_are_asked_for() -> None:
    with collecting() as collector:
        await export(sink_to(collector), a_call())
        assert not any(word in body for body in collector.bodies for word in (b"Hello", b"refund", b"it says"))
    with collecting() as collector:
        await export(sink_to(collector, include_text=True), a_call())
        assert attributes(collector.named("user turn")[0])["turnwatch.turn.text"] == "I'd like a refund."
        assert attributes(collector.named("assistant turn")[0])["turnwatch.relevancy.reason"] == "it says Ada"


async def test_the_same_call_has_the_same_ids_and_another_has_others() -> None:
    with collecting() as collector:
        for call in ("call-1", "call-1", "call-2"):
            await export(sink_to(collector), a_call(call))
        first, again, other = ({(s.trace_id, s.span_id) for s in r.resource_spans[0].scope_spans[0].spans}
                               for r in collector.taken)  # fmt: skip
        assert first == again
        assert not first & other


async def test_a_turns_span_waits_for_what_is_said_of_it_but_not_for_the_end_of_the_call() -> None:
    with collecting() as collector:
        sink = sink_to(collector)
        await sink.open()
        script = Script().started(started_at=BEGAN).ends(0, "assistant", 0, 1000).notices(HOLD_MS, "gap", "x")
        for event in script.told:
            await sink.deliver(event)
        assert sink.figures()["spooled"] == 0
        await sink.deliver(Script().judged(HOLD_MS + 500, 0).notices(HOLD_MS + 1000, "gap", "x").told[0])
        await sink.deliver(Script().notices(HOLD_MS + 1000, "gap", "x").told[0])
        assert sink.figures()["spooled"] == 1
        await sink.close()
        assert attributes(collector.named("assistant turn")[0])["turnwatch.relevancy.verdict"] == "yes"


async def test_a_call_that_failed_is_an_error() -> None:
    with collecting() as collector:
        await export(sink_to(collector), Script().started().hangs_up(9, "failed").told)
        assert collector.named("call")[0].status.code == 2


async def test_a_call_that_does_not_say_when_it_began_begins_when_it_is_heard() -> None:
    with collecting() as collector:
        sink = OtelSink(OtelSettings(endpoint=collector.url), now_ns=lambda: 7_000_000_000)
        await export(sink, [*a_call("no time", None), *a_call("bad time", "yesterday"), *a_call("late")[5:]])
        starts = [call.start_time_unix_nano for call in collector.named("call")]
        assert starts == [7_000_000_000 - 4_120_000_000, 7_000_000_000, 7_000_000_000]


async def test_an_alert_across_calls_is_a_trace_of_its_own() -> None:
    with collecting() as collector:
        script = Script("fleet:ada@1").started(source="fleet").alerts(5, "barge_in_spike", scope="fleet", id="f/1")
        await export(sink_to(collector), script.hangs_up(9, "stopped").told)
        (alert,) = collector.spans
        assert alert.name == "alert.raised"
        assert attributes(alert)["turnwatch.alert.id"] == "f/1"


async def test_what_utf8_cannot_hold_and_storms_do_no_harm() -> None:
    bad = "half \ud83d"
    script = Script(bad).started(agent_id=bad, labels={bad: bad}).ends(0, "user", 0, 900, bad)
    for n in range(3 * MOST_ALERTS):
        script.alerts(1000 + n, id=f"{bad}{n}", message=bad, because=tuple(range(1000)))
    with collecting() as collector:
        sink = await export(sink_to(collector, include_text=True), script.hangs_up(9000).told)
        assert sink.figures()["delivered"] == 2
        assert len(collector.named("call")[0].events) == MOST_ALERTS


async def test_calls_whose_end_is_lost_are_bounded() -> None:
    from monitor.sinks.otel import sink as module

    with collecting() as collector:
        sink = sink_to(collector)
        await sink.open()
        for number in range(module.MOST_CALLS + 5):
            await sink.deliver(Script(f"call-{number}").started().told[0])
        assert len(sink._calls) == module.MOST_CALLS
        await sink.close()
