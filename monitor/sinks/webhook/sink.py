"""One target: what is for it goes to its spool, and from there, one after the other, to it.

`deliver` waits for the disk and for nobody else. A task of its own sends the head of the spool until the target has it
or will never take it; so the order of the events holds, also through failures. What waits when the program ends, or is
killed, is sent when one with the same target starts again, under the same id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, Final
from urllib.parse import urlsplit

from monitor.core.events import CallEnded, Event
from monitor.sinks import Sink, SinkError
from monitor.sinks.spool import Item, Spool, spool_at
from monitor.sinks.webhook.answers import Answer
from monitor.sinks.webhook.circuit import Circuit
from monitor.sinks.webhook.formats import ALERTS, FORMATS
from monitor.sinks.webhook.formats.shape import CallsKnown
from monitor.sinks.webhook.open_alerts import OpenAlerts
from monitor.sinks.webhook.posting import Poster
from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.targets import Target, targets
from monitor.sinks.webhook.trouble import Trouble, log

CLOSE_WITHIN_S: Final = 2.0
"""The end of the program waits so long for what is left."""
_UNREADABLE_S: Final = 1.0
_UNFIT_TRIES: Final = 3


class WebhookSink:
    """Posts events to one target. Raises SinkError: another program uses its spool, or its settings are no good."""

    keeps: ClassVar[bool] = True

    def __init__(self, target: Target, settings: WebhookSettings) -> None:
        self._target, self._settings = target, settings
        self._format = FORMATS[target.format]
        self._types = frozenset(settings.events) & (self._format.takes or frozenset(settings.events))
        if not self._types:
            raise SinkError(f"webhook.events names nothing that can be said to {target}: it takes alerts")
        self._poster = Poster(target, settings)
        path = spool_at(settings.spool_dir, "webhook", target.spool_name)
        most = settings.spool_max_items
        self._spool = Spool(path, max_items=most, max_bytes=settings.spool_max_mb << 20)
        try:
            self._open = OpenAlerts(Spool(path.with_suffix(".open"), max_items=most), self._format)
        except SinkError:
            self._spool.close()
            raise
        self._circuit = Circuit(
            open_after=settings.open_after_failures,
            first_rest_s=settings.first_rest_s,
            longest_rest_s=max(settings.longest_rest_s, settings.first_rest_s),
            refused_rest_s=settings.refused_rest_s,
            refused_longest_rest_s=max(settings.refused_longest_rest_s, settings.refused_rest_s),
        )
        self._calls = CallsKnown()
        self._trouble = Trouble(str(target), time.monotonic)
        self._task: asyncio.Task[None] | None = None
        self._delivered = self._failed = self._tries = 0
        self._unfit = (0, 0)  # the number of an event, and how often it was called so

    async def open(self) -> None:
        """Begin to send: first of all what a former program has left."""
        self._wake, self._stop = asyncio.Event(), asyncio.Event()
        if waiting := len(self._spool):
            log.warning("webhook %s: %d waiting from a former run, sent first", self._target, waiting)
        if lost := self._open.end_former(self._spool):
            words = "webhook %s: %d alerts were open when the former run was stopped: it is told that they are lost"
            log.warning(words, self._target, lost)
        self._task = asyncio.create_task(self._send_all(), name="webhook")

    async def deliver(self, event: Event) -> None:
        """Keep one event for the target, if it is of a kind that it gets. It is on disk when this returns."""
        about = self._calls.follow(event)
        if event.type in self._types:
            self._spool.put(f"{event.call}#{event.seq}", self._format.body(event, about), {"type": event.type})
            if self._types >= ALERTS:  # who is not told that alerts are over is not told that they are lost
                self._open.follow(event, about)
            self._wake.set()
        elif isinstance(event, CallEnded):
            self._open.follow(event, about)
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()  # a slip of ours: it is told, and ends this sink

    async def close(self) -> None:
        """Try once more what is left, for a moment, and leave the rest in the spool."""
        if self._task is not None:
            self._stop.set()
            self._wake.set()
            await asyncio.wait({self._task}, timeout=CLOSE_WITHIN_S)
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task
        await self._poster.close()
        if waiting := len(self._spool):
            words = "webhook %s: %d waiting until turnwatch starts again with this webhook"
            log.warning(words, self._target, waiting)
        self._let_go()

    def abandon(self) -> None:
        """Let go of the spool: it will not be opened after all."""
        self._let_go()

    def figures(self) -> dict[str, float]:
        """`spooled`: events that wait. `dropped`: lost for want of room. `delivered`: taken by the target. `failed`:
        given up, since it will never take them. `tries`: requests made. `connected`: 0 while it is away, or refuses."""
        return {
            "spooled": len(self._spool),
            "dropped": self._spool.dropped,
            "delivered": self._delivered,
            "failed": self._failed,
            "tries": self._tries,
            "connected": float(self._circuit.state == "closed"),
        }

    def _let_go(self) -> None:
        self._spool.close()
        self._open.close()

    async def _send_all(self) -> None:
        while True:
            item = self._spool.head()
            if item is None:
                if self._stop.is_set():
                    return
                self._wake.clear()
                with suppress(TimeoutError):  # a disk that does not give what waits is asked again
                    await asyncio.wait_for(self._wake.wait(), _UNREADABLE_S if len(self._spool) else None)
            elif self._too_old(item):
                self._give_up(
                    item, Answer("never", f"it took nothing for {self._settings.keep_h:g} hours (webhook.keep_h)")
                )
            elif not await self._send(item):
                return

    async def _send(self, item: Item) -> bool:
        """One try of the head, and the pause behind it. -> whether there is sense in going on."""
        last = self._stop.is_set()
        self._circuit.trying()
        self._tries += 1
        answer = await self._poster.post(item)
        if answer.outcome in ("again", "refused"):
            return await self._rest(answer) and not last
        self._circuit.answered()
        if answer.outcome == "unfit":
            return await self._once_more(item, answer) and not last
        else:
            self._delivered += 1
            self._spool.done(item.number)
            self._trouble.over(len(self._spool))
        return True

    async def _rest(self, answer: Answer) -> bool:
        wish_s = min(answer.retry_after_s or 0.0, self._settings.retry_after_max_s)
        if answer.outcome == "refused":
            rest_s = self._circuit.refused()
            self._trouble.refused(answer, len(self._spool), self._settings.keep_h)
        else:
            rest_s = self._circuit.failed()
            self._trouble.failing(answer, len(self._spool))
            if self._circuit.state == "open":
                self._trouble.left_alone()
        await self._stopped_within(max(rest_s, wish_s))
        return (wish_s <= rest_s and answer.outcome == "again") or not self._stop.is_set()

    async def _once_more(self, item: Item, answer: Answer) -> bool:
        """An event that the target calls unfit is given up after a few tries, and costs the others no more."""
        before, tries = self._unfit
        tries = tries + 1 if before == item.number else 1
        self._unfit = (item.number, tries)
        if tries < _UNFIT_TRIES:
            await self._stopped_within(self._settings.first_rest_s * 2.0 ** (tries - 1))
        else:
            self._give_up(item, answer)
        return True

    async def _stopped_within(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    def _too_old(self, item: Item) -> bool:
        return time.time() - item.put_at > 3600 * self._settings.keep_h

    def _give_up(self, item: Item, answer: Answer) -> None:
        self._failed += 1
        self._spool.done(item.number)
        self._trouble.given_up(answer, item.meta.get("type", "event"))


def make(settings: WebhookSettings) -> Iterable[tuple[str, Sink]]:
    """A sink for each target, under the name `webhook:HOST`. Raises SinkError."""
    made: dict[str, WebhookSink] = {}
    try:
        for target in targets(settings):
            name = f"webhook:{urlsplit(target.url).netloc}"
            more = sum(one == name or one.startswith(f"{name}#") for one in made)
            made[f"{name}#{more + 1}" if more else name] = WebhookSink(target, settings)
    except SinkError:
        for sink in made.values():
            sink.abandon()
        raise
    return list(made.items())
