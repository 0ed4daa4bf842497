"""How loud a stretch is, and where that lets it begin and end."""

from __future__ import annotations

from monitor.core.levels import KEPT_FRAMES, LOUD_FRAMES, Levels

LOUD = 10**9


def levels(*energies: int, first: int = 0) -> Levels:
    found = Levels(first, trim_db=33.0, trim_frames=10)
    found.extend(list(energies))
    return found


def test_a_frame_is_found_by_its_place_on_the_track() -> None:
    assert levels(5, 6, 7, first=100)[101] == 6
    assert levels(5, 6, 7, first=100).since(101) == [6, 7]


def test_one_loud_frame_in_many_does_not_decide() -> None:
    assert levels(*[LOUD // 3000] * 60, LOUD, LOUD).end(62, 0) == 62
    assert levels(LOUD, *[LOUD // 3000] * 60).end(61, 0) == 61


def test_neither_end_goes_past_what_it_may() -> None:
    soft = [LOUD // 10**5]
    found = levels(*soft * 20, *[LOUD] * 30, *soft * 20)
    assert (found.start(0, 69), found.end(70, 0)) == (10, 60)
    assert (found.start(0, 4), found.end(70, 67)) == (4, 67)


def test_frames_without_a_voice_do_not_count_among_the_loud_ones() -> None:
    found = levels(*[LOUD] * 4, *[0] * 96)
    assert found.end(12, 0) == 4


def test_a_stretch_of_hours_needs_no_more_than_its_last_ten_seconds() -> None:
    found = levels(*[LOUD] * 5000)
    for _ in range(2000):
        found.add(LOUD // 3000)
    assert LOUD_FRAMES <= len(found) <= KEPT_FRAMES
    assert found.end(7000, 0) == 7000
    assert found[6999] == LOUD // 3000
