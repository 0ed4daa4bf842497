"""The simulator from the command line."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys

import pytest
from websockets.asyncio.client import connect

from connectors.simulator.command import main
from connectors.simulator.habits import FAULTS
from connectors.simulator.scenario_demo import SCENARIOS


def test_help_teaches_every_scenario_and_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    for name in (*SCENARIOS, *FAULTS):
        assert f"  {name} " in text
    assert "base_url" in text


@pytest.mark.parametrize("wrong", [["--ratio", "0"], ["--burst", "9", "3"], ["--scenario", "x"], ["--fault", "x"]])
def test_a_bad_option_is_told_in_a_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(wrong)
    assert left.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 3
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def test_it_serves_until_it_is_interrupted() -> None:
    async def run() -> None:
        command = (sys.executable, "-m", "connectors.simulator.elevenlabs", "--port", "0", "--scenario", "short")
        program = await asyncio.create_subprocess_exec(
            *command, "--fault", "mulaw", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        assert program.stdout is not None
        greeting, url = [(await asyncio.wait_for(program.stdout.readline(), 10)).decode().rstrip() for _ in range(2)]
        assert "'short'" in greeting
        async with connect(url) as call:
            await call.send('{"type":"conversation_initiation_client_data"}')
            first = json.loads(await call.recv())
            assert first["conversation_initiation_metadata_event"]["agent_output_audio_format"] == "ulaw_8000"
        program.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(program.wait(), 10) == 0

    asyncio.run(run())
