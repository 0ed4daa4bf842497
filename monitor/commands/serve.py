"""`turnwatch serve`: waits for calls."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from monitor.commands import options, sinks
from monitor.commands.failure import DONE, SOURCE, WRONG, Failure

if TYPE_CHECKING:
    from monitor.config import Config
    from monitor.runtime.serve import Service
    from monitor.runtime.stopping import Stop

SUMMARY = "wait for calls: a relay for ElevenLabs, an endpoint for Twilio"

DESCRIPTION = """\
Waits for calls on the ingest port, and watches all that come in:

  ws://HOST:PORT/v1/convai/conversation     a relay to ElevenLabs: clients take it as their base URL
  ws://HOST:PORT/twilio                     Twilio media streams: <Start><Stream track="both_tracks" url="wss://...">

The relay passes every frame on untouched and listens beside it. The console port is for you: /healthz, /api/calls, and
/metrics for Prometheus.
"""

EXAMPLES = """\
examples:
  turnwatch serve
  turnwatch serve --json --tape tapes > events.jsonl
  turnwatch serve --elevenlabs-upstream ws://127.0.0.1:9999      a simulated agent instead of the real one
  TURNWATCH_TOKEN=... turnwatch serve --ingest 0.0.0.0:8765      reachable from elsewhere, with a token

A Python client then says ElevenLabs(api_key=..., base_url="http://127.0.0.1:8765"). Where a token is needed, clients
put /t/TOKEN before the path, or send Authorization: Bearer TOKEN; a media stream may hold it as a <Parameter> "token".
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `serve` takes."""
    group = parser.add_argument_group("ports")
    group.add_argument("--ingest", metavar="HOST:PORT", help="where calls come in (127.0.0.1:8765)")
    group.add_argument("--console", metavar="HOST:PORT", help="where operators look (127.0.0.1:8766)")
    group.add_argument(
        "--token", metavar="TOKEN", help="what clients must show on ports beyond loopback; better in TURNWATCH_TOKEN"
    )
    group.add_argument(
        "--elevenlabs-upstream", metavar="URL", help="wss://HOST or ws://HOST:PORT in place of the region's host"
    )
    options.add_judge(parser)
    sinks.add_arguments(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    from monitor.commands.output import log_to_stderr
    from monitor.runtime import stopping

    log_to_stderr()
    config = options.config(arguments, (*_own_settings(arguments), *sinks.assignments(arguments)))
    return stopping.run(lambda stop: _serve(arguments, config, stop), fast=True)


def _own_settings(arguments: argparse.Namespace) -> tuple[str, ...]:
    given = {
        "serve.ingest": arguments.ingest,
        "serve.console": arguments.console,
        "serve.token": arguments.token or os.environ.get("TURNWATCH_TOKEN") or None,
        "elevenlabs.upstream": arguments.elevenlabs_upstream,
    }
    return tuple(f"{key}={value}" for key, value in given.items() if value is not None)


async def _serve(arguments: argparse.Namespace, config: Config, stop: Stop) -> int:
    from connectors.base import ConnectorError, SourceError
    from monitor.commands.output import add_stdout, finish, judge_line
    from monitor.config import ConfigError
    from monitor.runtime.delivery import Delivery
    from monitor.runtime.hearing import NoDetector
    from monitor.runtime.judging import NoJudge
    from monitor.runtime.serve import Service
    from monitor.sinks.prometheus.folding import Metrics

    delivery = Delivery()
    sinks.attach(delivery, config, across_calls=config.fleet.enabled)
    metrics = Metrics(config.sink("prometheus"))
    delivery.add("prometheus", metrics, own_thread=True)
    tapes = options.tape_folder(arguments)
    try:
        service = Service(config, delivery.deliver, tape_dir=tapes, figures=delivery.figures, metrics=metrics)
        await service.start()
    except (ConfigError, SourceError, NoJudge) as error:
        raise Failure(WRONG, str(error)) from error
    except (ConnectorError, NoDetector) as error:
        raise Failure(SOURCE, str(error)) from error
    opening, bell = judge_line(config.core.relevancy), arguments.bell
    add_stdout(delivery, json=arguments.json, status=lambda: service.calls, patient=False, opening=opening, bell=bell)
    print(_welcome(service), file=sys.stderr, flush=True)
    await stop.wait()
    await service.stop()
    delivery.hurry()
    return await finish(delivery, stop, DONE, within_s=1.0)


def _welcome(service: Service) -> str:
    return f"turnwatch: calls come in at ws://{service.ingest}; for you: http://{service.console}/api/calls"
