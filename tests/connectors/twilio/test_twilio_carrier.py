"""The carrier as a program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from connectors.inputs import CallStarted
from connectors.simulator.twilio import read_recording
from connectors.simulator.twilio_command import main
from connectors.twilio import TwilioSettings
from tests.connectors.twilio.phone import heard
from tests.connectors.twilio.station import station

RECORDING = Path(__file__).parents[4] / "shared" / "data" / "calls" / "03_barge_in.flac"


async def test_the_command_line_plays_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    async with station() as here:
        arguments = [str(RECORDING), here.url, "--speed", "max", "--loss", "0.03", "--parameter", "note=a=b"]
        assert await asyncio.to_thread(main, arguments) == 0
        await here.over()
        started = here.door.call[0]
        assert isinstance(started, CallStarted)
        assert started.labels == {"note": "a=b"}
        caller, _ = read_recording(RECORDING)
        assert abs(len(heard(here.door.call, "caller")) * 2 - len(caller)) <= 10 * 320
        assert "messages sent" in capsys.readouterr().err
        assert await asyncio.to_thread(main, [str(RECORDING), "ws://127.0.0.1:9/twilio"]) == 3
        assert "cannot be reached" in capsys.readouterr().err
        assert await asyncio.to_thread(main, [__file__, here.url]) == 3
        assert "cannot be read" in capsys.readouterr().err
    async with station(TwilioSettings(token="t")) as here:
        assert await asyncio.to_thread(main, [str(RECORDING), here.url, "--speed", "max"]) == 3
        assert "token" in capsys.readouterr().err


def test_the_help_names_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    for option in ("--loss", "--drop-silence", "--abort", "--separate", "--token", "examples:"):
        assert option in shown
    with pytest.raises(SystemExit) as wrong:
        main(["a.wav", "ws://x", "--loss", "7"])
    assert wrong.value.code == 2
