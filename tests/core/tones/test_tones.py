"""Keypads, ringback, busy and dial tones are no speech; a voice is, however clear its harmonics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from connectors import inputs
from monitor.core.speech import frame_energies
from monitor.core.tones import ToneGuard, tone_frames
from tests.builders import even, noise, of, started, watch

CALLS = Path(__file__).resolve().parents[4] / "shared" / "data" / "calls"
LOW, HIGH = (697, 770, 852, 941), (1209, 1336, 1477, 1633)


def tone(hz: Sequence[float], ms: int, amplitude: float = 0.1) -> bytes:
    """`ms` of sines of equal strength, with soft edges of 5 ms and the faint noise of a line."""
    time = np.arange(ms * 8) / 8000
    wave = sum(np.sin(2 * np.pi * f * time) for f in hz) * amplitude
    edge = np.minimum(1, np.minimum(np.arange(ms * 8), np.arange(ms * 8)[::-1]) / 40)
    line = np.frombuffer(noise(ms, 8, 3), "<i2")
    pcm: bytes = (wave * edge * 32767 + line).astype("<i2").tobytes()
    return pcm


def judged(pcm: bytes, rate: int = 8000) -> ToneGuard:
    """The guard after all of a sound, each frame with a voice in it as the detector sees it."""
    size = rate // 50
    frames = [pcm[at : at + 2 * size] for at in range(0, len(pcm) // (2 * size) * 2 * size, 2 * size)]
    guard = ToneGuard()
    for frame in tone_frames([None, *frames], frame_energies(b"".join(frames), size)):
        guard.add(frame)
    return guard


NETWORK = {
    "ringback": (440, 480),
    "ringback in Europe": (425,),
    "busy": (480, 620),
    "dial": (350, 440),
    "fax": (1100,),
}


@pytest.mark.parametrize("name", NETWORK)
@pytest.mark.parametrize("amplitude", [0.02, 0.2])
def test_a_tone_of_the_network_is_one_when_it_lasts_half_a_second(name: str, amplitude: float) -> None:
    guard = judged(tone(NETWORK[name], 500, amplitude))
    assert guard.is_tone()
    assert not guard.sounds_like_voice()


@pytest.mark.parametrize("ms", [100, 200, 400])
def test_a_tone_that_has_just_begun_is_not_told_from_a_vowel_yet_but_opens_nothing(ms: int) -> None:
    guard = judged(tone((440, 480), 600)[: 16 * ms])
    assert not guard.is_tone()
    assert not guard.sounds_like_voice()


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("high", HIGH)
def test_each_key_of_the_keypad_is_a_tone_after_100_ms(low: int, high: int) -> None:
    guard = judged(tone((low, high), 100))
    assert guard.is_tone()
    assert not guard.sounds_like_voice()


def test_noise_is_no_tone() -> None:
    guard = judged(noise(600, 4000, 5))
    assert guard.sounds_like_voice()
    assert not guard.is_tone()


def test_a_voice_after_a_tone_is_found_within_five_frames() -> None:
    guard = judged(tone((440, 480), 500) + noise(60, 4000, 5))
    assert guard.recent_voice() == 3
    assert judged(tone((440, 480), 500)).recent_voice() is None


def test_frames_that_were_never_sent_or_do_not_count_are_no_tone() -> None:
    pcm = tone((440, 480), 60)
    parts = [pcm[:320], pcm[320:640], pcm[640:]]
    found = tone_frames([None, parts[0], None, parts[2]], [10**9, 0, 10**9])
    assert [frame.tonal for frame in found] == [True, False, True]
    assert tone_frames([None, None], [0])[0].tonal is False


def test_frames_are_judged_alike_one_by_one_and_together() -> None:
    pcm = tone((697, 1336), 200) + noise(200, 3000, 2)
    frames: list[bytes | None] = [pcm[at : at + 320] for at in range(0, len(pcm), 320)]
    energies = frame_energies(pcm, 160)
    together = tone_frames([None, *frames], energies)
    alone = [tone_frames([before, f], [e])[0] for before, f, e in zip([None, *frames], frames, energies, strict=False)]
    assert together == alone


@pytest.mark.parametrize("name", ["02_gaps", "05_agent_overlap", "06_backchannels_16k"])
def test_no_voice_of_the_labelled_calls_is_taken_for_a_tone(name: str) -> None:
    samples, rate = sf.read(CALLS / f"{name}.flac", dtype="int16", always_2d=True)
    label = json.loads((CALLS / f"{name}.json").read_text("utf-8"))
    lost, late = [], []
    for said in label["speech"]:
        side = 0 if said["track"] == "caller" else 1
        first, last = round(said["start"] * 50), round(said["end"] * 50)
        pcm = samples[first * rate // 50 : last * rate // 50, side].tobytes()
        if last - first < 8:
            continue
        if judged(pcm, rate).is_tone():
            lost.append(said)
        if not judged(pcm[: 2 * rate * 3 // 10], rate).sounds_like_voice():
            late.append(said)
    assert not lost
    assert len(late) <= 0.05 * len(label["speech"])  # a few begin so clear that they take longer than 300 ms


def test_on_a_call_tones_make_no_turns_and_the_voice_behind_them_does() -> None:
    ringing = (tone((440, 480), 1000) + noise(1000, 2, 4)) * 2
    keys = b"".join(tone((low, high), 120) + noise(100, 2, 4) for low, high in zip(LOW, HIGH, strict=True))
    agent = noise(500, 2, 9) + ringing + keys + noise(500, 2, 9)
    length = len(agent) // 16
    agent += noise(1500, 5000, 3) + noise(2000, 2, 9)
    tape = [started(tracks=("agent",)), *even("agent", agent), inputs.CallEnded(len(agent) // 16, "hangup")]
    turns = [event.turn for event in of(watch(tape), "turn.ended")]
    assert [(turn.start_ms, turn.end_ms) for turn in turns] == [(length, length + 1500)]
