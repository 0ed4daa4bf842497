"""The last line of a file whose program was killed, or whose disk was full, in the middle of it."""

from __future__ import annotations

import json
import logging
import os

log = logging.getLogger("turnwatch.events_file")

_OURS = b'{"v":'
_BLOCK = 1 << 16


def mend(descriptor: int, name: str) -> None:
    """Bring an open file (readable, appended to) to the end of a whole line: a torn line of ours is cut off, one that
    lacks nothing but its line break gets it, and so does whatever is not ours. Raises OSError."""
    size = os.fstat(descriptor).st_size
    start, tail = _last_line(descriptor, size)
    if not tail:
        return
    if _torn(tail):
        os.ftruncate(descriptor, start)
        log.warning("%s ended in the middle of a line: these last %d bytes were cut off", name, len(tail))
    else:
        os.write(descriptor, b"\n")  # appended, as all that is written here


def _last_line(descriptor: int, size: int) -> tuple[int, bytes]:
    """Where what stands behind the last line break begins, and what it is; nothing if the file ends with one."""
    tail, start = b"", size
    while start > 0:
        length = min(_BLOCK, start)
        os.lseek(descriptor, start - length, os.SEEK_SET)
        block = os.read(descriptor, length)
        at = block.rfind(b"\n")
        if at >= 0:
            return start - length + at + 1, block[at + 1 :] + tail
        tail, start = block + tail, start - length
    return start, tail


def _torn(tail: bytes) -> bool:
    if not (tail.startswith(_OURS) or _OURS.startswith(tail)):
        return False  # whoever wrote it: it is not for us to throw away
    try:
        json.loads(tail)
    except ValueError:
        return True
    return False
