"""Between the edges nothing is told late: looking only when an answer may turn is as good as looking every frame."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.edges import Edge
from monitor.core.giving_way import TimelineSettings
from monitor.core.speech import SpeechSettings
from monitor.core.timeline import Timeline, Told

Moments = dict[int, list[tuple[int, Edge]]]

some_settings = st.builds(
    TimelineSettings,
    max_pause_ms=st.sampled_from([300, 700, 1000, 2000]),
    backchannel_max_ms=st.sampled_from([0, 500, 1000, 1500]),
    backchannel_around_ms=st.sampled_from([200, 500, 1000]),
    held_ms=st.sampled_from([500, 1000]),
    update_every_ms=st.sampled_from([200, 1000]),
)


def edges_of(seed: int) -> tuple[Moments, int]:
    """The edges that two tracks of speech, false starts and lulls bring, by the moment they are known."""
    rng = random.Random(seed)
    found: Moments = {}
    last = 0
    for side in (0, 1):
        at = 20 * rng.randint(2, 80)
        for _ in range(rng.randint(0, 7)):
            if rng.random() < 0.3:
                found.setdefault(at + 20, []).append((side, Edge(at + 20, "rise", at)))
                gone = at + 20 * rng.randint(2, 14)
                found.setdefault(gone, []).append((side, Edge(gone, "fall", gone)))
                at = gone + 20 * rng.randint(0, 5)
            end = at + 20 * rng.randint(5, 120)
            edges = [Edge(at + 20, "rise", at), Edge(at + 100, "open", at)]
            pause = at + 20 * rng.randint(6, 60)
            if pause + 180 < end:
                back = pause + 20 * rng.randint(1, 8)
                edges += [Edge(pause + 20, "lull", pause), Edge(back + 20, "resume", back + 20)]
            edges += [Edge(end + 20, "lull", end), Edge(end + 200, "close", end - 20 * rng.randint(0, 3))]
            for edge in edges:
                found.setdefault(edge.known, []).append((side, edge))
            at = end + 20 * rng.randint(11, 90)
            last = max(last, end)
    return {at: sorted(known, key=lambda e: e[0]) for at, known in found.items()}, last + 3000


def told(moments: Moments, end: int, chosen: TimelineSettings, every_frame: bool) -> list[tuple[int, Told]]:
    """What the timeline says, and when."""
    timeline = Timeline(chosen, SpeechSettings())
    out: list[tuple[int, Told]] = []
    for now in range(20, end, 20):
        if every_frame:
            timeline._doubt = now  # an answer may always turn
        if now in moments or (timeline.wake is not None and timeline.wake <= now) or every_frame:
            out += [(now, one) for one in timeline.step(now, moments.get(now, []))]
            timeline.changed = False
    return out + [(end, one) for one in timeline.finish(end)]


@given(st.integers(0, 1 << 30), some_settings)
@settings(max_examples=120, deadline=None)
def test_what_is_told_when_looking_is_due_is_what_is_told_when_always_looking(
    seed: int, chosen: TimelineSettings
) -> None:
    moments, end = edges_of(seed)
    assert told(moments, end, chosen, every_frame=False) == told(moments, end, chosen, every_frame=True)
