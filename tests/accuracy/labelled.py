"""The labelled calls, heard with the default settings and nothing told about them."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from monitor import watch
from monitor.core.encode import encode
from monitor.core.events import Event

SHARED = Path(__file__).resolve().parents[3] / "shared"
CALLS = sorted((SHARED / "data" / "calls").glob("*.flac"))
HARD = ("08_", "09_", "11_", "13_")
"""Strong noise, babble, comfort noise, music: the calls that the first column of the goals leaves out."""


def scorer() -> Any:
    """The program that the labels' makers compare with."""
    sys.path.insert(0, str(SHARED / "tools"))
    try:
        import score_timeline
    finally:
        sys.path.remove(str(SHARED / "tools"))
    return score_timeline


@cache
def heard(path: Path) -> tuple[Event, ...]:
    """The events of one recording, read at once."""

    async def run() -> tuple[Event, ...]:
        return tuple([event async for event in watch(f"wav:{path}", speed=None)])

    return asyncio.run(run())


def figures(paths: list[Path]) -> dict[str, Any]:
    """How the events of these calls compare with their labels, pooled."""
    tool = scorer()
    parts = []
    for path in paths:
        label = json.loads(path.with_suffix(".json").read_text("utf-8"))
        parts.append(tool.score_call(label, [encode(event).decode() for event in heard(path)]))
    found: dict[str, Any] = tool.figures(tool.pool(parts))
    return found
