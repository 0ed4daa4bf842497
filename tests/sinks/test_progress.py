"""Progress of a recording that is read as fast as it goes."""

from __future__ import annotations

import pytest

from monitor.sinks.progress import Progress
from tests.sinks.screens import Screen, bare, terminal_of

ERASE = "\r\x1b[2K"


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_says_how_much_how_fast_and_how_long_still(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, clock = terminal_of(monkeypatch, 80), Clock()
    progress = Progress(3_600_000, screen, clock=clock)
    progress.advance(200_000)
    assert screen.getvalue() == ""
    clock.now += 1
    progress.advance(1_800_000)
    assert bare(screen.getvalue()) == f"{ERASE} 50% ██████████           1,800× the speed of the call, 1 s left"
    clock.now += 0.01
    progress.advance(1_900_000)
    assert screen.getvalue().count(ERASE) == 1
    progress.close()
    assert screen.getvalue().endswith(ERASE)
    progress.close()
    assert screen.getvalue().count(ERASE) == 2


def test_without_a_known_length_it_says_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, clock = terminal_of(monkeypatch, 80), Clock()
    progress = Progress(None, screen, clock=clock)
    clock.now += 60
    progress.advance(90_000)
    assert screen.getvalue() == f"{ERASE}1.5 min, 1.5× the speed of the call"


def test_what_is_over_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, clock = terminal_of(monkeypatch, 80), Clock()
    progress = Progress(1000, screen, clock=clock)
    clock.now += 0.3
    progress.advance(1000)
    progress.close()
    assert screen.getvalue() == ""


def test_away_from_a_terminal_nothing_is_drawn() -> None:
    screen, clock = Screen(), Clock()
    progress = Progress(1000, screen, clock=clock)
    clock.now += 10
    progress.advance(1000)
    progress.close()
    assert screen.getvalue() == ""
    assert progress.text().startswith("100%")


def test_more_than_promised_is_no_more_than_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    progress = Progress(1000, terminal_of(monkeypatch, 80), clock=clock)
    clock.now += 1
    progress.advance(5000)
    assert progress.text() == "100% ████████████████████ 5.0× the speed of the call, 0 s left"


def test_it_never_goes_back() -> None:
    clock = Clock()
    progress = Progress(10_000, Screen(), clock=clock)
    clock.now += 1
    progress.advance(5000)
    progress.advance(4000)
    assert progress.text().startswith(" 50%")
