"""A short call for all tests of the command line: the first twelve seconds of a recorded one."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile

from tests.cli.process import RECORDINGS


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples, rate = soundfile.read(RECORDINGS / "03_barge_in.flac", frames=12 * 8000, dtype="int16")
    path = tmp_path_factory.mktemp("recordings") / "short.wav"
    soundfile.write(path, samples, rate)
    return path
