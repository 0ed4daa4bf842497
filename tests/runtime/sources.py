"""Connectors for tests: a script of inputs, played as a recording or as something live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from connectors.inputs import Input


class Script:
    """Yields `given`, then raises `failure` if there is one. `finished` once its iterator has been let go of."""

    live = False

    def __init__(self, given: Sequence[Input], failure: Exception | None = None, length_ms: int | None = None) -> None:
        self._given = given
        self._failure = failure
        self.length_ms = length_ms
        self.yielded = 0
        self.finished = False

    async def inputs(self) -> AsyncIterator[Input]:
        try:
            for one in self._given:
                self.yielded += 1
                yield one
            if self._failure is not None:
                raise self._failure
        finally:
            self.finished = True
