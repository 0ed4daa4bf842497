"""The feed on a terminal: colours, columns, and one line at the bottom that redraws."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from monitor.sinks.console import ConsoleSink
from tests.sinks.screens import Screen, Script, show, state, terminal_of, whole_call


def test_a_whole_call_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = show(whole_call(), terminal_of(monkeypatch, 100))
    assert lines == [
        "00:00.000  call    ▶ call-1 · twilio · agent ada · team=east · caller mulaw 8 kHz · agent mulaw 8 kHz",
        "00:03.300  agent   ━━━━━━ 2.9 s  “Hello, this is Ada.”",
        "00:04.120  caller  → speaks 0.82 s after the agent                 0.72   call 0.72",
        "00:07.000  agent   ≈ talks over the caller",
        "00:07.400  caller  ━━━━━━━ 3.3 s, interrupted  “I'd like to change my booking.”",
        "00:07.000  agent   ≈ talked over the caller for 0.40 s             0.51   call 0.62",
        "00:08.000  caller  ↯ barges in on the agent",
        "00:08.500  caller  ━ 0.5 s backchannel, no barge-in  “mm-hm”",
        "00:11.000  caller  ↯ barges in on the agent",
        "00:11.600  agent   ━━━━━━━━━ 4.6 s, cut off",
        "00:11.000  caller  ↯ barged in: both spoke for 0.60 s              0.74   call 0.66",
        "00:12.000  agent   ▲ gap: no agent audio has been coming since 11.900 s",
        "00:12.500          ▲ bad_payload (3×): pieces that cannot be used",
        "00:14.000  caller  ━━━━━━ 3.0 s, until the call ended",
        "00:14.000  call    ■ call-1 ended: hangup",
        "           turn-taking    0.81 ████████▏   4 transitions: 3 gaps, 1 caller barge-in",
        "           turns          caller 3 · agent 2",
        "           talk           caller 6.0 s · agent 8.2 s · both 0.5 s · nobody 4.0 s",
        "           agent answers  0.62 s in the middle, 0.90 s at p95, slowest 0.91 s",
        "           barge-ins      caller 1 · agent 0 · backchannels 1 · agent gives way in 0.50 s",
        "           trouble        dead air 2× (9.5 s) · interrupted for nothing 1×",
        "           notices        gap 2",
    ]


def test_the_two_parties_and_good_and_poor_scores_have_colours_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 100)
    script = Script().begins(0, "user", 0).begins(1, "assistant", 500)
    script.passes(0, 1, "gap", 500, 100, 0.96, 0.96).begins(2, "user", 900).passes(1, 2, "gap", 900, 3000, 0.3, 0.63)
    show(script.told, screen)
    text = screen.getvalue()
    assert "\x1b[1;35magent " in text
    assert "\x1b[1;36mcaller" in text
    assert "\x1b[32m0.96" in text
    assert "\x1b[1;31m0.30" in text
    assert "\x1b[33m0.63" in text


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 100, NO_COLOR="1")
    show(whole_call(), screen)
    assert "\x1b" not in screen.getvalue()
    assert "━━━━━━ 2.9 s" in screen.getvalue()


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "unknown"}])
def test_a_dumb_terminal_gets_plain_lines_and_no_status_line(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    screen = terminal_of(monkeypatch, 100, **environment)
    show(whole_call(), screen, status=lambda: [state(now_ms=1000)])
    assert "\x1b" not in screen.getvalue()
    assert "spoke 2.9 s" in screen.getvalue()


def test_colours_are_not_forced_on_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_of(monkeypatch, 100, FORCE_COLOR="1")
    screen = Screen()
    show(whole_call(), screen, status=lambda: [state(now_ms=1000)])
    assert "\x1b" not in screen.getvalue()


@pytest.mark.parametrize("words", ["[red]x[/]", "\x1b[2J", "\x1b]0;owned\x07", "\u202e\u2066", "\ud83d", "\x9b2J"])
def test_words_do_nothing_on_a_terminal(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    screen = terminal_of(monkeypatch, 100)
    (line,) = show(Script(words).ends(0, "user", 0, 1000, words).told, screen, many=True)
    assert not any(character in line for character in "\x1b\x07\u202e\u2066\ud83d\x9b")
    if words.startswith("[red]"):
        assert "“[red]x[/]”" in line


@pytest.mark.parametrize("width", [36, 50, 64, 79, 120])
@pytest.mark.parametrize(
    "words", ["word " * 40, "\u4f60\u597d" * 60, "\U0001f600" * 50], ids=["latin", "wide", "emoji"]
)
def test_words_are_shortened_to_the_width(monkeypatch: pytest.MonkeyPatch, width: int, words: str) -> None:
    lines = show(Script().ends(0, "user", 0, 3000, words).told, terminal_of(monkeypatch, width))
    assert lines[-1].endswith("…”")
    assert all(cell_len(line) <= width for line in lines)
    assert cell_len(lines[-1]) >= width - 3


@pytest.mark.parametrize("width", [20, 45, 60, 72])
def test_a_narrow_terminal_keeps_the_words_that_matter(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = "\n".join(show(whole_call(), terminal_of(monkeypatch, width), many=width > 50))
    for part in ("barged in: both spoke for 0.60 s", "answers  0.62 s", "0.81", "mm-hm", "backchannels 1"):
        assert part in text


def test_each_call_has_a_column_and_a_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 120)
    lines = show([*whole_call("one")[:3], *whole_call("two")[:3]], screen, many=True)
    assert [line[:13] for line in lines] == ["one          ", "one          ", "two          ", "two          "]
    assert "\x1b[1;34mone" in screen.getvalue()
    assert "\x1b[1;32mtwo" in screen.getvalue()


def test_on_a_real_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_of(monkeypatch, 90)
    master, slave = pty.openpty()
    try:
        with open(slave, "w", encoding="utf-8", closefd=False) as terminal:
            _deliver_all(lambda: ConsoleSink(terminal, lambda: [state(now_ms=1000)]))
        shown = b""
        while b"notices" not in shown:  # it comes in pieces
            shown += os.read(master, 65536)
        text = shown.decode()
        assert "\x1b[1;35magent " in text
        assert "━━━━━━" in text
    finally:
        os.close(slave)
        os.close(master)


def _deliver_all(make: Callable[[], ConsoleSink]) -> None:
    async def run() -> None:
        sink = make()
        await sink.open()
        for event in whole_call():
            await sink.deliver(event)
        await sink.close()

    asyncio.run(run())
