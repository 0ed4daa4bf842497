"""The feed where nobody sits in front of it: plain lines that a person, `grep` and a log can read."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path

import pytest

from monitor.core import events
from monitor.core.events import Turn
from monitor.sinks.console import ConsoleSink
from tests.sinks.screens import Screen, Script, show, whole_call

WHOLE = """\
00:00.000  call    ▶ call-1 · twilio · agent ada · team=east · caller mulaw 8 kHz · agent mulaw 8 kHz
00:03.300  agent   ● spoke 2.9 s: “Hello, this is Ada.”
00:04.120  caller  → speaks 0.82 s after the agent  score 0.72, call 0.72
00:07.000  agent   ≈ talks over the caller
00:07.400  caller  ● spoke 3.3 s, interrupted: “I'd like to change my booking.”
00:07.000  agent   ≈ talked over the caller for 0.40 s  score 0.51, call 0.62
00:08.000  caller  ↯ barges in on the agent
00:08.500  caller  · spoke 0.5 s backchannel, no barge-in: “mm-hm”
00:11.000  caller  ↯ barges in on the agent
00:11.600  agent   ● spoke 4.6 s, cut off
00:11.000  caller  ↯ barged in: both spoke for 0.60 s  score 0.74, call 0.66
00:12.000  agent   ▲ gap: no agent audio has been coming since 11.900 s
00:12.500          ▲ bad_payload (3×): pieces that cannot be used
00:14.000  caller  ● spoke 3.0 s, until the call ended
00:14.000  call    ■ call-1 ended: hangup
          turn-taking    0.81  4 transitions: 3 gaps, 1 caller barge-in
          turns          caller 3 · agent 2
          talk           caller 6.0 s · agent 8.2 s · both 0.5 s · nobody 4.0 s
          agent answers  0.62 s in the middle, 0.90 s at p95, slowest 0.91 s
          barge-ins      caller 1 · agent 0 · backchannels 1 · agent gives way in 0.50 s
          trouble        dead air 2× (9.5 s) · interrupted for nothing 1×
          notices        gap 2
