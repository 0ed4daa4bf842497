"""The command line of the carrier in `connectors.simulator.twilio`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from connectors.base import ConnectorError
from connectors.simulator.twilio import TwilioCarrier, read_recording
from connectors.simulator.twilio_frames import ENCODINGS, FRAME_BYTES, CarrierSettings

_EXAMPLES = """\
examples:
  a call as a carrier sends it:      %(prog)s call.wav ws://127.0.0.1:8765/twilio
  3 in 100 pieces lost:              %(prog)s call.wav ws://127.0.0.1:8765/twilio --loss 0.03
  a caller who hangs up in a tunnel: %(prog)s call.wav ws://127.0.0.1:8765/twilio --abort
  away from second 20 to second 23:  %(prog)s call.wav ws://127.0.0.1:8765/twilio --lost-at 20 --away 3
"""


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    speed = float(text)
    if speed <= 0:
        raise ValueError
    return speed


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(part) for part in text.split(","))
    if min(sizes) < 1:
        raise ValueError
    return sizes


_speed.__name__, _share.__name__, _sizes.__name__ = "speed", "share from 0 to 1", "list of sizes"


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m connectors.simulator.twilio",
        description="Plays a recording (left: caller, right: agent) to a media-stream server as Twilio would.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("recording", type=Path, help="anything that libsndfile reads, 8 kHz or more")
    made.add_argument("url", help="ws:// or wss:// address of the server")
    made.add_argument("--speed", type=_speed, default=1.0, help="times the speed of the call, or max (default 1)")
    made.add_argument("--call", help="the call's callSid (default: a new one)")
    made.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help="a custom parameter")

    faults = made.add_argument_group("faults of the carrier")
    faults.add_argument("--loss", type=_share, default=0.0, help="this share of the pieces does not come")
    faults.add_argument("--duplicate", type=_share, default=0.0, help="this share comes twice")
    faults.add_argument("--swap", type=_share, default=0.0, help="this share changes places with the next")
    faults.add_argument("--hold-ms", type=int, default=0, help="every 2 s send nothing for so long, then all at once")
    faults.add_argument("--drop-silence", action="store_true", help="silent pieces are not sent")
    faults.add_argument("--payload-bytes", type=_sizes, default=(FRAME_BYTES,), help="sizes in turn, as in 160,37,400")
    faults.add_argument("--seed", type=int, default=1, help="of the dice (default 1)")

    shape = made.add_argument_group("kinds of streams")
    shape.add_argument("--encoding", choices=sorted(ENCODINGS), default="mulaw")
    shape.add_argument("--only", choices=("inbound", "outbound"), help="one track only, as a <Connect> stream has it")
    shape.add_argument("--separate", action="store_true", help="a stream for each track")
    shape.add_argument("--no-stop", action="store_true", help="no stop message at the end")
    shape.add_argument("--abort", action="store_true", help="no stop message, and the connection is reset")
    shape.add_argument("--lost-at", type=float, metavar="SECONDS", help="the connection is reset there ...")
    shape.add_argument("--away", type=float, default=1.0, metavar="SECONDS", help="... and is back after (default 1)")

    checks = made.add_argument_group("what the server checks")
    checks.add_argument("--token", help="sent as the custom parameter `token`")
    checks.add_argument("--auth-token", help="signs the requests as Twilio does")
    checks.add_argument("--sign-url", help="the URL to sign, where it is not the one that is opened")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 the call was played to its end, 2 wrong usage, 3 the server refused it or was not there."""
    given = parser().parse_args(arguments)
    settings = CarrierSettings(
        loss=given.loss,
        duplicate=given.duplicate,
        swap=given.swap,
        hold_ms=given.hold_ms,
        drop_silence=given.drop_silence,
        payload_bytes=given.payload_bytes,
        encoding=given.encoding,
        tracks=(given.only,) if given.only else ("inbound", "outbound"),
        stop=not (given.no_stop or given.abort),
        seed=given.seed,
    )
    carrier = TwilioCarrier(
        given.url,
        settings,
        speed=given.speed,
        separate=given.separate,
        abort=given.abort,
        lost_at_ms=None if given.lost_at is None else round(given.lost_at * 1000),
        away_ms=round(given.away * 1000),
        token=given.token,
        auth_token=given.auth_token,
        sign_url=given.sign_url,
        parameters=dict(pair.partition("=")[::2] for pair in given.parameter),
    )
    try:
        caller, agent = read_recording(given.recording)
        print(f"playing {len(caller) / 16000:.1f} s to {given.url}", file=sys.stderr)
        placed = asyncio.run(carrier.call(caller, agent, call_sid=given.call))
    except ConnectorError as error:
        print(error, file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    refused = [reason for code, reason in placed.closes if code not in (1000, 1001)]
    if refused:
        print(f"the server closed the stream: {refused[0] or 'without a reason'}", file=sys.stderr)
        return 3
    print(f"call {placed.call_sid}: {placed.sent} messages sent", file=sys.stderr)
    return 0
