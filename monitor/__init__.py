"""Turnwatch watches voice-agent calls: who speaks, who waits, who interrupts whom, and how natural that is.

    from monitor import watch

    async for event in watch("wav:call.flac", speed=None):
        print(event.as_dict())

`watch` is the one path for live calls, recordings and tapes. `CallMonitor` does the same without asyncio, one input at
a time. `TurnTakingNaturalness` and `TurnRelevancy` score the turns of a call that is over. What an event holds stands
in `monitor.events`.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.config import Config, ConfigError
    from monitor.core import events
    from monitor.core.call import CoreSettings
    from monitor.core.naturalness import TurnTakingNaturalness
    from monitor.relevancy_metric import TurnRelevancy
    from monitor.runtime.hearing import CallMonitor, NoDetector
    from monitor.runtime.judging import NoJudge
    from monitor.runtime.watch import Watching, watch

__all__ = [
    "CallMonitor",
    "Config",
    "ConfigError",
    "CoreSettings",
    "NoDetector",
    "NoJudge",
    "TurnRelevancy",
    "TurnTakingNaturalness",
    "Watching",
    "events",
    "watch",
]

_PLACES = {
    "CallMonitor": "monitor.runtime.hearing",
    "Config": "monitor.config",
    "ConfigError": "monitor.config",
    "CoreSettings": "monitor.core.call",
    "NoDetector": "monitor.runtime.hearing",
    "NoJudge": "monitor.runtime.judging",
    "TurnRelevancy": "monitor.relevancy_metric",
    "TurnTakingNaturalness": "monitor.core.naturalness",
    "Watching": "monitor.runtime.watch",
    "watch": "monitor.runtime.watch",
}


def __getattr__(name: str) -> Any:
    if name == "events":
        value: Any = import_module("monitor.core.events")
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'monitor' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
