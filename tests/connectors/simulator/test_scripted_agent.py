"""The agent's behaviour, without a socket and without waiting."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.simulator.agent import (
    Action,
    AgentWords,
    CallerWords,
    Correct,
    Deliver,
    HangUp,
    Interrupt,
    ScriptedAgent,
    first_words,
)
from connectors.simulator.habits import Habits
from connectors.simulator.scenario import AfterCaller, AgentLine, AtTime, OverCaller, Scenario

LONG = AgentLine(AtTime(0), "agent_address", "one two three four five six seven eight nine ten", 10_000)
REPLY = AgentLine(AfterCaller(500), "agent_noted", "Noted.", 1000)
Timed = list[tuple[int, Action]]


def scenario(*lines: AgentLine, **fields: object) -> Scenario:
    return Scenario("test", "", lines, **fields)  # type: ignore[arg-type]


def act(agent: ScriptedAgent, speech: list[tuple[int, int]], until: int = 30_000) -> Timed:
    """What the agent does while the caller speaks in the given stretches of ms, on a clock of 20 ms."""
    noise, done = np.random.default_rng(0), []
    for now in range(0, until, 20):
        done += [(now, action) for action in agent.advance(now)]
        loud = 3000 if any(start <= now < end for start, end in speech) else 5
        agent.hearing.hear(now + 20, noise.normal(0, loud, 160).astype("<i2").tobytes())
    return done


def first(done: Timed, kind: type) -> tuple[int, Action]:
    return next((now, action) for now, action in done if isinstance(action, kind))


def count(done: Timed, kind: type) -> int:
    return sum(isinstance(action, kind) for _, action in done)


def starts(done: Timed) -> list[int]:
    return [now for now, action in done if isinstance(action, AgentWords)]


def test_it_greets_then_answers_a_pause_then_hangs_up() -> None:
    greeting = AgentLine(AtTime(300), "agent_noted", "Hello.", 1000)
    done = act(ScriptedAgent(scenario(greeting, REPLY, hang_up_ms=900), Habits(), words=("Hi.",)), [(2000, 3000)])
    assert starts(done) == [300, 3500]
    assert [action for _, action in done if isinstance(action, CallerWords)] == [CallerWords("Hi.", 2)]
    assert first(done, HangUp)[0] == 3500 + 1000 + 900
    assert count(done, HangUp) == 1


def test_a_listeners_noise_inside_a_line_is_passed_over() -> None:
    done = act(ScriptedAgent(scenario(LONG, REPLY), Habits()), [(4000, 4300)], until=15_000)
    assert count(done, Interrupt) == 0
    assert starts(done) == [0]
    assert count(done, CallerWords) == 1  # it is transcribed all the same


def test_a_barge_in_interrupts_and_is_answered() -> None:
    done = act(ScriptedAgent(scenario(LONG, REPLY, yield_ms=400), Habits()), [(5000, 7000)])
    now, interrupt = first(done, Interrupt)
    assert now == 5400
    assert interrupt == Interrupt(1)
    assert first(done, Correct) == (5400, Correct(LONG.text, "one two three four five", 1))
    assert starts(done) == [0, 7500]


def test_what_was_still_to_be_sent_of_a_cut_line_is_not_sent() -> None:
    drip = Habits(ratio=1.0, burst_ms=(100, 100))
    done = act(ScriptedAgent(scenario(LONG, REPLY), drip), [(1000, 3000)], until=3000)
    assert max(action.end_ms for _, action in done if isinstance(action, Deliver)) == 1500


def test_a_line_that_does_not_yield_is_spoken_to_its_end() -> None:
    stubborn = AgentLine(AtTime(0), "agent_address", "…", 5000, interruptible=False)
    done = act(ScriptedAgent(scenario(stubborn, REPLY), Habits()), [(1000, 3000)], until=9000)
    assert count(done, Interrupt) == 0
    assert starts(done) == [0]


def test_speech_that_outlasts_a_line_is_answered() -> None:
    stubborn = AgentLine(AtTime(0), "agent_address", "…", 2000, interruptible=False)
    done = act(ScriptedAgent(scenario(stubborn, REPLY), Habits()), [(1000, 3000)], until=9000)
    assert starts(done) == [0, 3500]


def test_it_can_talk_over_the_caller_and_then_waits_for_the_next_turn() -> None:
    over = AgentLine(OverCaller(1500), "agent_noted", "Got it.", 2000, interruptible=False)
    done = act(ScriptedAgent(scenario(over, REPLY), Habits()), [(1000, 3200), (6000, 7000)], until=12_000)
    assert starts(done) == [2500, 7500]


def test_an_agent_that_wanted_to_talk_over_answers_a_caller_who_stops_earlier() -> None:
    over = AgentLine(OverCaller(5000, 600), "agent_noted", "Got it.", 2000)
    assert starts(act(ScriptedAgent(scenario(over), Habits()), [(1000, 2000)], until=4000)) == [2600]


def test_without_a_script_the_transcript_says_how_long_the_speech_was() -> None:
    done = act(ScriptedAgent(scenario(REPLY), Habits()), [(1000, 3000)], until=5000)
    assert first(done, CallerWords)[1] == CallerWords("(2.0 s of speech)", 1)


@pytest.mark.parametrize(("habit", "named"), [("response", 1), ("later", 2), ("missing", None)])
def test_an_interruption_names_what_the_habit_says(habit: str, named: int | None) -> None:
    agent = ScriptedAgent(scenario(LONG, REPLY), Habits(interruption_id=habit))  # type: ignore[arg-type]
    done = act(agent, [(5000, 7000)])
    assert first(done, Interrupt)[1] == Interrupt(named)
    reply = [action.event for _, action in done if isinstance(action, Deliver)][-1]
    assert reply > (named or 1)


def test_late_audio_of_a_cut_line_comes_after_the_interruption_under_its_id() -> None:
    done = act(ScriptedAgent(scenario(LONG, REPLY), Habits(late_ms=1500)), [(5000, 7000)])
    actions = [action for _, action in done]
    late = actions[actions.index(Interrupt(1)) + 1]
    assert isinstance(late, Deliver)
    assert (late.event, late.end_ms - late.start_ms) == (1, 1500)


def test_a_repeating_scenario_goes_on_with_the_second_line() -> None:
    greeting = AgentLine(AtTime(0), "agent_noted", "Hello.", 200)
    agent = ScriptedAgent(scenario(greeting, REPLY, repeat=True, hang_up_ms=None), Habits())
    done = act(agent, [(1000, 1500), (4000, 4500), (7000, 7500)], until=12_000)
    assert starts(done) == [0, 2000, 5000, 8000]
    assert count(done, HangUp) == 0


def test_a_text_conversation_takes_no_time_to_speak() -> None:
    agent = ScriptedAgent(scenario(LONG, REPLY), Habits(), voice=False)
    assert agent.advance(0) == [AgentWords(LONG.text, 1)]
    agent.type(100, "Hello there")
    done = [action for now in range(100, 1000, 50) for action in agent.advance(now)]
    assert done == [CallerWords("Hello there", 2), AgentWords("Noted.", 3)]


def test_a_call_can_be_ended_at_a_given_time() -> None:
    done = act(ScriptedAgent(scenario(LONG), Habits(end_at=4000)), [])
    assert first(done, HangUp)[0] == 4000


def test_first_words_are_whole_words() -> None:
    assert first_words("one two three", 0) == ""
    assert first_words("one two three", 0.7) == "one two"
    assert first_words("one two three", 1.2) == "one two three"


def test_a_barge_in_is_answered_even_if_it_was_over_when_the_agent_noticed() -> None:
    agent = ScriptedAgent(scenario(LONG, REPLY, yield_ms=400), Habits())
    noise = np.random.default_rng(0)
    done: Timed = [(0, action) for action in agent.advance(0)]
    for now in range(0, 5000, 20):
        loud = 3000 if 2000 <= now < 2500 else 5
        agent.hearing.hear(now + 20, noise.normal(0, loud, 160).astype("<i2").tobytes())
        if not 2000 <= now < 2600:  # meanwhile the program was busy elsewhere
            done += [(now, action) for action in agent.advance(now)]
    assert first(done, Interrupt)[0] == 2600
    assert starts(done) == [0, 2980]
