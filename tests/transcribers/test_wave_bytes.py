"""Sound as a WAV file, and as a Whisper model takes it."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from monitor.transcribers.wave_bytes import model_samples, wave_bytes


def tone(hertz: int, rate: int) -> bytes:
    """A second at half of full scale."""
    return np.round(16384 * np.sin(2 * np.pi * hertz * np.arange(rate) / rate)).astype("<i2").tobytes()


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_wav_file_holds_the_samples(rate: int) -> None:
    pcm = tone(440, rate)
    samples, read_rate = soundfile.read(io.BytesIO(wave_bytes(pcm, rate)), dtype="int16")
    assert (samples.astype("<i2").tobytes(), read_rate) == (pcm, rate)


@pytest.mark.parametrize("hertz", [200, 1000, 3000])
def test_telephone_sound_is_the_same_at_twice_the_rate(hertz: int) -> None:
    doubled = model_samples(tone(hertz, 8000), 8000)
    wanted = model_samples(tone(hertz, 16000), 16000)
    assert len(doubled) == 16000
    assert np.abs(doubled - wanted)[100:-100].max() < 0.02


def test_what_is_no_sound_stays_none() -> None:
    assert len(model_samples(b"", 8000)) == 0
    with pytest.raises(ValueError, match="11025"):
        model_samples(b"", 11025)
