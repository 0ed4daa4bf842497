"""The simulator's command line: `python -m connectors.simulator.elevenlabs`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from dataclasses import replace

from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import FAULTS, Habits
from connectors.simulator.scenario_demo import SCENARIOS
from connectors.simulator.wire_audio import FORMATS


def _epilog() -> str:
    rows = [
        "Point a client at it:",
        "  Python SDK   ElevenLabs(api_key='any', base_url='http://127.0.0.1:9999'), any agent id",
        "  JS SDK       startSession({agentId: 'any', connectionType: 'websocket', origin: 'ws://127.0.0.1:9999'})",
        "  by hand      ws://127.0.0.1:9999/v1/convai/conversation?agent_id=any",
        "or put turnwatch between the two: its relay's upstream is http://127.0.0.1:9999, the client calls the relay.",
        "The agent hears speech above -45 dBFS: use a headset, or it hears itself.",
        "",
        "Scenarios:",
        *(f"  {name:<12} {scenario.about}" for name, scenario in SCENARIOS.items()),
        "",
        f"Formats: {', '.join(FORMATS)}",
        "",
        "Faults (--fault NAME, may be repeated):",
        *(f"  {name:<22} {about}" for name, (about, _) in FAULTS.items()),
    ]
    return "\n".join(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m connectors.simulator.elevenlabs",
        description="An ElevenLabs voice agent on this machine. It speaks the provider's real WebSocket protocol,\n"
        "greets, answers when the caller pauses and stops when the caller barges in; no account, no key.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = Habits()
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9999, help="port, 0 for a free one (default: %(default)s)")
    parser.add_argument("--scenario", choices=SCENARIOS, default="assistant", help="see below (default: %(default)s)")
    parser.add_argument("--private", action="store_true", help="want a signed URL; any API key gets one")
    parser.add_argument(
        "--ratio",
        type=float,
        default=defaults.ratio,
        help="send speech so many times faster than it plays (%(default)s)",
    )
    parser.add_argument(
        "--burst",
        type=int,
        nargs=2,
        metavar=("MIN", "MAX"),
        default=defaults.burst_ms,
        help="ms of speech a message (100 2000)",
    )
    parser.add_argument(
        "--agent-format",
        choices=FORMATS,
        default=defaults.agent_format,
        metavar="FORMAT",
        help="such as ulaw_8000 (%(default)s)",
    )
    parser.add_argument("--caller-format", choices=FORMATS, default=defaults.caller_format, metavar="FORMAT")
    parser.add_argument("--fault", choices=FAULTS, action="append", default=[], metavar="NAME", help="see below")
    parser.add_argument("--seed", type=int, default=0, help="of the burst sizes (default: %(default)s)")
    return parser


async def _serve(arguments: argparse.Namespace, habits: Habits) -> None:
    scenario = SCENARIOS[arguments.scenario]
    simulator = ElevenLabsSimulator(
        scenario, habits, host=arguments.host, port=arguments.port, private=arguments.private, seed=arguments.seed
    )
    async with simulator:
        print(f"agent '{scenario.name}' at {simulator.base_url}, Ctrl-C ends it", flush=True)
        print(f"{simulator.url}?agent_id=any", flush=True)
        await _signal()


async def _signal() -> None:
    """Until Ctrl-C or SIGTERM, also where whoever started us had Ctrl-C ignored."""
    wanted, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt comes instead
            loop.add_signal_handler(number, wanted.set)
    await wanted.wait()


def main(argv: list[str] | None = None) -> int:
    """Serves until Ctrl-C or SIGTERM, then returns 0. Returns 2 for a bad option, 3 if the port cannot be had."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        habits = Habits(
            agent_format=arguments.agent_format,
            caller_format=arguments.caller_format,
            ratio=arguments.ratio,
            burst_ms=(arguments.burst[0], arguments.burst[1]),
        )
        for fault in arguments.fault:
            habits = replace(habits, **FAULTS[fault][1])
    except ValueError as wrong:
        parser.error(str(wrong))
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(arguments, habits))
    except OSError as refused:
        print(f"cannot listen on {arguments.host}:{arguments.port}: {refused.strerror}", file=sys.stderr)
        return 3
    return 0
