"""A collector on loopback: a real HTTP server that takes OTLP, decodes it, and misbehaves when it is told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from monitor.core.events import Event
from monitor.sinks.otel.settings import OtelSettings
from monitor.sinks.otel.sink import OtelSink


class Collector:
    """What came, and how it answers: the `answers` one after the other, then 200. `rejects`: so many spans of each
    request, in a partial success."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.rejects = 0
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.taken: list[ExportTraceServiceRequest] = []
        self.came = threading.Condition()
        self.url = ""

    @property
    def spans(self) -> list[Span]:
        """Every span that was taken."""
        return [s for r in self.taken for rs in r.resource_spans for scope in rs.scope_spans for s in scope.spans]

    def named(self, name: str) -> list[Span]:
        """The spans of that name, in order of their start."""
        return sorted((s for s in self.spans if s.name == name), key=lambda s: s.start_time_unix_nano)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """One request -> the status and the body of the answer."""
        with self.came:
            status = self.answers.pop(0) if self.answers else 200
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(body)
            if status == 200:
                self.taken.append(ExportTraceServiceRequest.FromString(body))
            self.came.notify_all()
        partial = ExportTracePartialSuccess(rejected_spans=self.rejects)
        answer = ExportTraceServiceResponse(partial_success=partial).SerializeToString()
        return status, answer if status == 200 else b"no"

    async def until_requests(self, many: int) -> None:
        """Wait for so many requests."""

        def wait() -> bool:
            with self.came:
                return self.came.wait_for(lambda: len(self.bodies) >= many, timeout=5)

        assert await asyncio.to_thread(wait)


@contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    """A collector that runs."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = collector.take(self.path, dict(self.headers), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def export(sink: OtelSink, events: Iterable[Event]) -> OtelSink:
    """Give these events to a sink, from its opening to its close."""
    await sink.open()
    for event in events:
        await sink.deliver(event)
    await sink.close()
    return sink


def sink_to(collector: Collector, **settings: Any) -> OtelSink:
    """A sink that sends to this collector, when it is closed unless the settings say otherwise."""
    return OtelSink(OtelSettings(endpoint=collector.url, **{"every_s": 600.0, **settings}))


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span, an event or a resource, as plain values."""

    def plain(value: Any) -> Any:
        kind = value.WhichOneof("value")
        found = getattr(value, kind)
        return [plain(one) for one in found.values] if kind == "array_value" else found

    return {pair.key: plain(pair.value) for pair in span.attributes}
