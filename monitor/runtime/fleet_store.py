"""Baselines in the history's file: read at the start, written by a thread of their own as calls teach them."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import deque
from contextlib import closing
from pathlib import Path

from monitor.config import Config, ConfigError
from monitor.core.fleet.baselines import Baselines, hour_of_week
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Learnt
from monitor.runtime.fleet import BaselineStore
from monitor.runtime.fleet_recovery import recovered

log = logging.getLogger("turnwatch.fleet")

MAX_WAITING = 20_000
"""Finished calls that may wait for a disk that refuses; beyond that the oldest are let go."""
_BUSY_MS = 2000
_TRY_AGAIN_S = 5.0
_CLOSE_WITHIN_S = 2.0


class HistoryStore:
    """`path`: the file of the history. `settings.max_agents`: so many are read, those with the latest calls. Raises
    SinkError where the file is no history, sqlite3.Error and OSError where it cannot be had."""

    def __init__(self, path: Path, settings: FleetSettings | None = None) -> None:
        self._path = path
        self._set = settings or FleetSettings()
        self._waiting: deque[Learnt] = deque(maxlen=MAX_WAITING)
        self._news = threading.Event()
        self._closing = False
        self._failing = False
        from monitor.sinks.history.schema import connect

        with closing(connect(path, busy_ms=_BUSY_MS)):
            pass
        self._thread = threading.Thread(target=self._run, name="baselines", daemon=True)
        self._thread.start()

    def load(self, into: Baselines) -> None:
        """See `BaselineStore`."""
        from monitor.sinks.history.baselines import Baselines as Kept
        from monitor.sinks.history.schema import connect

        with closing(connect(self._path, busy_ms=_BUSY_MS)) as file:
            kept = Kept(file)
            for agent in reversed(kept.agents(self._set.max_agents)):
                for hour, counts in kept.by_hour_of_week(agent).items():
                    into.learn(agent, counts.turns, counts.barge_ins, hour)
            lost = recovered(file, self._set)
        for one in lost:
            into.learn(one.agent, one.turns, one.barge_ins, None if one.ended_s is None else hour_of_week(one.ended_s))
        if lost:
            log.info("fleet: %d finished calls are learnt from that a former program had not come to", len(lost))
            self.keep(lost)

    def keep(self, learnt: list[Learnt]) -> None:
        """See `BaselineStore`."""
        self._waiting.extend(learnt)
        self._news.set()

    def close(self) -> None:
        """See `BaselineStore`."""
        self._closing = True
        self._news.set()
        self._thread.join(_CLOSE_WITHIN_S)
        if self._waiting:
            log.warning("the baselines of %d calls could not be kept: %s refuses", len(self._waiting), self._path)

    def _run(self) -> None:
        while True:
            self._news.wait(_TRY_AGAIN_S if self._waiting else None)
            self._news.clear()
            try:
                self._write()
            except Exception as error:
                if not self._failing:
                    log.warning("%s does not take baselines (%s): they wait in memory", self._path, error)
                self._failing = True
            else:
                self._failing = False
            if self._closing:
                return

    def _write(self) -> None:
        from monitor.sinks.history.baselines import Baselines as Kept
        from monitor.sinks.history.schema import connect

        if not self._waiting:
            return
        batch = list(self._waiting)
        with closing(connect(self._path, busy_ms=_BUSY_MS)) as file:
            kept = Kept(file)
            file.execute("BEGIN IMMEDIATE")
            for one in batch:
                kept.record(one.agent, one.call, int((one.ended_s or 0) * 1000), one.turns, one.barge_ins)
            file.execute("COMMIT")
        for one in batch:
            if self._waiting and self._waiting[0] is one:
                self._waiting.popleft()


def store_for(config: Config) -> BaselineStore | None:
    """The store that the settings ask for; None, which is told, where there is no history. Raises ConfigError."""
    file = config.sink("history").file if "history" in config.sinks else None
    if file is None:
        log.info("fleet: without --history, what is usual for an agent is forgotten when the program stops")
        return None
    from monitor.sinks import SinkError

    try:
        return HistoryStore(Path(file), config.fleet)
    except (SinkError, sqlite3.Error, OSError) as error:
        raise ConfigError(f"fleet: the history {file} cannot be had: {error}") from error
