"""The page at `/metrics`: how the program stands is read here, in the event loop; the rest is done in a thread, so that
no call waits for a scrape. One page at a time: whoever scrapes more often than that waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from monitor.core.call import Status

if TYPE_CHECKING:
    from monitor.sinks.prometheus.folding import Metrics


class MetricsPage:
    """Answers scrapes. `calls` and `program`: as `Service` has them; they are asked for each page."""

    def __init__(
        self, metrics: Metrics, calls: Callable[[], Sequence[Status]], program: Callable[[], dict[str, Any]]
    ) -> None:
        self._metrics, self._calls, self._program = metrics, calls, program
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, accept: str | None) -> tuple[bytes, str]:
        """-> the page for a scraper that takes `accept`, and its content type."""
        from monitor.sinks.prometheus.standing import Standing

        async with self._one_at_a_time:
            calls, program = self._calls(), self._program()
            standing = Standing(
                calls=tuple(call.call for call in calls),
                waits_ms=tuple(call.waiting_ms for call in calls if call.waiting_ms is not None),
                program=program,
                sinks=program.get("sinks", {}),
                version=_version(),
            )
            return await asyncio.to_thread(self._metrics.page, accept, standing)


@cache
def _version() -> str:
    try:
        return version("turnwatch")
    except PackageNotFoundError:  # run from a folder, not installed
        return "unknown"
