"""Which frames hold speech: what is believed of a detector, and what is only the other side's echo."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.echo_gate import EchoGate
from monitor.core.framing import Block
from monitor.core.speech import DOUBTED, SILENT, UNKNOWN, VOICED, ZERO, SpeechSettings, frame_energies
from monitor.core.track_frames import TrackFrames
from tests.builders import noise

BELIEVING = SpeechSettings(warmup_ms=0, line=None)
NEVER = 1 << 60


class Says:
    """A detector that says what it is told to, and remembers what it was given."""

    def __init__(self, answers: bytes = b"") -> None:
        self.answers = answers
        self.frames = 0
        self.resets = 0

    def voiced(self, pcm: bytes) -> bytes:
        count = len(pcm) // 320
        told = self.answers[self.frames : self.frames + count].ljust(count, b"\x01")
        self.frames += count
        return told

    def reset(self) -> None:
        self.resets += 1


def level(dbfs: float, frames: int = 1) -> bytes:
    """Frames of a steady square wave of this level."""
    step = round(32768 * 10 ** (dbfs / 20))
    return np.tile(np.array([step, -step], "<i2"), 80 * frames).tobytes()


def track(pcm: bytes, settings: SpeechSettings = BELIEVING, answers: bytes = b"") -> TrackFrames:
    frames = TrackFrames(8000, settings, Says(answers))
    frames.hear(Block(0, len(pcm) // 320, pcm))
    return frames


def test_what_lies_under_the_floor_is_not_believed() -> None:
    assert list(track(level(-54.5) + level(-55.5)).kinds) == [VOICED, SILENT]


def test_the_first_200_ms_of_a_track_are_not_believed() -> None:
    settings = SpeechSettings(line=None)
    assert list(track(level(-20, 12), settings).kinds) == [SILENT] * 10 + [VOICED] * 2


def test_silence_at_the_start_of_a_track_counts_as_warming_up() -> None:
    frames = TrackFrames(8000, SpeechSettings(line=None), Says())
    frames.hear(Block(0, 8, None))
    frames.hear(Block(8, 4, level(-20, 4)))
    assert list(frames.kinds) == [ZERO] * 8 + [SILENT] * 2 + [VOICED] * 2


@pytest.mark.parametrize("batch", [True, False])
def test_a_frame_of_zeros_is_told_from_a_silent_one(batch: bool) -> None:
    frames = TrackFrames(8000, BELIEVING, Says(b"\x01\x00\x00\x01"))
    parts = [level(-20), bytes(320), level(-70), bytes(320)]
    if batch:
        frames.hear(Block(0, 4, b"".join(parts)))
    else:
        for k, part in enumerate(parts):
            frames.hear(Block(k, 1, part))
    assert list(frames.kinds) == [VOICED, ZERO, SILENT, ZERO]


def test_what_is_unknown_is_never_shown_to_the_detector() -> None:
    frames = TrackFrames(8000, BELIEVING, detector := Says())
    frames.hear(Block(0, 40, None, True))
    assert detector.frames == 0
    assert list(frames.kinds) == [UNKNOWN] * 40


@pytest.mark.parametrize(("lost", "resets"), [(25, 0), (26, 1)])
def test_after_more_than_half_a_second_unheard_the_detector_begins_anew(lost: int, resets: int) -> None:
    frames = TrackFrames(8000, BELIEVING, detector := Says())
    frames.hear(Block(0, 1, level(-20)))
    frames.hear(Block(1, lost, None, True))
    frames.hear(Block(1 + lost, 1, level(-20)))
    assert detector.resets == resets


@given(st.lists(st.tuples(st.sampled_from([0, 3, 40, 900, 9000]), st.booleans()), min_size=1, max_size=60), st.data())
def test_any_batches_give_the_same_kinds(drawn: list[tuple[int, bool]], data: st.DataObject) -> None:
    parts = [noise(20, loud, n % 3) for n, (loud, _) in enumerate(drawn)]
    answers = bytes(flag for _, flag in drawn)
    settings = SpeechSettings(warmup_ms=60)
    whole = track(b"".join(parts), settings, answers)
    cut, at = TrackFrames(8000, settings, Says(answers)), 0
    while at < len(parts):
        count = data.draw(st.integers(1, 9))
        piece = b"".join(parts[at : at + count])
        cut.hear(Block(at, len(piece) // 320, piece))
        at += count
    assert cut.kinds == whole.kinds


def test_the_energy_of_a_frame_is_exact() -> None:
    pcm = noise(200, 32767, 3)
    samples = np.frombuffer(pcm, "<i2").astype(object).reshape(10, 160)
    assert frame_energies(pcm, 160) == [int(sum(row * row)) for row in samples]
    assert frame_energies(pcm[:320], 160) == [int(sum(samples[0] * samples[0]))]


def gated(own: bytes, other: bytes, gate_db: float | None = 18.0, said_by_other: bytes = b"") -> list[int]:
    """What the gate makes of a track on which every frame is called a voice."""
    gate = EchoGate(gate_db, -55.0, 8000)
    count = len(own) // 320
    return list(gate.speech(track(own), track(other, answers=said_by_other), count))


def test_a_frame_far_under_what_the_other_side_says_is_echo() -> None:
    assert gated(level(-38) + level(-36), level(-19, 2)) == [SILENT, VOICED]


def test_the_gate_looks_back_260_ms_and_no_further() -> None:
    other = level(-10) + level(-60, 15)
    assert gated(level(-40, 16), other) == [SILENT] * 13 + [VOICED] * 3


def test_the_gate_does_not_ask_whether_the_other_sound_is_a_voice() -> None:
    assert gated(level(-40), level(-10), said_by_other=b"\x00") == [SILENT]


def test_faint_sound_on_the_other_side_gates_nothing() -> None:
    assert gated(level(-54), level(-56)) == [VOICED]


def test_without_a_gate_or_another_track_everything_passes() -> None:
    assert gated(level(-40), level(-10), gate_db=None) == [VOICED]
    assert list(EchoGate(18.0, -55.0, 8000).speech(track(level(-40)), None, 1)) == [VOICED]


def test_the_gate_remembers_frames_that_were_released() -> None:
    own, other = track(level(-40, 14)), TrackFrames(8000, BELIEVING, Says(bytes(14)))
    for k in range(14):
        other.hear(Block(k, 1, level(-60 if k else -10)))
    for frames in (own, other):
        frames.drop(10, NEVER)
    assert list(EchoGate(18.0, -55.0, 8000).speech(own, other, 4)) == [SILENT] * 3 + [VOICED]


def test_audio_is_kept_as_far_back_as_it_is_needed() -> None:
    frames = TrackFrames(8000, BELIEVING, Says())
    for k in range(60):
        frames.hear(Block(k, 1, noise(20, 3000, k)))
    frames.drop(50, 20)
    assert frames.audio(20) == noise(20, 3000, 20)
    frames.drop(5, NEVER)
    assert frames.audio(30) is None
    assert frames.audio(59) == noise(20, 3000, 59)


def test_the_floor_is_55_db_under_full_scale() -> None:
    assert sqrt(frame_energies(level(-55), 160)[0] / 160) / 32768 == pytest.approx(10 ** (-55 / 20), rel=0.01)


class Hears(Says):
    """A second detector that hears a voice in these frames only."""

    def offer(self, pcm: bytes) -> None:
        """Nothing is worked out ahead."""

    def voiced(self, pcm: bytes) -> bytes:
        count = len(pcm) // 320
        told = self.answers[self.frames : self.frames + count].ljust(count, b"\x00")
        self.frames += count
        return told


def heard_by_both(pcm: bytes, second: bytes) -> list[int]:
    settings = SpeechSettings(warmup_ms=0, detector="silero")
    frames = TrackFrames(8000, settings, Says(), lambda rate: Hears(second))
    frames.hear(Block(0, len(pcm) // 320, pcm))
    return list(frames.kinds)


def test_what_the_second_detector_has_not_heard_for_three_frames_is_doubted() -> None:
    second = bytes([0, 0, 1, 0, 0, 0, 0])
    assert heard_by_both(level(-20, 7), second) == [DOUBTED] * 2 + [VOICED] * 3 + [DOUBTED] * 2


def test_what_neither_detector_takes_for_a_voice_is_silence() -> None:
    assert heard_by_both(level(-60, 3), bytes(3)) == [SILENT] * 3


def test_an_echo_that_is_doubted_is_an_echo_all_the_same() -> None:
    own = TrackFrames(8000, SpeechSettings(warmup_ms=0, detector="silero"), Says(), lambda rate: Hears())
    own.hear(Block(0, 4, level(-45, 4)))
    assert list(EchoGate(18.0, -55.0, 8000).speech(own, track(level(-20, 4)), 4)) == [SILENT] * 4


@pytest.mark.parametrize("detector", ["auto", "webrtc"])
def test_a_second_detector_is_not_asked_on_a_clean_line(detector: str) -> None:
    frames = TrackFrames(8000, SpeechSettings(detector=detector), Says(), lambda rate: 1 // 0)  # type: ignore[arg-type]
    frames.hear(Block(0, 200, b"".join(level(-60 + 20 * (k % 3), 1) for k in range(200))))
    assert frames.belief.second is None


def test_under_the_noise_of_the_line_nothing_is_a_voice_but_a_voice_that_dies_away() -> None:
    frames = TrackFrames(8000, SpeechSettings(), Says())
    frames.hear(Block(0, 40, level(-45, 40)))
    said = level(-20, 4) + level(-44) + level(-48) + level(-44, 3)
    frames.hear(Block(40, 9, said))
    assert list(frames.kinds[40:]) == [VOICED] * 6 + [SILENT] * 3
