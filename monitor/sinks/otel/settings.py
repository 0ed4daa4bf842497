"""`[otel]`: traces of calls for a collector of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from monitor.sinks import SinkError

if TYPE_CHECKING:
    from monitor.sinks import Sink

TRACES_PATH = "/v1/traces"


class OtelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Off unless `endpoint` is set. It takes the extra `otel`: pip install 'turnwatch[otel]'.

    `endpoint`: where the collector takes OTLP over HTTP, as http://127.0.0.1:4318; `/v1/traces` is put behind it.
    `token`: sent as `Authorization: Bearer TOKEN`. `secret_headers`: further headers, as some vendors want them.
    `ca_file`: certificates (PEM) to trust for https in place of the system's. `service_name`: what the traces are filed
    under. `include_text`: export the words of the call and the judge's reasons as well; they leave this machine then.

    `every_s`: how often spans are sent, in seconds. `batch_spans`: so many go in one request. `max_kept_spans`: so many
    are kept while the collector is away; beyond that the oldest are dropped and counted. `timeout_s`: how long one try
    may take, in seconds.
    """

    endpoint: str | None = None
    token: str | None = None
    secret_headers: dict[str, str] = {}
    ca_file: str | None = None
    service_name: str = "turnwatch"
    include_text: bool = False
    every_s: float = 2.0
    batch_spans: int = 512
    max_kept_spans: int = 5000
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        for key, least, most in (
            ("every_s", 0.01, 600),
            ("timeout_s", 0.01, 600),
            ("batch_spans", 1, 10_000),
            ("max_kept_spans", 1, 1_000_000),
        ):
            if not least <= getattr(self, key) <= most:
                raise ValueError(f"otel.{key} must be from {least:,} to {most:,}; got {getattr(self, key)!r}")
        for name, value in (*self.secret_headers.items(), ("Authorization", self.token or "")):
            if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f"otel.secret_headers: {name!a} is no name of a header")
            if not (value.isascii() and value.isprintable()):
                raise ValueError(f"otel: the value for the header {name} must be printable ASCII")

    @property
    def url(self) -> str:
        """The address that spans are posted to. Raises `SinkError`."""
        endpoint = (self.endpoint or "").rstrip("/")
        try:
            parts = urlsplit(endpoint)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if not usable:
            raise SinkError("otel.endpoint must be the address of a collector, as in http://127.0.0.1:4318")
        if "@" in parts.netloc:
            raise SinkError("otel.endpoint holds a name or a password: put it into otel.token or otel.secret_headers")
        return endpoint if endpoint.endswith(TRACES_PATH) else endpoint + TRACES_PATH


def make(settings: OtelSettings) -> Iterable[tuple[str, Sink]]:
    """The sink, where there is an endpoint. Raises `SinkError`."""
    if not settings.endpoint:
        return ()
    try:
        found = find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter.otlp.proto.common")
    except ModuleNotFoundError:
        found = None
    if not found:
        raise SinkError("otel.endpoint is set, and OpenTelemetry is not installed: pip install 'turnwatch[otel]'")
    from monitor.sinks.otel.sink import OtelSink

    return (("otel", OtelSink(settings)),)
