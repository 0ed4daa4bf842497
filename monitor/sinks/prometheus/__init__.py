"""What `/metrics` on the console port answers: events folded into counters and histograms, and how the program stands.

    metrics = Metrics(PrometheusSettings())
    delivery.add("metrics", metrics, own_thread=True)
    body, content_type = metrics.page(accept, standing)     # for each scrape, from any thread

| file | holds |
|---|---|
| `settings.py` | the section `[prometheus]` |
| `labels.py` | what labels can be: closed sets, and a bounded number of agents |
| `instruments.py` | the counters and histograms, each with its name and help |
| `calls_heard.py` | what is remembered of calls that go on, and the alerts that are open |
| `folding.py` | the sink: an event -> what it counts in |
| `standing.py` | gauges of this moment: calls, sinks, the judge, the transcriber, the event loop |
"""
