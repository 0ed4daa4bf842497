"""The status line: who speaks, who waits, the score, redrawn in place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rich.cells import cell_len

from monitor.core.call import Status
from monitor.core.events import Event
from monitor.sinks.console import ConsoleSink
from monitor.sinks.progress import Progress
from tests.sinks.screens import ERASE, Screen, bare, state, terminal_of, whole_call


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
