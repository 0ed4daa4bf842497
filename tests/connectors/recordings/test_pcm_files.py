"""Raw audio from files and named pipes, and what is refused."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

import connectors
from connectors.base import ConnectorError, SourceError
from connectors.inputs import CallStarted, Input, Notice
from connectors.pcm_stream import PcmStream
from connectors.source import SourceOptions
from tests.connectors.recordings.pipes import piped
from tests.connectors.recordings.takes import BOTH, BYTES, take, tracks_of


def test_a_file_of_raw_bytes_is_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "call.raw"
    path.write_bytes(BYTES + b"\1\2\3")
    connector = connectors.open(f"pcm:{path}")
    assert (connector.live, connector.length_ms) == (False, 4000)
    inputs = take(f"pcm:{path}")
    started = inputs[0]
    assert isinstance(started, CallStarted)
    assert (started.call, started.started_at) == ("call", None)
    assert tracks_of(inputs) == BOTH
    assert [(n.kind, n.count) for n in inputs if isinstance(n, Notice)] == [("bad_payload", 3)]


def test_a_named_pipe_is_a_live_call(tmp_path: Path) -> None:
    path = tmp_path / "call.fifo"
    os.mkfifo(path)

    async def run() -> list[Input]:
        connector = connectors.open(f"pcm:{path}?call=live")
        assert connector.live
        writing = asyncio.create_task(asyncio.to_thread(path.write_bytes, BYTES))
        inputs = [given async for given in connector.inputs()]
        await writing
        return inputs

    inputs = asyncio.run(run())
    assert tracks_of(inputs) == BOTH
    assert isinstance(inputs[0], CallStarted)
    assert inputs[0].call == "live"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "ended without any audio"),
        (b"RIFF\x24\xf4\x01\x00WAVEfmt ", "holds a WAV file, not raw samples: watch it as wav:"),
        (b"fLaC\0\0\0\x22", "holds a FLAC file"),
    ],
)
def test_what_is_not_raw_audio_is_said_in_a_line(content: bytes, says: str) -> None:
    with pytest.raises(ConnectorError, match=says):
        piped([content] if content else [])


def test_what_cannot_be_opened_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectorError, match="No such file"):
        connectors.open(f"pcm:{tmp_path / 'none.raw'}")
    with pytest.raises(ConnectorError, match="is a directory"):
        connectors.open(f"pcm:{tmp_path}")
    with pytest.raises(SourceError, match="'g729' is not known"):
        connectors.open(f"pcm:{tmp_path}?encoding=g729")
    with pytest.raises(SourceError, match="4000 Hz"):
        connectors.open(f"pcm:{tmp_path}?rate=4000")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConnectorError, match="no standard input"):
        connectors.open("pcm:-")


def test_standard_input_that_is_a_terminal_is_refused() -> None:
    master, terminal = os.openpty()
    try:
        with pytest.raises(ConnectorError, match="is a terminal"):
            PcmStream(terminal, SourceOptions())
    finally:
        os.close(terminal)
        os.close(master)
