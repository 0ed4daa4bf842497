"""Silero beside WebRTC: what stands on a tape, and what is said where it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor import CallMonitor, NoDetector, watch
from monitor.config import Config
from monitor.core.call import CoreSettings
from monitor.core.encode import encode
from monitor.core.speech import SpeechSettings
from monitor.runtime import hearing
from monitor.runtime.tape import Tape

CALL = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls" / "09_babble_15db.flac"


def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "find_spec", lambda name: None)


def speech(detector: str) -> CoreSettings:
    return CoreSettings(speech=SpeechSettings(detector=detector))  # type: ignore[arg-type]


async def lines(source: str, folder: Path | None = None, **settings: CoreSettings) -> list[bytes]:
    config = Config(speech=settings["core"].speech) if settings else None
    return [encode(event) async for event in watch(source, speed=None, config=config, tape_dir=folder)]


async def test_a_tape_names_the_detectors_and_is_heard_again_with_them(tmp_path: Path) -> None:
    told = await lines(f"wav:{CALL}", tmp_path)
    tape = next(tmp_path.glob("*.tape"))
    assert Tape(tape).header.detector == "webrtc+silero"
    assert await lines(f"tape:{tape}") == told


async def test_a_tape_that_was_heard_without_silero_is_heard_without_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        without_the_extra(patch)
        told = await lines(f"wav:{CALL}", tmp_path)
    tape = next(tmp_path.glob("*.tape"))
    assert Tape(tape).header.detector == "webrtc"
    assert await lines(f"tape:{tape}") == told
    assert told != await lines(f"wav:{CALL}")


async def test_a_tape_that_needs_silero_says_so_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lines(f"wav:{CALL}", tmp_path)
    without_the_extra(monkeypatch)
    with pytest.raises(NoDetector, match=r"install turnwatch\[silero\]"):
        await lines(f"tape:{next(tmp_path.glob('*.tape'))}")


def test_silero_asked_for_by_name_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    CallMonitor(speech("silero"))
    without_the_extra(monkeypatch)
    CallMonitor(speech("auto"))
    CallMonitor(speech("webrtc"))
    with pytest.raises(NoDetector, match=r"turnwatch\[silero\]"):
        CallMonitor(speech("silero"))


def test_detectors_of_a_later_version_are_refused_in_words() -> None:
    with pytest.raises(NoDetector, match="newer turnwatch"):
        CallMonitor(heard_with="webrtc+clairvoyance")
