"""What a caller hears of audio that comes ahead of its playing."""

from __future__ import annotations

from connectors.simulator.device import Heard, VirtualDevice


def test_bursts_play_back_to_back() -> None:
    device = VirtualDevice(buffer_ms=60)
    device.play(1000, 500, 1)
    device.play(1040, 1000, 1)
    assert device.heard == [Heard(1, 1060, 2560)]


def test_a_pause_in_the_delivery_is_not_heard_while_there_is_something_to_play() -> None:
    device = VirtualDevice(buffer_ms=0)
    device.play(0, 1000, 1)
    device.play(600, 2000, 1)
    assert device.heard == [Heard(1, 0, 3000)]


def test_a_cut_ends_what_plays_and_takes_what_waits() -> None:
    device = VirtualDevice(buffer_ms=0)
    device.play(10_000, 8000, 4)
    device.cut(11_200, 4)
    assert device.heard == [Heard(4, 10_000, 11_200)]
    assert device.unheard_ms == 6800
    device.play(11_300, 500, 4)
    assert device.dropped_ms == 500
    device.play(11_400, 500, 5)
    assert device.heard[-1] == Heard(5, 11_400, 11_900)


def test_a_cut_without_an_id_means_everything_so_far() -> None:
    device = VirtualDevice(buffer_ms=0)
    device.play(0, 1000, 7)
    device.cut(300, None)
    device.play(310, 1000, 7)
    device.play(320, 1000, 8)
    assert device.responses() == [Heard(7, 0, 300), Heard(8, 320, 1320)]


def test_a_response_that_ran_dry_is_still_one_response() -> None:
    device = VirtualDevice(buffer_ms=0)
    device.play(0, 100, 1)
    device.play(500, 100, 1)
    assert device.responses() == [Heard(1, 0, 600)]
    assert len(device.heard) == 2
