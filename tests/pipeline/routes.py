"""The ways that a call takes into the monitor. The same call, told by any of them, is the same call.

@pytest.mark.parametrize("route", ROUTES)
def test_...(route: str, tmp_path: Path) -> None:
    events = by(route, [speech("caller", 0, 4000), speech("agent", 3500, 5500)], 8000, tmp_path)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from monitor.core.events import Event
from tests.builders import Speech, sound, voice
from tests.connectors.recordings.takes import save, stereo
from tests.pipeline.conversations import BUFFER_MS, Frame, converse, delivery
from tests.pipeline.hearing import watched
from tests.pipeline.phone_calls import Line, call

ROUTES = ("elevenlabs", "twilio", "recording", "raw samples")


def by(route: str, said: Sequence[Speech], length: int, folder: Path, detector: str = "energy") -> list[Event]:
    """The events of a call of `length` ms that takes this way. The agent is heard at the given times on each."""
    if route == "elevenlabs":
        return converse(spoken(said), [one for one in said if one.track == "caller"], length, detector=detector)
    if route == "twilio":
        return call(Line(sound(said, length)), detector=detector)
    talk = stereo(*said, length=length)
    if route == "recording":
        return asyncio.run(watched(save(folder / "call.wav", talk), detector=detector))
    path = folder / "call.raw"
    path.write_bytes(talk.tobytes())
    return asyncio.run(watched(f"pcm:{path}", detector=detector))


def spoken(said: Sequence[Speech]) -> list[Frame]:
    """The agent's part as a provider delivers it: each stretch in one burst, so early that it is heard on time."""
    frames: list[Frame] = []
    for number, one in enumerate(one for one in said if one.track == "agent"):
        at = max(0, one.start - BUFFER_MS)
        frames += delivery(voice(one.end - one.start, number + 1), at=at, within=300, pieces=20, event=number + 1)
    return frames


__all__ = ["ROUTES", "by", "spoken"]
