"""The tables of the history, their versions, and how the file is opened.

Times within a call are whole ms of media time (`..._ms`), points in time are ms since 1970 (`..._at`), apart from
`started_at`, which is the text that the source gave. Lists and mappings are JSON. A version is only ever added to the
end of `MIGRATIONS`: what is there has been written to somebody's disk. Tables with long texts have row ids: without,
SQLite would store rows of more than a quarter of a page wastefully.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from monitor.sinks import SinkError

_AGAIN_S = 0.005
"""Until a file that somebody holds is tried again."""

APPLICATION = 0x54574831
"""`TWH1` in the file's header: an SQLite file of somebody else is not written to."""

_V1 = """
CREATE TABLE writers (writer INTEGER PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL, beat_at INTEGER NOT NULL);
CREATE TABLE calls (
    run INTEGER PRIMARY KEY, site TEXT NOT NULL, call TEXT NOT NULL, started_at TEXT,
    begun_at INTEGER NOT NULL, ended_at INTEGER, touched_at INTEGER NOT NULL, writer INTEGER NOT NULL,
    source TEXT, agent_id TEXT, labels TEXT, tracks TEXT, playout TEXT,
    reached_ms INTEGER NOT NULL DEFAULT 0, score REAL, transitions INTEGER NOT NULL DEFAULT 0,
    relevancy REAL, judged INTEGER, cause TEXT, summary TEXT,
    seen TEXT NOT NULL DEFAULT '', digest BLOB, fleet INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX calls_by_run ON calls (call, site, started_at);
CREATE INDEX calls_by_time ON calls (begun_at);
CREATE INDEX calls_by_agent ON calls (agent_id, begun_at);
CREATE INDEX calls_by_touch ON calls (touched_at);
CREATE TABLE turns (
    run INTEGER NOT NULL, turn INTEGER NOT NULL, role TEXT, start_ms INTEGER, duration_ms INTEGER, ended_by TEXT,
    backchannel INTEGER NOT NULL DEFAULT 0, interrupted INTEGER NOT NULL DEFAULT 0,
    after_stall INTEGER NOT NULL DEFAULT 0, sure REAL, text TEXT, seq INTEGER NOT NULL DEFAULT -1,
    text_seq INTEGER NOT NULL DEFAULT -1, PRIMARY KEY (run, turn));
CREATE TABLE transitions (
    run INTEGER NOT NULL, from_turn INTEGER NOT NULL, to_turn INTEGER NOT NULL, kind TEXT, gap_ms INTEGER, score REAL,
    final INTEGER NOT NULL DEFAULT 0, sure REAL, withdrawn TEXT, seq INTEGER NOT NULL DEFAULT -1,
    withdrawn_seq INTEGER NOT NULL DEFAULT -1, PRIMARY KEY (run, from_turn, to_turn)) WITHOUT ROWID;
CREATE TABLE verdicts (
    run INTEGER NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, turns TEXT NOT NULL, verdict TEXT, score REAL,
    confidence REAL, reason TEXT, shown TEXT, batch INTEGER, judge TEXT, PRIMARY KEY (run, seq));
CREATE TABLE alerts (
    run INTEGER NOT NULL, id TEXT NOT NULL, rule TEXT NOT NULL, severity TEXT NOT NULL, scope TEXT NOT NULL,
    message TEXT NOT NULL, value REAL, threshold REAL, because TEXT NOT NULL, since_ms INTEGER NOT NULL,
    until_ms INTEGER, suppressed INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (run, id));
CREATE TABLE notices (
    run INTEGER NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, track TEXT,
    count INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (run, seq));
CREATE TABLE baselines (
    agent_id TEXT NOT NULL, call TEXT NOT NULL, ended_at INTEGER NOT NULL, turns INTEGER NOT NULL,
    barge_ins INTEGER NOT NULL, PRIMARY KEY (agent_id, call)) WITHOUT ROWID;
CREATE INDEX baselines_by_agent ON baselines (agent_id, ended_at, turns, barge_ins);
CREATE INDEX baselines_by_time ON baselines (ended_at, turns, barge_ins);
CREATE TABLE states (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""

MIGRATIONS: tuple[str, ...] = (_V1,)
"""What leads from each version to the next; `PRAGMA user_version` says how many have been done."""

OF_A_RUN = ("turns", "transitions", "verdicts", "alerts", "notices", "calls")
"""The tables that have rows of a run."""


def connect(path: Path, *, busy_ms: int) -> sqlite3.Connection:
    """The file, made and brought to this version if need be. Raises sqlite3.Error, OSError, and SinkError where the
    file is not a history, or one of a later version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):  # one that is there may not be opened past SQLite: closing would drop its locks
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # words of calls are nobody else's business
    connection = sqlite3.connect(path, timeout=busy_ms / 1000, isolation_level=None)
    try:
        version = version_of(connection, path)
        if version == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only heeded before the first table, and before WAL
        _log_ahead(connection, busy_ms)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
        if version < len(MIGRATIONS):
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _log_ahead(connection: sqlite3.Connection, busy_ms: int) -> None:
    """Write-ahead log on. SQLite does not wait for other programs here, so this does. Raises sqlite3.OperationalError
    where one holds the file for longer than `busy_ms`."""
    until = time.monotonic() + busy_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a history, 0 for an empty file. Raises SinkError for what is none, or too new."""
    try:
        version, application, tables = _snapshot(connection)
    except sqlite3.OperationalError:  # locked, or not to be read: no word on what it is
        raise
    except sqlite3.DatabaseError as error:
        why = "it is damaged" if "malformed" in str(error) else "it is no SQLite file"
        hint = "Name another file, or move this one away"
        raise SinkError(f"{path} is no history of turnwatch: {why}. {hint}") from error
    if application != APPLICATION and (tables or version):
        raise SinkError(f"{path} is an SQLite file of another program, and is left alone: name another for the history")
    if version > len(MIGRATIONS):
        raise SinkError(
            f"the history {path} is of version {version}, and this turnwatch knows versions up to {len(MIGRATIONS)}: "
            "a later turnwatch has written it. Use that one, or name another file"
        )
    return int(version)


_MARKS = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")


def _snapshot(connection: sqlite3.Connection) -> list[int]:
    """The marks of a file at one moment: another program may be making it, and marks of before beside marks of after
    would look like a file of somebody else."""
    within = connection.in_transaction
    if not within:
        connection.execute("BEGIN")
    try:
        return [connection.execute(mark).fetchone()[0] for mark in _MARKS]
    finally:
        if not within and connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of what is done within, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Once, however many programs open the file."""
    with transaction(connection):
        done = version_of(connection, path)
        for script in MIGRATIONS[done:]:
            for statement in script.split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")


def connect_to_read(path: Path) -> sqlite3.Connection:
    """The file of a history, to be read only, also while others write it. Raises as `connect` does; FileNotFoundError
    where there is none."""
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        connection, version = _opened_to_read(path, "mode=ro")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # A folder that cannot be written to: nobody can be writing to the file.
        connection, version = _opened_to_read(path, "immutable=1")
    if 0 < version < len(MIGRATIONS):
        connection.close()
        with closing(connect(path, busy_ms=5000)):
            pass
        return connect_to_read(path)
    return connection


def _opened_to_read(path: Path, mode: str) -> tuple[sqlite3.Connection, int]:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5, isolation_level=None)
    try:
        return connection, version_of(connection, path)
    except BaseException:
        connection.close()
        raise
