"""What is put aside: its name, its packing, and how much of it is kept."""

from __future__ import annotations

import gzip
import logging
import os
import re
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("turnwatch.events_file")

_UNFINISHED = ".part"
_PACKED = ".gz"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Aside:
    """The files put aside of `path`. Packing runs in a thread of its own: it takes seconds."""

    def __init__(self, path: Path, keep: int | None, packed: bool) -> None:
        self._path, self._keep, self._packed = path, keep, packed
        self._name = re.compile(
            rf"{re.escape(path.stem)}-(\d{{8}}T\d{{6}}Z)(?:-(\d{{1,9}}))?{re.escape(path.suffix)}(?:{re.escape(_PACKED)})?"
        )
        self._last = ("", 0)
        self._packing: threading.Thread | None = None

    def put(self) -> None:
        """Put the file aside under the time of now. Raises OSError."""
        os.rename(self._path, self._free_name())
        self.tidy()

    def _free_name(self) -> Path:
        """One that comes behind all that were there so far, also within one second and if the clock is set back."""
        there = [self._place(one) for one in self.files()]
        self._last = max([self._last, *there])
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self._last = (now, 1) if now > self._last[0] else (self._last[0], self._last[1] + 1)
        stamp, number = self._last
        return self._path.with_name(f"{self._path.stem}-{stamp}{f'-{number}' if number > 1 else ''}{self._path.suffix}")

    def _place(self, put: Path) -> tuple[str, int]:
        """When it was put aside, and as which within that second."""
        found = self._name.fullmatch(put.name)
        return (found[1], int(found[2] or 1)) if found else ("", 0)

    def files(self) -> list[Path]:
        """What has been put aside, the oldest first."""
        found = (one for one in self._path.parent.iterdir() if self._name.fullmatch(one.name))
        return sorted(found, key=self._place)

    def tidy(self) -> None:
        """Delete what is too much, pack what is not yet packed."""
        try:
            files = self.files()
            for old in files[: max(0, len(files) - self._keep)] if self._keep is not None else []:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.error("old events beside %s cannot be deleted: %s", self._path, error)
            return
        if self._packed and (self._packing is None or not self._packing.is_alive()):
            self._packing = threading.Thread(target=self._pack_all, name="events_file gzip", daemon=True)
            self._packing.start()

    def wait(self, timeout_s: float) -> None:
        """Let the packing come to an end. What is not packed by then will be at the next start."""
        if self._packing is not None:
            self._packing.join(timeout_s)

    def _pack_all(self) -> None:
        failed: set[Path] = set()
        while waiting := [one for one in self.files() if one.suffix != _PACKED and one not in failed]:
            try:
                self._pack(waiting[0])
            except FileNotFoundError:  # deleted meanwhile
                continue
            except OSError as error:
                failed.add(waiting[0])
                log.error("%s cannot be packed: %s", waiting[0], error)

    def _pack(self, plain: Path) -> None:
        packed = plain.with_name(plain.name + _PACKED)
        unfinished = packed.with_name(packed.name + _UNFINISHED)
        try:
            unfinished.unlink(missing_ok=True)  # of a killed program: with whatever rights
            with plain.open("rb") as source, open(unfinished, "xb", opener=_private) as written:
                with gzip.GzipFile(packed.name, "wb", 6, written) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                written.flush()
                os.fsync(written.fileno())
            shutil.copymode(plain, unfinished)  # who may read the one may read the other, and nobody else
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        os.replace(unfinished, packed)
        plain.unlink(missing_ok=True)
