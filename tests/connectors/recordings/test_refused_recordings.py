"""What is no recording is said in one line; what is left or long is let go of."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import connectors
from connectors.base import ConnectorError, SourceError
from connectors.inputs import Audio
from tests.connectors.recordings.takes import TALK, save, take


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"<html>not found</html>", "no recording that can be read"),
        (b"\0\0\0\x20ftypM4A \0\0\0\0" * 4, "an MP4 or M4A file"),
        (b"\x1aE\xdf\xa3" * 8, "a WebM or Matroska file"),
    ],
)
def test_what_is_no_recording_is_said_in_a_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "call\n\x1b[31m.wav"
    path.write_bytes(content)
    with pytest.raises(ConnectorError, match=says) as caught:
        take(path)
    assert str(caught.value).isprintable()


def test_missing_files_directories_and_crowds_are_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="no such file"):
        take(f"wav:{tmp_path / 'none.wav'}")
    with pytest.raises(ConnectorError, match="is a directory"):
        take(tmp_path)
    with pytest.raises(SourceError, match=r"one file, or two"):
        take("wav:a.wav,b.wav,c.wav")
    path = save(tmp_path / "slow.wav", TALK, 4000)
    with pytest.raises(ConnectorError, match=r"slow.wav: audio of 4000 Hz"):
        take(path)


def test_a_long_recording_is_never_held_whole(tmp_path: Path) -> None:
    path = save(tmp_path / "call.wav", np.tile(TALK, (150, 1)))  # ten minutes, 19 MB
    connector = connectors.open(str(path))
    assert connector.length_ms == 600_000

    async def peak() -> int:
        tracemalloc.start()
        count = 0
        async for given in connector.inputs():
            count += isinstance(given, Audio)
        assert count == 1200
        return tracemalloc.get_traced_memory()[1]

    try:
        assert asyncio.run(peak()) < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_call_that_is_left_lets_go_of_its_files(tmp_path: Path) -> None:
    connector: Any = connectors.open(str(save(tmp_path / "call.wav", TALK)))

    async def leave() -> None:
        inputs = connector.inputs()
        await anext(inputs)
        await inputs.aclose()

    asyncio.run(leave())
    assert all(file._file.closed for file in connector._files)
