"""Which run an event belongs to, and whether it is written already. See `monitor.sinks.history` for what a run is."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from datetime import datetime
from typing import Any

from monitor.core.encode import clean_text
from monitor.core.events import CallStarted, Event
from monitor.sinks.history.seen import Seen
from monitor.sinks.history.writers import now

_REMEMBERED = 10_000
"""So many runs are remembered, those that were over first given up first; others are looked up again."""

_OPEN, _OVER = "ended_at IS NULL", "ended_at IS NOT NULL"


class Run:
    """One watching of one call. `row`: its number in the file, None until it has one. `known`: what is written of it;
    `seen`: that, and what the transaction under way adds. `columns`: of its row in `calls`, to be set at the end of the
    transaction."""

    __slots__ = ("call", "columns", "known", "over", "row", "seen", "site", "started")

    def __init__(self, site: str, call: str, started: CallStarted | None = None) -> None:
        self.site, self.call, self.started = site, call, started
        self.row: int | None = None
        self.known = ""
        self.seen = Seen()
        self.over = False
        self.columns: dict[str, Any] = {}

    @property
    def number(self) -> int:
        """Of its row, once it has one."""
        assert self.row is not None
        return self.row

    @property
    def ended(self) -> bool:
        """Its end is written, or about to be."""
        return self.over or "ended_at" in self.columns

    def found(self, row: int, known: str, over: bool) -> None:
        """It stands in the file."""
        self.row, self.known, self.seen, self.over = row, known, Seen(known), over


class Runs:
    """The runs that one program writes. To be used within a transaction, then `kept` or `undone`."""

    def __init__(self) -> None:
        self.writer = 0
        self._runs: OrderedDict[tuple[str, str], Run] = OrderedDict()
        self._touched: dict[int, Run] = {}
        self._new: list[Run] = []

    @property
    def touched(self) -> list[Run]:
        """Those with events in this transaction."""
        return list(self._touched.values())

    def of(self, file: sqlite3.Connection, site: str, event: Event) -> Run:
        """The run of an event, with a row in the file."""
        call = clean_text(event.call)
        run = self._runs.get((site, call))
        if isinstance(event, CallStarted) and run is not None:
            if run.started is None:
                run.started = event
            elif event.started_at != run.started.started_at or (event.started_at is None and run.ended):
                run = None  # the same name once more
        if run is None:
            run = self._runs[site, call] = Run(site, call, event if isinstance(event, CallStarted) else None)
            self._forget_some()
        if run.row is None:
            self._find(file, run, event)
        if run.row is None:
            self._insert(file, run)
        self._runs.move_to_end((site, call))
        self._touched[id(run)] = run
        return run

    def _find(self, file: sqlite3.Connection, run: Run, event: Event) -> None:
        """What the file has of this run already."""
        if run.started is not None:
            if run.started.started_at is None:
                return
            wanted, values = "started_at = ?", [clean_text(run.started.started_at)]
        else:  # the beginning was missed: by this program, or it went to a former one
            wanted, values = "1", []
        row = file.execute(
            f"SELECT run, seen, {_OVER} FROM calls WHERE call = ? AND site = ? AND {wanted} ORDER BY run DESC LIMIT 1",
            [run.call, run.site, *values],
        ).fetchone()
        if row and (run.started is not None or not row[2] or event.seq <= Seen(row[1]).last):
            run.found(*row)
            run.columns["writer"] = self.writer
            self._new.append(run)

    def _insert(self, file: sqlite3.Connection, run: Run) -> None:
        started_at = run.started.started_at if run.started else None
        values = (moment(started_at) or now(), now(), self.writer)
        cursor = file.execute(
            "INSERT INTO calls (site, call, started_at, begun_at, touched_at, writer) VALUES (?, ?, ?, ?, ?, ?)",
            (run.site, run.call, None if started_at is None else clean_text(started_at), *values),
        )
        run.row = cursor.lastrowid
        if run.started is not None:
            run.columns |= described(run.started)
        run.known, run.seen = "", Seen()
        self._new.append(run)

    def refresh(self, file: sqlite3.Connection) -> None:
        """Another program has written to the file: what it wrote of these runs is known as well. Those that it deleted
        begin again."""
        for run in self._runs.values():
            if run.row is not None and not run.over:
                row = file.execute(f"SELECT seen, {_OVER} FROM calls WHERE run = ?", (run.row,)).fetchone()
                if row is None:
                    run.row, run.known, run.seen = None, "", Seen()
                elif row[0] != run.known:
                    run.found(run.row, *row)

    def kept(self) -> None:
        """The transaction is committed."""
        for run in self.touched:
            run.known = str(run.seen)
            run.over = run.ended
            run.columns = {}
        self._clear()

    def undone(self) -> None:
        """It is not: as if it had never begun."""
        for run in self._new:
            run.row, run.known = None, ""
        for run in self.touched:
            run.seen, run.columns = Seen(run.known), {}
        self._clear()

    def forget_rows(self) -> None:
        """Another file: no run has a row in it yet, as far as is known."""
        for run in self._runs.values():
            run.row, run.known, run.seen = None, "", Seen()

    def _clear(self) -> None:
        self._touched.clear()
        self._new.clear()

    def _forget_some(self) -> None:
        if len(self._runs) > _REMEMBERED:
            oldest = next((key for key, run in self._runs.items() if run.over), next(iter(self._runs)))
            del self._runs[oldest]


def moment(text: str | None) -> int | None:
    """RFC 3339 -> ms since 1970; None for what is none."""
    try:
        return None if text is None else int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def described(started: CallStarted) -> dict[str, Any]:
    """The columns in `calls` that tell what a call is."""
    keys = ("source", "agent_id", "labels", "tracks", "playout")
    return {key: getattr(started, key) for key in keys} | {"fleet": 0}
