"""Everything that attaches to a call. `CONNECTORS` is the table of source words that Turnwatch opens by itself.

To add one: a file with a function `Source -> Connector` (see `connectors.base`), and a row here. The import stands
inside the row's function, so that a library that is missing or slow to load costs only those who use it:

    def _tin_can(source: Source) -> Connector:
        from connectors.tin_can import TinCan

        source.refuse_extra()
        return TinCan(source.path, source.options)

    CONNECTORS["can"] = _tin_can        # turnwatch watch can:garden
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from connectors.base import Connector, ConnectorError, SourceError
from connectors.source import Source, SourceOptions, parse_source

__all__ = ["CONNECTORS", "Connector", "ConnectorError", "Opener", "Source", "SourceError", "SourceOptions", "open"]

Opener = Callable[[Source], Connector]


def _recording(source: Source) -> Connector:
    from connectors.wav import open_recording

    return open_recording(source)


def _pcm(source: Source) -> Connector:
    from connectors.pcm_stream import open_pcm
    from connectors.spoken_words import with_words

    return with_words(open_pcm(source), source.options)


CONNECTORS: dict[str, Opener] = {"wav": _recording, "pcm": _pcm}


def open(word: str, options: SourceOptions | None = None, *, table: Mapping[str, Opener] = CONNECTORS) -> Connector:
    """The connector for a source word such as `wav:call.flac`, opened as far as can be done without waiting.

    `options` hold for every source of a command; what the word itself says after `?` goes before them. `table`: other
    schemes than `CONNECTORS`. Raises `SourceError` if the word is wrong, `ConnectorError` if the source is.
    """
    source = parse_source(word, options or SourceOptions(), tuple(table))
    return table[source.scheme](source)
