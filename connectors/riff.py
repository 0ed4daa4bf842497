"""RIFF/WAVE headers: what they say, what is really there, and a file with the header put right.

Format: Microsoft/IBM "Multimedia Programming Interface and Data Specifications 1.0" (1991) and `WAVEFORMATEXTENSIBLE`.
Programs that write to a pipe do not know how long the audio will be, and leave 0 or 0xFFFFFFFF as the size of the
`data` chunk; programs that were killed leave less or more than there is. The audio then is everything up to the end of
the file.
"""

from __future__ import annotations

import io
import os
import struct
from typing import BinaryIO

import msgspec

_MAX_CHUNKS = 1000
_STREAMED = 0xFFFFFFFF - 4096
"""A size from here on means "not known": writers differ in the last bits."""

FORMATS = {
    0x0001: "PCM",
    0x0002: "Microsoft ADPCM",
    0x0003: "float PCM",
    0x0006: "A-law",
    0x0007: "mu-law",
    0x0011: "IMA ADPCM",
    0x0014: "G.723 ADPCM",
    0x0031: "GSM 6.10",
    0x0040: "G.721 ADPCM",
    0x0042: "G.723.1",
    0x0045: "G.726 ADPCM",
    0x0050: "MPEG",
    0x0055: "MP3",
    0x0064: "G.726 ADPCM",
    0x0065: "G.722 ADPCM",
    0x0083: "G.729",
    0x00FF: "AAC",
    0x0161: "Windows Media Audio",
    0x704F: "Opus",
    0xFFFE: "an extensible format",
}


class Riff(msgspec.Struct, frozen=True):
    """A header as found. `fmt`: the body of its `fmt ` chunk. `data_at`, `present`: place and length in bytes of the
    audio that is there. `lie`: in words, where the header does not say the truth about it, or None. `repair`:
    libsndfile would not read it as it should; give it a `RepairedWav`."""

    fmt: bytes
    data_at: int
    present: int
    lie: str | None
    repair: bool

    @property
    def format_name(self) -> str:
        """The name of the encoding, with its number."""
        tag: int = struct.unpack_from("<H", self.fmt)[0]
        if tag == 0xFFFE and len(self.fmt) >= 26:
            tag = struct.unpack_from("<H", self.fmt, 24)[0]
        return f"{FORMATS.get(tag, 'an unknown format')} (format 0x{tag:04X})"


def read_riff(file: BinaryIO) -> Riff | None:
    """The header of a seekable file; None if it is no RIFF/WAVE file with audio in it, or too broken to tell."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
        return None
    fmt, at, skewed = b"", 12, False
    for _ in range(_MAX_CHUNKS):
        name, length = _chunk(file, at)
        if name == b"data" and len(fmt) >= 16:
            return _judge(file, fmt, at + 8, length, size, skewed)
        if not _plausible(name) or at + 8 + length > size:
            return None
        if name == b"fmt ":
            fmt = file.read(min(length, 1024))
        after = at + 8 + length
        if length % 2 and not _plausible(_chunk(file, after + 1)[0]) and _plausible(_chunk(file, after)[0]):
            skewed = True  # a chunk of odd length whose writer forgot the pad byte
            at = after
        else:
            at = after + length % 2
    return None


def _chunk(file: BinaryIO, at: int) -> tuple[bytes, int]:
    file.seek(at)
    head = file.read(8)
    return (head[:4], struct.unpack_from("<I", head, 4)[0]) if len(head) == 8 else (b"", 0)


def _plausible(name: bytes) -> bool:
    return len(name) == 4 and all(32 <= byte < 127 for byte in name)


def _judge(file: BinaryIO, fmt: bytes, data_at: int, declared: int, size: int, skewed: bool) -> Riff:
    rest = size - data_at
    lie, present, repair = None, min(declared, rest), skewed
    if declared > rest:
        if declared >= _STREAMED:
            lie = "its header does not say how long the audio is"
        else:
            lie = f"it ends early: its header promises {declared} bytes of audio, {rest} are there"
    elif rest - declared > 16 and not _chunks_follow(file, data_at + declared, size):
        lie = f"its header speaks of {declared} bytes of audio, {rest} are there"
        present, repair = rest, True
    if fmt[:2] == b"\xfe\xff" and len(fmt) < 40:
        lie = lie or "its header is of the extensible kind but too short for it; taken as PCM"
        repair = True
    return Riff(fmt, data_at, present, lie, repair)


def _chunks_follow(file: BinaryIO, at: int, size: int) -> bool:
    """Whether what follows the audio is another chunk, and not more audio."""
    for begin in {at, at + at % 2}:
        name, length = _chunk(file, begin)
        if _plausible(name) and begin + 8 + length <= size + 1:
            return True
    return False


class RepairedWav(io.RawIOBase):
    """The audio of `file` behind a header that is right. Owns `file`."""

    def __init__(self, file: BinaryIO, riff: Riff) -> None:
        super().__init__()
        fmt = riff.fmt
        if fmt[:2] == b"\xfe\xff" and len(fmt) < 40:
            fmt = b"\x01\x00" + fmt[2:16]
        body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"\0" * (len(fmt) % 2)
        length = min(riff.present, _STREAMED - len(body))
        self._head = b"RIFF" + struct.pack("<I", len(body) + 8 + length) + body + b"data" + struct.pack("<I", length)
        self._file = file
        self._shift = riff.data_at - len(self._head)
        self._size = len(self._head) + length
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # any writable buffer, as io has it
        view = memoryview(buffer).cast("B")
        if self._at < len(self._head):
            data = self._head[self._at : self._at + len(view)]
        else:
            self._file.seek(self._at + self._shift)
            data = self._file.read(max(0, min(len(view), self._size - self._at)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
