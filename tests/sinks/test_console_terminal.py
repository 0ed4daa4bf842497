"""The feed on a terminal: colours, columns, and one line at the bottom that redraws."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len

from monitor.core.call import Status
from monitor.core.events import Event
from monitor.sinks.console import ConsoleSink
from monitor.sinks.progress import Progress
from tests.sinks.screens import Screen, Script, bare, show, terminal_of, whole_call

ERASE = "\r\x1b[2K"


def state(
    call: str = "call-1",
    now_ms: int = 0,
    speaking: tuple[str, ...] = (),
    waiting_ms: int | None = None,
    score: float | None = None,
    transitions: int = 0,
    ended: bool = False,
) -> Status:
    """How a call stands."""
    return Status(call, now_ms, speaking, waiting_ms, score, transitions, ended)


def bottom_of(screen: Screen, *states: Status, told: list[Event] | None = None, **how: Any) -> str:
    """The status line as it stands after `told`, colours taken away."""

    async def run() -> None:
        sink = ConsoleSink(screen, lambda: states, **how)
        await sink.open()
        for event in told or []:
            await sink.deliver(event)
        await screen.until(ERASE)
        last = bare(screen.getvalue()).rsplit(ERASE, 1)[-1]
        await sink.close()
        assert screen.getvalue().endswith(ERASE)
        found.append(last)

    found: list[str] = []
    asyncio.run(run())
    return found[0]


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


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (state(now_ms=400, speaking=("agent",)), " 00:00  agent speaks"),
        (
            state(now_ms=5120, speaking=("caller",), score=0.72, transitions=1),
            " 00:05  caller speaks 1.0 s    call 0.72 ███████▎   1 transition",
        ),
        (state(now_ms=65_000, speaking=("caller", "agent")), " 01:05  both speak"),
        (
            state(now_ms=9000, waiting_ms=2400, score=0.5, transitions=12),
            " 00:09  caller waits 2.4 s     call 0.50 █████      12 transitions",
        ),
        (state(now_ms=9000, waiting_ms=100), " 00:09  quiet"),
    ],
)
def test_the_status_line_says_who_speaks_who_waits_and_the_score(
    monkeypatch: pytest.MonkeyPatch, now: Status, shown: str
) -> None:
    told = list(whole_call()[:4])
    assert bottom_of(terminal_of(monkeypatch, 100), now, told=told).rstrip() == shown


def test_waiting_goes_from_plain_to_red(monkeypatch: pytest.MonkeyPatch) -> None:
    colours = []
    for waiting_ms in (500, 2000, 5000):
        screen = terminal_of(monkeypatch, 100)
        bottom_of(screen, state(now_ms=9000, waiting_ms=waiting_ms))
        text = screen.getvalue()
        colours.append(text[text.index("waits") - 7 : text.index("waits")].rpartition("\x1b")[2])
    assert colours == ["[0m", "[33m", "[1;31m"]


def test_several_calls_share_the_status_line_the_most_pressing_first(monkeypatch: pytest.MonkeyPatch) -> None:
    states = (
        state("one", 1000, ("agent",), score=0.9),
        state("two", 1000, (), 3100, score=0.4),
        state("gone", 9000, ended=True),
        state("three", 1000),
    )
    bottom = bottom_of(terminal_of(monkeypatch, 100), *states)
    assert bottom == " 3 calls  │ two caller waits 3.1 s 0.40 │ one agent speaks 0.90 │ three quiet"


@pytest.mark.parametrize("width", [8, 20, 40])
def test_the_status_line_never_wraps(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    states = tuple(state(f"\u4f60\u597d-{number}", 1000, ("agent",), score=0.9) for number in range(20))
    assert cell_len(bottom_of(terminal_of(monkeypatch, width), *states)) < width


def test_lines_push_the_status_line_down_and_leave_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 100)

    async def run() -> None:
        sink = ConsoleSink(screen, lambda: [state(now_ms=1000, speaking=("agent",))])
        await sink.open()
        await screen.until(ERASE)
        bottom = screen.getvalue()
        await sink.deliver(whole_call()[2])
        line = screen.getvalue().removeprefix(bottom)
        assert line.startswith(ERASE)
        assert line.endswith("\n" + bottom.removeprefix(ERASE))
        await sink.close()

    asyncio.run(run())
    assert screen.getvalue().endswith(ERASE)


def test_a_list_of_calls_that_changes_under_the_reader_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def status() -> list[Status]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise RuntimeError("dictionary changed size during iteration")
        return [state(now_ms=7000)]

    screen = terminal_of(monkeypatch, 80)
    monkeypatch.setattr("monitor.sinks.console._REFRESH_S", 0.001)

    async def run() -> None:
        sink = ConsoleSink(screen, status)
        await sink.open()
        await screen.until("00:07")
        await sink.close()

    asyncio.run(run())


def test_progress_stands_in_the_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    progress = Progress(100_000, drawn=False, clock=lambda: now[0])
    progress.advance(50_000)
    now[0] = 1.0
    bottom = bottom_of(terminal_of(monkeypatch, 120), state(now_ms=50_000), progress=progress)
    assert bottom.endswith(" 50% ██████████           50× the speed of the call, 1 s left")


def test_on_a_real_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_of(monkeypatch, 90)
    master, slave = pty.openpty()
    try:
        with open(slave, "w", encoding="utf-8", closefd=False) as terminal:
            _deliver_all(lambda: ConsoleSink(terminal, lambda: [state(now_ms=1000)]))
        text = os.read(master, 65536).decode()
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