"""


def test_a_whole_call() -> None:
    screen = Screen()
    show(whole_call(), screen)
    assert screen.getvalue() == WHOLE


def test_an_answer_that_changes_is_told_again_and_one_that_does_not_is_not() -> None:
    script = Script().begins(0, "user", 0).begins(1, "assistant", 2000)
    script.passes(0, 1, "gap", 2000, 300, 0.9, 0.9, final=False).passes(0, 1, "gap", 2000, 310, 0.9, 0.9)
    script.begins(2, "user", 5000).passes(1, 2, "gap", 5000, 0, 1.0, 0.95, final=False)
    script.passes(1, 2, "user_barge_in", 5000, -80, 0.96, 0.93, final=False)
    script.passes(1, 2, "gap", 5000, 400, 0.85, 0.88)
    assert show(script.told) == [
        "00:02.000  agent   → answers 0.30 s after the caller  score 0.90, call 0.90",
        "00:05.000  caller  → speaks 0.00 s after the agent  score 1.00, call 0.95",
        "00:05.000  caller  ↯ barges in on the agent",
        "00:05.000  caller  → speaks 0.40 s after the agent  score 0.85, call 0.88",
    ]


def test_what_is_withdrawn_for_another_reason_is_said() -> None:
    script = Script().begins(0, "assistant", 0).begins(1, "user", 900)
    script.passes(0, 1, "user_barge_in", 900, -100, 0.95, 0.95, final=False)
    script.withdraws(0, 1, 900, "another turn came between")
    assert show(script.told)[-1] == "00:00.900  caller  · no barge-in: another turn came between"


def test_words_that_come_late_have_a_line_of_their_own() -> None:
    turn = Turn(index=0, role="assistant", start_ms=0, duration_ms=900)
    script = Script().add(events.TurnText, 900, turn=turn, text="One mo", reason="correction")
    assert show(script.told) == ["00:00.900  agent     was heard to say: “One mo”"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("[red]x[/]", "[red]x[/]"),
        ("[/nothing]", "[/nothing]"),
        ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
        ("one\r\ntwo\tthree\x0b", "one two three"),
        ("\x9b31m", "\\x9b31m"),
        ("caf\u00e9 \u2192 \u4f60\u597d \U0001f600", "caf\u00e9 \u2192 \u4f60\u597d \U0001f600"),
        ("half \ud83d", "half \ufffd"),
        ("e\u0301", "e\u0301"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("z" + "\u0301" * 90 + "algo", "z\u0301\u0301\u0301algo"),
        ("a" * 5000, "a" * 399 + "…"),
    ],
)
def test_words_are_shown_and_do_nothing(words: str, shown: str) -> None:
    """B71, and every trick with it."""
    assert show(Script().ends(0, "user", 0, 1000, words).told) == [f"00:01.000  caller  ● spoke 1.0 s: “{shown}”"]


def test_ids_labels_and_messages_from_outside_do_nothing_either() -> None:
    bad = "\x1b[2J[bold]\u202e"
    script = Script(f"c{bad}").started(agent_id=bad, labels={bad: bad}, source=bad).notices(5, bad, bad)
    script.withdraws(0, 1, 9, bad).hangs_up(10, notices={bad: 1})
    text = "\n".join(show(script.told))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_what_the_screen_has_no_character_for_becomes_plainer(encoding: str) -> None:
    """B71."""
    screen = Screen(encoding=encoding)
    lines = show([*whole_call()[:5], *Script().ends(0, "user", 0, 1000, "caf\u00e9 \u2192 \u4f60").told], screen)
    screen.getvalue().encode(encoding)
    assert lines[2].startswith("00:04.120  caller  > speaks 0.82 s after the agent")
    cafe = "caf?" if encoding == "ascii" else "caf\u00e9"
    quotes = "“”" if encoding == "cp1252" else '""'
    assert lines[-1] == f"00:01.000  caller  * spoke 1.0 s: {quotes[0]}{cafe} > ?{quotes[1]}"


def test_several_calls_are_told_apart() -> None:
    first, second = whole_call("monday"), whole_call("a-very-long-call-identifier-0007")
    lines = show([event for pair in zip(first, second, strict=True) for event in pair], many=True)
    assert lines[0].startswith("monday  00:00.000  call    ▶ monday")
    assert lines[1].startswith("a-v…ier-0007  00:00.000  call    ▶ a-very-long")
    assert all(line.startswith(("monday  ", "a-v…ier-0007  ")) for line in lines)


def test_lines_are_marked_from_the_second_call_on() -> None:
    lines = show([*whole_call("one")[:3], *whole_call("two")[:3]])
    assert [line[:5] for line in lines] == ["00:00", "00:03", "two  ", "two  "]


def test_an_event_of_a_new_kind_is_named() -> None:
    class AgentChanged(events.Event, frozen=True, kw_only=True):
        type = "agent.changed"
        message: str

    assert show(Script().add(AgentChanged, 60_000, message="slow\x1b").told) == [
        "01:00.000          · agent.changed slow\\x1b"
    ]


def test_a_call_of_hours_keeps_its_minutes() -> None:
    assert show(Script().notices(3_661_001, "late_audio", "late").told) == ["61:01.001          ▲ late_audio: late"]


def test_a_reader_who_leaves_ends_the_sink_with_one_clear_error() -> None:
    """B68."""

    async def run() -> None:
        reader, writer = os.pipe()
        with open(writer, "w", encoding="utf-8") as pipe:
            sink = ConsoleSink(pipe)
            await sink.open()
            await sink.deliver(whole_call()[0])
            os.close(reader)
            with pytest.raises(BrokenPipeError):
                await sink.deliver(whole_call()[0])
            await sink.close()
            # Nothing is left in Python's buffer to fail when the program ends.
            pipe.flush()

    asyncio.run(run())


def test_a_closed_stream_counts_as_a_reader_who_left() -> None:
    screen = io.StringIO()
    screen.close()
    with pytest.raises(BrokenPipeError):
        show(whole_call(), screen)  # type: ignore[arg-type]


def test_what_was_printed_before_comes_before(tmp_path: Path) -> None:
    path = tmp_path / "feed.txt"
    with path.open("w", encoding="utf-8") as file:
        file.write("before\n")

        async def run() -> None:
            sink = ConsoleSink(file)
            await sink.open()
            await sink.deliver(whole_call()[2])
            await sink.close()

        asyncio.run(run())
        file.write("after\n")
    lines = path.read_text("utf-8").splitlines()
    assert lines == ["before", "00:03.300  agent   ● spoke 2.9 s: “Hello, this is Ada.”", "after"]
