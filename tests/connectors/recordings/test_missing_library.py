"""A library that is missing costs only those who need it (B73)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

WITHOUT_SOUNDFILE = """
import asyncio, sys
sys.modules["soundfile"] = None
import connectors

async def take(word):
    try:
        return [type(given).__name__ async for given in connectors.open(word).inputs()]
    except connectors.ConnectorError as error:
        return str(error)

print(asyncio.run(take(sys.argv[1])))
"""


def python(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def test_raw_audio_needs_no_libsndfile(tmp_path: Path) -> None:
    path = tmp_path / "call.raw"
    path.write_bytes(bytes(3200))
    told = python(WITHOUT_SOUNDFILE, f"pcm:{path}")
    assert told.startswith("['CallStarted', 'Audio', 'Audio'")
    assert told.endswith("'CallEnded']")


def test_recordings_say_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(b"RIFF")
    assert python(WITHOUT_SOUNDFILE, str(path)).startswith("recordings cannot be read: install soundfile")


@pytest.mark.parametrize("module", ["connectors", "monitor.sinks.console", "monitor.sinks.progress"])
def test_what_is_heavy_is_loaded_where_it_is_used(module: str) -> None:
    heavy = python(
        f"import sys, {module}; print([m for m in ('numpy', 'soundfile', 'rich', 'asyncio') if m in sys.modules])"
    )
    assert heavy == ("[]" if module != "monitor.sinks.console" else "['asyncio']")
