"""The demo: a whole call on this machine. No account, no key, no sound card.

    scripted caller -> the real relay -> simulated ElevenLabs agent
                            |
                            +-> core -> events

Everything in between is what `turnwatch serve` runs, on free ports of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from websockets.exceptions import WebSocketException

from connectors.base import ConnectorError
from connectors.simulator.caller import Caller, CallerReport
from connectors.simulator.elevenlabs import SOCKET_PATH, ElevenLabsSimulator
from connectors.simulator.rehearsal import RehearsedCall
from connectors.simulator.scenario import Scenario
from connectors.simulator.scenario_demo import DEMO
from monitor.config import Config
from monitor.core.call import Status
from monitor.core.events import CallEnded, Cause, Event
from monitor.runtime.serve import Service
from monitor.runtime.watch import Watching, watch

log = logging.getLogger("turnwatch.demo")

Deliver = Callable[[Event], Awaitable[None]]

AGENT_ID = "parcel-hotline"
LAST_WORDS_S = 5.0
"""How long the end of the call is waited for once the caller has hung up, and its last verdicts are due."""


class Demo:
    """One demo call. `speed` 1.0: the call takes place, over real sockets, and takes as long as it takes; any other, or
    None for as fast as it goes: the same call, rehearsed without sockets, is watched as a recording is. `tape_dir`:
    where its tape is kept. `cause`: why the call ended, None until then; `report`: what the caller heard, where the
    call took place."""

    def __init__(
        self,
        config: Config | None = None,
        *,
        speed: float | None = 1.0,
        tape_dir: Path | None = None,
        scenario: Scenario = DEMO,
        seed: int = 0,
    ) -> None:
        self.cause: Cause | None = None
        self.report: CallerReport | None = None
        self._config = config or Config()
        self._speed, self._tape_dir, self._scenario, self._seed = speed, tape_dir, scenario, seed
        self._service: Service | None = None
        self._watching: Watching | None = None
        self._stopped = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def calls(self) -> list[Status]:
        """How the call stands, while it goes on."""
        if self._watching is not None:
            return [self._watching.status]
        return [] if self._service is None else self._service.calls

    def stop(self) -> None:
        """End the call here: what is open is told, then `run` returns."""
        self._stopped.set()
        if self._watching is not None:
            self._watching.stop()

    async def run(self, deliver: Deliver) -> None:
        """Hold the call and give every event of it to `deliver`, up to `call.ended`. May be called once. Raises
        `ConfigError`, `ConnectorError`, `NoDetector` and `NoJudge` as `Service` does."""
        if self._speed == 1.0:
            await self._live(deliver)
        else:
            await self._rehearsed(deliver)

    async def _live(self, deliver: Deliver) -> None:
        async with ElevenLabsSimulator(self._scenario, seed=self._seed) as agent:
            config = _on_free_ports(self._config, agent.base_url)
            self._service = service = Service(config, self._listening(deliver), tape_dir=self._tape_dir)
            await service.start()
            url = f"ws://{service.ingest}{SOCKET_PATH}?agent_id={AGENT_ID}"
            caller = asyncio.create_task(Caller(self._scenario, seed=self._seed).call(url), name="caller")
            stopped = asyncio.create_task(self._stopped.wait(), name="stop")
            try:
                await asyncio.wait({caller, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if caller.done():
                    self.report = _report(caller)
                    await self._await_end(stopped)
            finally:
                # The service first: a call that it ends itself ends as `stopped`, not as a hang-up of the caller's.
                await service.stop()
                for task in (caller, stopped):
                    task.cancel()
                await asyncio.gather(caller, stopped, return_exceptions=True)

    async def _rehearsed(self, deliver: Deliver) -> None:
        call = RehearsedCall(self._scenario, seed=self._seed)
        self._watching = watch(call, config=self._config, speed=self._speed, tape_dir=self._tape_dir)
        if self._stopped.is_set():
            self._watching.stop()
        listening = self._listening(deliver)
        async for event in self._watching:
            await listening(event)

    async def _await_end(self, stopped: asyncio.Task[object]) -> None:
        """The relay tells the end of the call a moment after the caller knows of it, and once its last verdicts are in;
        whoever wants to stop does not wait for those."""
        ended = asyncio.create_task(self._ended.wait(), name="end of the call")
        within = LAST_WORDS_S + self._config.relevancy.deadline_s
        await asyncio.wait({ended, stopped}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()

    def _listening(self, deliver: Deliver) -> Deliver:
        async def listen(event: Event) -> None:
            await deliver(event)
            if isinstance(event, CallEnded):
                self.cause = event.cause
                self._ended.set()

        return listen


async def run_demo(
    deliver: Deliver,
    config: Config | None = None,
    *,
    speed: float | None = 1.0,
    tape_dir: Path | None = None,
    scenario: Scenario = DEMO,
) -> Cause | None:
    """Hold a demo call and give its events to `deliver`. -> why it ended. See `Demo`."""
    demo = Demo(config, speed=speed, tape_dir=tape_dir, scenario=scenario)
    await demo.run(deliver)
    return demo.cause


def _on_free_ports(config: Config, upstream: str) -> Config:
    """The user's settings for judging a call, and the demo's own for reaching it."""
    serve = msgspec.structs.replace(config.serve, ingest="127.0.0.1:0", console="127.0.0.1:0", token=None)
    return msgspec.structs.replace(config, serve=serve, connectors={"elevenlabs": {"upstream": upstream}})


def _report(caller: asyncio.Task[CallerReport]) -> CallerReport:
    """What the caller has to say. Raises `ConnectorError`."""
    try:
        return caller.result()
    except (OSError, WebSocketException) as error:
        raise ConnectorError(f"the demo could not call itself over 127.0.0.1: {error}") from error
