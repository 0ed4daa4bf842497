"""When the judge is asked, and what a request holds."""

from __future__ import annotations

from connectors.inputs import Text
from monitor.core.questions import JudgeRequest
from tests.builders import of
from tests.core.relevancy.judged_calls import Said, exchange, judging, listen, tape_of


def asked(requests: list[JudgeRequest]) -> list[list[int]]:
    return [[one.index for one in request.asked] for request in requests]


def test_ninety_turns_take_fifteen_requests() -> None:
    heard = listen(tape_of(exchange(90)), judging())
    assert [len(batch) for batch in asked(heard.requests)] == [6] * 15
    assert heard.verdicts() == dict.fromkeys(range(1, 180, 2), "yes")
    assert heard.summary["score"] == 1.0
    assert [request.batch for request in heard.requests] == list(range(15))


def test_a_full_batch_goes_out_when_its_last_turn_is_known() -> None:
    heard = listen(tape_of(exchange(8)), judging(batch_size=3))
    ended = {e.turn.index: e.known_at_ms for e in of(heard.events, "turn.ended")}
    assert asked(heard.requests) == [[1, 3, 5], [7, 9, 11], [13, 15]]
    assert [request.at_ms for request in heard.requests[:2]] == [ended[5], ended[11]]


def test_no_turn_waits_longer_than_max_wait() -> None:
    slow = exchange(4, spoken=1000, gap=2500)
    heard = listen(tape_of(slow), judging(max_wait_s=9))
    ended = {e.turn.index: e.known_at_ms for e in of(heard.events, "turn.ended")}
    assert asked(heard.requests)[0] == [1, 3]
    assert heard.requests[0].at_ms == ended[1] + 9000
    assert all(heard.requests[0].at_ms < at for index, at in ended.items() if index > 4)


def test_what_is_left_is_asked_when_the_call_ends() -> None:
    heard = listen(tape_of(exchange(2)), judging())
    assert asked(heard.requests) == [[1, 3]]
    assert heard.events[-1].type == "call.ended"
    assert [e.type for e in heard.events[-3:-1]] == ["relevancy.judged"] * 2


def test_a_request_carries_the_slice_once_and_every_window_lies_in_it() -> None:
    heard = listen(tape_of(exchange(14)), judging(window_size=4))
    for request in heard.requests:
        shown = [line.index for line in request.lines]
        assert shown == list(range(shown[0], request.asked[-1].index + 1))
        assert shown[0] == request.asked[0].window[0]
        assert all(one.window == tuple(range(one.window[-1] - 3, one.index + 1)) for one in request.asked[2:])
    assert [(line.role, line.text) for line in heard.requests[0].lines[:2]] == [
        ("user", "question 0"),
        ("assistant", "answer 0"),
    ]


def test_a_verdict_is_due_so_long_after_it_was_asked_for() -> None:
    heard = listen(tape_of(exchange(7)), judging(deadline_s=7.5))
    assert [request.due_ms - request.at_ms for request in heard.requests] == [7500, 7500]
    assert {request.call for request in heard.requests} == {"call"}


def test_backchannels_are_neither_judged_nor_shown() -> None:
    talk = [
        Said("caller", 500, 1500, "tell me about it", 1800),
        Said("agent", 2000, 7000, "it is a long story", 2000),
        Said("caller", 4000, 4300, "mm-hm", 4600),
        Said("caller", 7800, 8600, "thanks", 8900),
        Said("agent", 9200, 10_000, "with pleasure", 9200),
    ]
    heard = listen(tape_of(talk), judging())
    assert {e.turn.index for e in of(heard.events, "turn.ended") if e.turn.backchannel} == {2}
    assert heard.texts()[2] == "mm-hm"
    assert [line.index for line in heard.requests[0].lines] == [0, 1, 3, 4]
    assert asked(heard.requests) == [[1, 4]]


def test_an_agent_backchannel_is_not_judged() -> None:
    talk = [
        Said("caller", 500, 6000, "it all began last week", 6300),
        Said("agent", 3000, 3300, "I see", 3000),
        Said("agent", 6600, 7600, "how can I help", 6600),
    ]
    heard = listen(tape_of(talk), judging())
    assert heard.verdicts() == {2: "yes"}
    assert of(heard.events, "relevancy.judged")[-1].relevancy.assistant_turns == 1


def test_a_turn_is_not_asked_about_before_the_words_of_the_caller_are_known() -> None:
    talk = exchange(1)
    late = [Text("caller", 5000, "a late question", "transcript"), Text("agent", 1500, "answer", "response")]
    heard = listen(tape_of(talk, late, length=20_000), judging(batch_size=1))
    assert heard.requests[0].at_ms == 5000
    assert heard.requests[0].lines[0].text == "a late question"


def test_words_of_the_caller_that_never_come_are_not_waited_for_for_ever() -> None:
    talk = exchange(3)
    texts = [Text(t, one.told or 0, one.text, k) for one in talk[:4] for t, k in [(one.track, _kind(one))]]
    texts.append(Text("agent", talk[5].start, "the last answer", "response"))
    heard = listen(tape_of(talk, texts, length=25_000), judging(batch_size=1))
    ended = {e.turn.index: e.known_at_ms for e in of(heard.events, "turn.ended")}
    assert asked(heard.requests) == [[1], [3], [5]]
    assert heard.requests[2].at_ms == ended[5] + 5000
    assert [line.text for line in heard.requests[2].lines] == [*(one.text for one in talk[:4]), "", "the last answer"]


def test_where_no_word_of_the_caller_is_known_nobody_is_asked() -> None:
    talk = exchange(2)
    heard = listen(tape_of([one._replace(told=None) if one.track == "caller" else one for one in talk]), judging())
    assert heard.requests == []
    assert heard.verdicts() == {1: "unscored", 3: "unscored"}
    assert {(e.batch, e.judge) for e in of(heard.events, "relevancy.judged")} == {(None, None)}
    assert (heard.summary["score"], heard.summary["unscored"], heard.summary["requests"]) == (None, 2, 0)


def test_a_greeting_before_the_caller_has_spoken_is_judged() -> None:
    heard = listen(tape_of([Said("agent", 500, 1500, "Hello, how can I help?", 500)]), judging())
    assert heard.verdicts() == {0: "yes"}


def test_a_turn_without_words_is_counted_and_not_judged() -> None:
    talk = [one._replace(told=None) if one.text == "answer 1" else one for one in exchange(3)]
    heard = listen(tape_of(talk), judging())
    assert heard.verdicts() == {1: "yes", 5: "yes"}
    assert of(heard.events, "relevancy.judged")[-1].relevancy.assistant_turns == 3


def test_live_interactions_are_judged_once_each_when_the_caller_goes_on() -> None:
    talk = [
        Said("caller", 500, 1500, "question", 1700),
        Said("agent", 1900, 2900, "one moment", 1900),
        Said("agent", 4500, 5500, "here it is", 4500),
        Said("caller", 5900, 6900, "thanks", 7100),
        Said("agent", 7400, 8400, "bye", 7400),
    ]
    heard = listen(tape_of(talk), judging(window_unit="interactions", batch_size=1))
    ended = {e.turn.index: e.known_at_ms for e in of(heard.events, "turn.ended")}
    assert asked(heard.requests) == [[2], [4]]
    assert [one.window for request in heard.requests for one in request.asked] == [(0, 1, 2), (0, 1, 2, 3, 4)]
    assert heard.requests[0].at_ms == ended[3]
    assert heard.summary["judged"] == 2


def _kind(said: Said) -> str:
    return "transcript" if said.track == "caller" else "response"
