"""A tape with verdicts gives the same bytes again, with nobody to ask; and memory is bounded, however long the call."""

from __future__ import annotations

import random
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import inputs
from connectors.inputs import AnyInput, Text
from monitor.core.call import CallMonitor
from monitor.core.conversation import Conversation
from monitor.core.events import Turn
from monitor.core.giving_way import TimelineSettings
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.speech import SpeechSettings
from monitor.core.timeline import Timeline
from monitor.core.words import WordsSettings
from monitor.detectors import new_detector
from tests.builders import PER_MS, TRACKS, Speech, pieces, sound, started
from tests.core.relevancy.judged_calls import exchange, judging, listen, replay, says, tape_of, words


def test_a_tape_is_heard_again_byte_for_byte_without_a_judge() -> None:
    heard = listen(tape_of(exchange(20)), judging(), lambda r: says(r, "no" if r.batch == 1 else "yes"))
    body = msgspec.msgpack.encode(heard.tape)
    tape = msgspec.msgpack.decode(body, type=list[AnyInput])
    assert replay(tape, judging()) == heard.lines()
    assert sum(isinstance(given, inputs.Verdicts) for given in tape) == len(heard.requests) == 4


@given(st.integers(0, 1 << 30))
@settings(max_examples=15)
def test_what_is_asked_does_not_depend_on_how_the_audio_was_cut(seed: int) -> None:
    """Words that are known beforehand are placed, and the judge is asked, at the same media times."""
    rng = random.Random(seed)
    talk = exchange(8)
    texts = [words(one) for one in talk]
    length = talk[-1].end + 3000
    tracks = sound([Speech(one.track, one.start, one.end) for one in talk], length)
    outcomes = []
    for sizes in ([[160] * 4000] * 2, [[rng.choice((80, 333, 8000, 23_200)) for _ in range(2000)] for _ in TRACKS]):
        audio = [one for t, s in zip(TRACKS, sizes, strict=True) for one in pieces(t, tracks[t], s)]
        audio.sort(key=lambda one: one.at)
        monitor = CallMonitor(judging(batch_size=3), new_detector("energy"))
        events, requests = [], []
        for given_input in [started(), *texts, *audio, inputs.CallEnded(length, "hangup")]:
            events += monitor.feed(given_input)
            requests += monitor.questions()
        outcomes.append(([msgspec.to_builtins(e) for e in events], requests))
    assert outcomes[0] == outcomes[1]
    assert [len(request.asked) for request in outcomes[0][1]] == [3, 3, 2]
    assert length * PER_MS > 0


def conversation() -> Conversation:
    """The words and verdicts of a call, without its audio."""
    timeline = Timeline(TimelineSettings(), SpeechSettings())
    return Conversation(timeline, WordsSettings(), RelevancySettings())


def go_on(talk: Conversation, turns: range, answer: bool) -> int:
    """So many turns, each with words, with texts of no turn between them. -> how many requests were put."""
    requests = 0
    for index in turns:
        at = 2000 * index
        turn = Turn(index=index, role="assistant" if index % 2 else "user", start_ms=at, duration_ms=1500)
        track: inputs.Track = "agent" if index % 2 else "caller"
        talk.started(turn, at + 100)
        talk.take(Text(track, at + 50, "so it goes, " * 20 + str(index), "response", index, turn=index), at + 200)
        talk.take(Text("agent", at + 60, "of a response that never came", "response", 10**6 + index), at + 300)
        if index % 50 == 0:
            talk.take(Text(track, at + 60, "of another call", "transcript", start=at + 10**9), at + 300)
        talk.heard.delivered(index, 24_000)
        talk.ended(turn, at + 1600)
        talk.look(at + 1700)
        for request in talk.relevancy.questions:
            requests += 1
            if answer:
                talk.take(says(request, "yes"), at + 1700)
        talk.relevancy.questions = []
    return requests


@pytest.mark.parametrize("answer", [True, False], ids=["answered", "unanswered"])
def test_memory_is_bounded_on_a_long_call(answer: bool) -> None:
    talk = conversation()
    tracemalloc.start()
    try:
        go_on(talk, range(800), answer)
        before = tracemalloc.get_traced_memory()[0]
        assert go_on(talk, range(800, 1200), answer) == 40
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert before > 200_000
    assert grown < 30_000
    state = talk.relevancy.score.state
    assert state.assistant_turns == 600
    assert state.judged + state.unscored + talk.relevancy.waiting == 600


def test_questions_that_nobody_fetches_do_not_pile_up() -> None:
    talk = conversation()
    for index in range(3000):
        turn = Turn(index=index, role="assistant" if index % 2 else "user", start_ms=1000 * index, duration_ms=900)
        talk.started(turn, 1000 * index)
        talk.take(Text("agent" if index % 2 else "caller", 0, "words", "response", turn=index), 1000 * index)
        talk.ended(turn, 1000 * index + 900)
    assert len(talk.relevancy.questions) <= 65
    assert talk.relevancy.waiting <= 64 * 6
