"""A program that keeps calls, to be killed: prints the number of each event that is acknowledged.

python -m tests.sinks.history.writer_process FILE CALL COUNT
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.sink import HistorySink
from monitor.sinks.history.store import Told
from tests.sinks.history.told import Script


def acknowledge(batch: Sequence[Told]) -> None:
    for told in batch:
        sys.stdout.write(f"{told.event.seq}\n")
    sys.stdout.flush()


async def main(path: Path, call: str, count: int) -> None:
    history = HistorySink(path, HistorySettings(file=str(path), commit_ms=5), acknowledge)
    await history.open()
    script = Script(call)
    await history.deliver(script.told[0])
    for index in range(count):
        done = len(script.told)
        script.turn(index, "user", 100, f"turn {index}")
        for event in script.told[done:]:
            await history.deliver(event)
        await asyncio.sleep(0)
    script.end()
    await history.deliver(script.told[-1])
    await history.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
