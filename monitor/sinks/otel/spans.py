"""What spans say -> spans of OpenTelemetry's SDK, with its limits and its resource, and with ids of our own."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from monitor.sinks.otel.call_trace import SpanFacts


class _GivenIds(IdGenerator):
    """The ids of the span that is made next."""

    def __init__(self) -> None:
        self.trace_id = self.span_id = 1

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class _HandOn(SpanProcessor):
    def __init__(self, take: Callable[[ReadableSpan], None]) -> None:
        self._take = take

    def on_end(self, span: ReadableSpan) -> None:
        self._take(span)


class Spans:
    """Makes spans, each whole at once, and gives them to `take`. For one thread."""

    def __init__(self, service_name: str, take: Callable[[ReadableSpan], None]) -> None:
        try:
            own = version("turnwatch")
        except PackageNotFoundError:  # run from a folder, not installed
            own = ""
        self._ids = _GivenIds()
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": service_name, "service.version": own}),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        provider.add_span_processor(_HandOn(take))
        self._tracer = provider.get_tracer("turnwatch", own)

    def make(self, facts: SpanFacts) -> None:
        """One span, ended."""
        self._ids.trace_id, self._ids.span_id = facts.trace_id, facts.span_id
        parent = SpanContext(facts.trace_id, facts.parent_id or 0, is_remote=False, trace_flags=TraceFlags(1))
        span = self._tracer.start_span(
            facts.name,
            context=set_span_in_context(NonRecordingSpan(parent)),
            kind=SpanKind.INTERNAL,
            attributes=facts.attributes,
            start_time=facts.start_ns,
            record_exception=False,
        )
        for told in facts.events:
            span.add_event(told.name, told.attributes, timestamp=told.at_ns)
        if facts.failed is not None:
            span.set_status(Status(StatusCode.ERROR, facts.failed))
        span.end(facts.end_ns)
