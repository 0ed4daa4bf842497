"""OpenTelemetry traces: a span for each call, and one for each of its turns beneath it.

| file | holds |
|---|---|
| `settings.py` | the section `[otel]` |
| `call_trace.py` | events of a call -> what its spans say |
| `spans.py` | that -> spans of OpenTelemetry's SDK |
| `sending.py` | spans -> a collector over OTLP/HTTP, bounded, tried again while the collector is away |
| `sink.py` | the sink that joins them |
"""
