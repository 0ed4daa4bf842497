"""A name of its own for each call of a program: (`call`, `seq`) identifies an event for ever."""

from __future__ import annotations

from collections import OrderedDict

NAMES_KEPT = 10_000
"""So many call ids are remembered."""
MAX_NAME = 200


class CallNames:
    """Gives a call its id, with a number behind it if another call has had it."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, int] = OrderedDict()

    def own(self, call: str) -> str:
        """`call`, or `call~2` for the second of that name, and so on."""
        name = call[:MAX_NAME] or "call"
        times = self._times.pop(name, 0) + 1
        self._times[name] = times
        if len(self._times) > NAMES_KEPT:
            self._times.popitem(last=False)
        return name if times == 1 else f"{name}~{times}"
