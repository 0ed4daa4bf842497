"""The file of events, and its rotation."""

from __future__ import annotations

import msgspec


class EventsFileSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every event as a line of JSON in a file: one program, one file.

    `path`: the file; without one there is none. It is appended to. `max_mb`: one that is as large is put aside as
    `name-20260131T235959Z.jsonl`, and a new one begins. `keep_files`: so many are kept aside, the oldest are deleted;
    0 keeps none, null all. `gzip`: true packs what is put aside. Other programs may rotate the file as well: it is
    opened anew within a second once it has been moved away.

    `sync_ms`: a line is on the disk itself, safe from a power cut, at most so long after it was written; 0 waits for
    the disk with each line; null leaves it to the system. What was written survives the end of the program in any case.
    """

    path: str | None = None
    max_mb: float | None = 100.0
    keep_files: int | None = 10
    gzip: bool = False
    sync_ms: int | None = 1000

    def __post_init__(self) -> None:
        if self.path is not None and not self.path.strip():
            raise ValueError("events_file.path is empty: name a file, or leave it out")
        if self.max_mb is not None and not 0.001 <= self.max_mb <= 1_000_000:
            raise ValueError(f"events_file.max_mb is {self.max_mb:g}: it is between 0.001 and 1000000, or null")
        if self.keep_files is not None and not 0 <= self.keep_files <= 100_000:
            raise ValueError(f"events_file.keep_files is {self.keep_files}: it is between 0 and 100000, or null")
        if self.sync_ms is not None and not 0 <= self.sync_ms <= 3_600_000:
            raise ValueError(f"events_file.sync_ms is {self.sync_ms}: it is between 0 and 3600000, or null")
