"""Where calls are kept, and for how long."""

from __future__ import annotations

import msgspec


class HistorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that are over, and those that go on, in one SQLite file for `turnwatch calls` and for the baselines.

    `file`: the SQLite file; without one there is no history. Several programs on one machine may share it, but not over
    a network file system. `site`: where these calls are from, where several sites share a file; it tells apart calls of
    the same name.

    `commit_ms`: an event is on disk at most so long after it was told; alerts at once. `keep_days`: a call that nothing
    was written of for so long is deleted. `max_mb`: beyond this size the oldest calls are deleted; calls that go on
    never are. Null for either: for ever. `teach_baselines`: each finished call teaches what is usual for its agent,
    unless somebody who looks across calls has said how it is to count.
    """

    file: str | None = None
    site: str = ""
    commit_ms: int = 200
    keep_days: float | None = 90.0
    max_mb: float | None = 1024.0
    teach_baselines: bool = True

    def __post_init__(self) -> None:
        if self.file is not None and not self.file.strip():
            raise ValueError("history.file is empty: name an SQLite file, or leave it out")
        if not 0 <= self.commit_ms <= 10_000:
            raise ValueError(f"history.commit_ms is {self.commit_ms}: it is between 0 and 10000")
        if self.keep_days is not None and not 0 < self.keep_days <= 36_500:
            raise ValueError(f"history.keep_days is {self.keep_days:g}: it is more than 0, or null to keep all")
        if self.max_mb is not None and not 1 <= self.max_mb <= 1_000_000:
            raise ValueError(f"history.max_mb is {self.max_mb:g}: it is between 1 and 1000000, or null for no limit")
