"""The end of a call whose last verdicts are still awaited."""

from __future__ import annotations

from connectors import inputs
from connectors.inputs import CallEnded, Elapsed, Text
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Event
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.words import WordsSettings
from monitor.detectors import new_detector
from tests.builders import of
from tests.core.relevancy.judged_calls import exchange, judging, says, tape_of


def ended_call(settings: CoreSettings, texts: list[Text] | None = None) -> tuple[CallMonitor, list[Event]]:
    """A call of two exchanges that has been fed to its end."""
    monitor = CallMonitor(settings, new_detector("energy"))
    return monitor, [event for given in tape_of(exchange(2), texts) for event in monitor.feed(given)]


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def test_the_last_event_waits_for_the_last_verdicts() -> None:
    monitor, events = ended_call(judging())
    (request,) = monitor.questions()
    assert "call.ended" not in kinds(events)
    assert kinds(events).count("turn.ended") == 4
    status = monitor.status
    assert (status.closing, status.ended, status.waiting_for_verdicts) == (True, False, 2)
    rest = monitor.feed(says(request, "yes"))
    assert kinds(rest) == ["relevancy.judged", "relevancy.judged", "call.ended"]
    assert monitor.status.closing is False
    assert monitor.ended
    assert monitor.status.relevancy is not None
    assert monitor.status.relevancy.score == 1.0


def test_nothing_else_is_heard_while_it_waits() -> None:
    monitor, events = ended_call(judging())
    voice = inputs.Audio("caller", 6000, b"\x40\x1f" * 8000)
    assert monitor.feed(voice) == []
    assert monitor.feed(Text("caller", 6000, "too late", "transcript")) == []
    assert monitor.feed(inputs.Cut("agent", 6000)) == []
    assert events[-1].seq == len(events) - 1


def test_a_notice_that_comes_while_it_waits_is_told_and_counted() -> None:
    monitor, _ = ended_call(judging())
    (request,) = monitor.questions()
    (notice,) = monitor.feed(inputs.Notice(7100, "judge_unavailable", "the judge is out of reach", count=2))
    assert (notice.type, notice.as_dict()["kind"]) == ("notice", "judge_unavailable")
    last = monitor.feed(says(request, "yes"))[-1]
    assert of([last], "call.ended")[0].summary["notices"] == {"judge_unavailable": 2}


def test_time_that_passes_ends_the_waiting_when_the_verdicts_were_due() -> None:
    monitor, _ = ended_call(judging(deadline_s=5))
    (request,) = monitor.questions()
    assert monitor.feed(Elapsed(request.due_ms - 1)) == []
    rest = monitor.feed(Elapsed(request.due_ms))
    assert kinds(rest) == ["relevancy.judged", "relevancy.judged", "call.ended"]
    assert {event.known_at_ms for event in rest} == {request.due_ms}
    assert rest[-1].at_ms == 7100


def test_finish_gives_up_and_keeps_the_cause() -> None:
    monitor, _ = ended_call(judging())
    rest = monitor.finish("stopped")
    assert kinds(rest) == ["relevancy.judged", "relevancy.judged", "call.ended"]
    assert of(rest, "call.ended")[0].cause == "hangup"
    assert monitor.finish() == []


def test_an_answer_after_the_very_end_is_nothing() -> None:
    monitor, _ = ended_call(judging())
    (request,) = monitor.questions()
    monitor.finish()
    assert monitor.feed(says(request, "yes")) == []


def test_a_call_without_assistant_turns_ends_at_once() -> None:
    monitor = CallMonitor(judging(), new_detector("energy"))
    events = [event for given in tape_of(exchange(1)[:1]) for event in monitor.feed(given)]
    assert events[-1].type == "call.ended"
    summary = of(events, "call.ended")[0].summary["relevancy"]
    assert (summary["score"], summary["success"], summary["judged"]) == (None, None, 0)
    assert summary["reason"] == "No score: no assistant turn was judged."


TRANSCRIBED = CoreSettings(
    words=WordsSettings(wait_s=20, transcribed=True), relevancy=RelevancySettings(eval_mode="llm")
)


def test_words_of_a_transcriber_are_waited_for_and_then_judged() -> None:
    monitor, _ = ended_call(TRANSCRIBED, [])
    assert (monitor.status.waiting_for_words, monitor.questions()) == (4, [])
    for index, track in enumerate(("caller", "agent", "caller")):
        assert kinds(monitor.feed(Text(track, 7200, f"words {index}", "transcript", turn=index))) == ["turn.text"]  # type: ignore[arg-type]
    assert monitor.questions() == []
    assert kinds(monitor.feed(Text("agent", 7200, "", "transcript", turn=3))) == []
    (request,) = monitor.questions()
    assert [one.index for one in request.asked] == [1]
    assert kinds(monitor.feed(says(request, "yes"))) == ["relevancy.judged", "call.ended"]


def test_a_transcriber_that_does_not_answer_is_waited_for_no_longer_than_it_may_take() -> None:
    monitor, events = ended_call(TRANSCRIBED, [])
    last = max(e.known_at_ms for e in of(events, "turn.ended"))
    assert monitor.feed(Elapsed(last + 19_980)) == []
    assert kinds(monitor.feed(Elapsed(last + 20_000))) == ["call.ended"]


def test_a_transcriber_is_waited_for_without_a_judge_too() -> None:
    settings = CoreSettings(words=WordsSettings(transcribed=True))
    monitor, events = ended_call(settings, [])
    assert "call.ended" not in kinds(events)
    assert kinds(monitor.feed(CallEnded(7100, "stopped"))) == ["call.ended"]
