"""Spans -> a collector, over OTLP/HTTP (opentelemetry.io/docs/specs/otlp, binary protobuf).

| what the collector does | then |
|---|---|
| takes them | they are delivered; the ones that it rejects in a partial success are counted as dropped |
| is away, silent, or says 429, 502, 503, 504 | they wait, and are tried again after 1 s, 2 s, … up to a minute |
| anything else | they are dropped and counted: sending the same again would bring the same |

The log is told when trouble begins and when it is over, not of every try in between.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from typing import Final

import httpx
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan

from monitor.sinks import SinkError
from monitor.sinks.otel.settings import OtelSettings

log = logging.getLogger("turnwatch.otel")

_AGAIN: Final = frozenset((429, 502, 503, 504))
_FIRST_REST_S, _LONGEST_REST_S = 1.0, 60.0
LAST_TRY_S: Final = 1.5
"""The end of the program waits so long for the last spans."""


class _Failed(Exception):
    """A try came to nothing. `again`: the same spans may be sent again; `after_s`: as the collector says, or None."""

    def __init__(self, reason: str, again: bool, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.again, self.after_s = again, after_s


class Sending:
    """Spans that wait for their collector, and the task that takes them there. To be opened, used and closed in one
    event loop; the figures may be read from anywhere. Raises `SinkError` where the settings are no good."""

    def __init__(self, settings: OtelSettings) -> None:
        self._settings, self._url = settings, settings.url
        self._who = self._url.partition("?")[0]
        self._waiting: deque[ReadableSpan] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._trusted: ssl.SSLContext | bool = True
        if settings.ca_file:
            try:
                self._trusted = ssl.create_default_context(cafile=settings.ca_file)
            except (OSError, ssl.SSLError) as error:
                raise SinkError(f"otel.ca_file {settings.ca_file} holds no certificates that can be read") from error
        self._task: asyncio.Task[None] | None = None
        self._client: httpx.AsyncClient | None = None
        self._trouble = False
        self.delivered = self.dropped = self.failed = 0
        self._told_full = self._told_rejected = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def connected(self) -> bool:
        """Whether the last try went well; also before the first."""
        return not self._trouble

    def open(self) -> None:
        """Begin to send."""
        headers = {"Content-Type": "application/x-protobuf", "User-Agent": "turnwatch", **self._settings.secret_headers}
        if self._settings.token:
            headers["Authorization"] = f"Bearer {self._settings.token}"
        self._client = httpx.AsyncClient(headers=headers, timeout=self._settings.timeout_s, verify=self._trusted)
        self._task = asyncio.create_task(self._send_all(), name="otel")

    def put(self, span: ReadableSpan) -> None:
        """One more span; never waits."""
        self._waiting.append(span)
        self._bound()
        if len(self._waiting) >= self._settings.batch_spans:
            self._wake.set()

    async def close(self) -> None:
        """Try once more, for a moment; what is left then is dropped and told."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=LAST_TRY_S)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
        if left := len(self._waiting):
            self.dropped += left
            self._waiting.clear()
            log.warning("%d spans did not reach the collector at %s before the end", left, self._who)

    async def _send_all(self) -> None:
        rest_s = 0.0
        while True:
            await self._pause(rest_s)
            last = self._closing
            rest_s = await self._send_waiting(rest_s)
            if last:
                return

    @property
    def _full(self) -> bool:
        return len(self._waiting) >= self._settings.batch_spans

    async def _pause(self, rest_s: float) -> None:
        """`rest_s` after a failure; otherwise `every_s`, or until a batch is full. The end of the program cuts it."""
        deadline = asyncio.get_running_loop().time() + (rest_s or self._settings.every_s)
        while not self._closing and (rest_s or not self._full):
            self._wake.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._wake.wait()
            except TimeoutError:
                return

    async def _send_waiting(self, rested_s: float) -> float:
        """Send what waits. -> how long to rest before the next try; 0 where all went well."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._settings.batch_spans))]
            try:
                rejected = await self._post(batch)
            except asyncio.CancelledError:
                self._waiting.extendleft(reversed(batch))
                raise
            except _Failed as failure:
                self.failed += 1
                self._tell(failure)
                if not failure.again:
                    self.dropped += len(batch)
                    continue
                self._waiting.extendleft(reversed(batch))
                self._bound()
                doubled = min(_LONGEST_REST_S, 2 * rested_s or _FIRST_REST_S)
                return max(doubled, min(failure.after_s or 0.0, _LONGEST_REST_S))
            self.delivered += len(batch) - rejected
            self.dropped += rejected
            if rejected and not self._told_rejected:
                self._told_rejected = True
                log.warning("the collector at %s rejects some of the spans: look at its own log", self._who)
            if self._trouble:
                self._trouble = self._told_full = False
                log.warning("the collector at %s takes spans again", self._who)
        return 0.0

    async def _post(self, batch: list[ReadableSpan]) -> int:
        """-> how many of them the collector rejected. Raises `_Failed`."""
        assert self._client is not None
        body = encode_spans(batch).SerializeToString()
        try:
            answer = await self._client.post(self._url, content=body)
        except (httpx.HTTPError, OSError) as error:
            raise _Failed(str(error) or type(error).__name__, again=True) from error
        if answer.is_success:
            return _rejected(answer.content)
        reason = f"it answers {answer.status_code} {answer.reason_phrase}"
        if answer.status_code in (401, 403):
            reason += ": look at otel.token and otel.secret_headers"
        elif answer.status_code in (404, 405) or answer.is_redirect:
            reason += ": otel.endpoint is not where a collector takes traces over HTTP"
        raise _Failed(reason, answer.status_code in _AGAIN, _seconds(answer.headers.get("retry-after")))

    def _bound(self) -> None:
        while len(self._waiting) > self._settings.max_kept_spans:
            self._waiting.popleft()
            self.dropped += 1
            if not self._told_full:
                self._told_full = True
                log.warning("spans are dropped: %d wait for the collector already", self._settings.max_kept_spans)

    def _tell(self, failure: _Failed) -> None:
        if not self._trouble:
            self._trouble = True
            what = "spans wait and are sent again" if failure.again else "these spans are lost"
            log.warning("the collector at %s does not take spans: %s; %s, the calls go on", self._who, failure, what)


def _rejected(body: bytes) -> int:
    try:
        return max(0, int(ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans))
    except Exception:  # what is no protobuf (a proxy's page, JSON) rejects nothing
        return 0


def _seconds(text: str | None) -> float | None:
    """`Retry-After` in seconds; a date is not looked at."""
    return float(text) if text and text.isascii() and text.isdigit() else None
