"""A disk at its limit refuses and takes by turns: one trouble is told as one."""

from __future__ import annotations

import logging

import pytest

from monitor.sinks.disk_trouble import REMIND_S, STEADY_S, DiskTrouble

log = logging.getLogger("turnwatch.test")


class Disk:
    """`now`: seconds."""

    def __init__(self) -> None:
        self.now = 100.0
        self.trouble = DiskTrouble(log, lambda: self.now)

    def refuse(self, seconds: float = 1.0) -> None:
        self.trouble.fails("it is full")
        self.now += seconds

    def take(self, seconds: float = 1.0, *, dear: bool = False, last: bool = False) -> bool:
        over = self.trouble.works(lambda: "it takes again", dear=dear, last=last)
        self.now += seconds
        return over


def test_a_disk_that_takes_and_refuses_by_turns_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    for _ in range(200):
        disk.refuse()
        assert disk.trouble.refused
        disk.take(2.0)
        assert not disk.trouble.refused
        assert disk.trouble.lasts
    assert caplog.messages == ["it is full"]


def test_it_is_over_when_it_has_been_well_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    disk.refuse()
    assert [disk.take() for _ in range(8)].index(True) == STEADY_S
    assert not disk.trouble.lasts
    assert caplog.messages == ["it is full", "it takes again"]


def test_trouble_that_comes_again_is_told_after_ten_minutes_with_how_often(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    while disk.now < 100 + REMIND_S + 60:
        disk.refuse()
        for _ in range(29):
            disk.take()
    assert caplog.messages == [
        "it is full",
        "it takes again",
        caplog.messages[2],
        "it takes again",
        *caplog.messages[4:],
    ]
    assert caplog.messages[2] == "it is full (it was so 19 times more since that was told last)"
    assert len(caplog.messages) == 4


def test_trouble_that_stays_is_told_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    disk.refuse()
    disk.take(10)
    disk.take()
    for _ in range(700):
        disk.refuse()
    assert caplog.messages == ["it is full", "it takes again", "it is full"]


def test_the_end_and_what_was_lost_are_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    disk.refuse()
    assert disk.take(last=True)
    disk.refuse()
    disk.take(10)
    assert disk.take(dear=True)
    assert caplog.messages == ["it is full", "it takes again", "it takes again"]
    assert not disk.take()
