"""One sound file, read in blocks: whatever libsndfile reads, and WAV files whose header is wrong.

Never holds more than a block. Says in `remarks` what was odd about the header, in `damage` why reading stopped early.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from connectors.base import ConnectorError
from connectors.riff import RepairedWav, Riff, read_riff
from connectors.source import shown

try:
    import soundfile
except (ImportError, OSError) as missing:  # OSError: the package is there, its library is not
    raise ConnectorError(f"recordings cannot be read: install soundfile, with libsndfile ({missing})") from missing

Block = NDArray[np.int16]
"""Frames by channels."""

_ENCODINGS = {
    "PCM_16": "pcm_s16le",
    "PCM_24": "pcm_s24le",
    "PCM_32": "pcm_s32le",
    "PCM_U8": "pcm_u8",
    "PCM_S8": "pcm_s8",
    "ULAW": "mulaw",
    "ALAW": "alaw",
    "FLOAT": "pcm_f32le",
    "DOUBLE": "pcm_f64le",
    "MPEG_LAYER_III": "mp3",
}
_SCALED_BY_LIBSNDFILE = ("PCM_", "ULAW", "ALAW", "ALAC", "GSM", "IMA_", "MS_ADPCM", "G72", "VOX", "DWVW", "DPCM", "NMS")
"""Beginnings of the encodings that come as 16-bit samples. What is made of floats inside would come unscaled."""

_CONTAINERS = {
    (0, b"\x1aE\xdf\xa3"): "a WebM or Matroska file",
    (4, b"ftyp"): "an MP4 or M4A file",
    (0, b"#!AMR"): "an AMR file",
    (0, b"0&\xb2u"): "a Windows Media file",
    (0, b"\xff\xf1"): "an AAC file",
    (0, b"\xff\xf9"): "an AAC file",
}


class NotReadable(ConnectorError):
    """The file is there and holds something, but nothing that is read here."""


class RecordedFile:
    """An open sound file. `rate` in Hz; `frames` is how many samples a channel the header (or the size) promises;
    `encoding` in the words of `TrackFormat`. Raises `ConnectorError` with a line for the user."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.remarks: list[str] = []
        self.damage: str | None = None
        self.frames_read = 0
        riff = _look(path)
        try:
            self._file = soundfile.SoundFile(_repaired(path, riff) if riff and riff.repair else path)
        except (soundfile.SoundFileError, OSError) as error:
            raise NotReadable(_cannot_read(path, riff, error)) from None
        self.rate: int = self._file.samplerate
        self.channels: int = self._file.channels
        self.frames: int = self._file.frames
        subtype: str = self._file.subtype
        self._scaled = subtype.startswith(_SCALED_BY_LIBSNDFILE)
        self.encoding = "flac" if self._file.format == "FLAC" else _ENCODINGS.get(subtype, subtype.lower())
        if riff and riff.lie:
            self.remarks.append(riff.lie)
        if self.frames <= 0:
            self.close()
            raise NotReadable(f"{shown(path)} holds no audio: its header is there, but not one sample after it")

    @property
    def name(self) -> str:
        """The file's name without its folder, for notices."""
        return shown(os.path.basename(self.path))

    @property
    def length_ms(self) -> int:
        """What the header promises, in ms, rounded up."""
        return -(-self.frames * 1000 // self.rate)

    @property
    def end_ms(self) -> int:
        """Where the audio read so far ends, in ms, rounded up."""
        return -(-self.frames_read * 1000 // self.rate)

    def read(self, frames: int) -> Block:
        """The next `frames` samples of every channel; fewer at the end of the file or where it is damaged."""
        if self.damage is not None:
            return np.zeros((0, self.channels), np.int16)
        block = np.empty((frames, self.channels), np.int16 if self._scaled else np.float32)
        begin = self.frames_read
        try:
            block = self._file.read(out=block)
        except soundfile.SoundFileError as error:
            # What came before the damage is in the block; only libsndfile's position says how much that is.
            good = max(0, min(self._file.tell() - begin, frames))
            block = block[:good]
            self.damage = _reason(error)
        else:
            if len(block) < frames and begin + len(block) < self.frames:
                self.damage = "the file ends there"
        self.frames_read = begin + len(block)
        if self._scaled:
            return block
        scaled = np.clip(np.nan_to_num(block, nan=0.0), -1.0, 1.0) * np.float32(32768)
        samples: Block = np.minimum(np.rint(scaled), 32767).astype(np.int16)
        return samples

    def close(self) -> None:
        """May be called more than once."""
        self._file.close()


def _look(path: str) -> Riff | None:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise ConnectorError(f"{shown(path)} is a directory, not a recording")
        if not stat.S_ISREG(status.st_mode):
            raise ConnectorError(
                f"{shown(path)} is not a file that can be read twice: raw audio from a pipe is watched as pcm:-"
            )
        if status.st_size == 0:
            raise NotReadable(f"{shown(path)} is empty: whoever recorded it wrote nothing into it")
        with open(path, "rb") as file:
            return read_riff(file)
    except FileNotFoundError:
        raise ConnectorError(f"{shown(path)}: no such file") from None
    except PermissionError:
        raise ConnectorError(f"{shown(path)} may not be read by this user: change its permissions") from None
    except (OSError, ValueError) as error:
        raise ConnectorError(f"{shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _repaired(path: str, riff: Riff) -> RepairedWav:
    return RepairedWav(open(path, "rb"), riff)


def _reason(error: Exception) -> str:
    text = getattr(error, "error_string", None) or str(error)
    return " ".join(str(text).removeprefix("Error : ").split()).rstrip(".")


def _cannot_read(path: str, riff: Riff | None, error: Exception) -> str:
    """Names the format where it can be told, and the way round."""
    if riff is not None:
        what = f"is a WAV file in {riff.format_name} that is not read here ({_reason(error)})"
    else:
        head = _first_bytes(path)
        kind = next((name for (at, magic), name in _CONTAINERS.items() if head[at:].startswith(magic)), None)
        what = (
            f"is {kind}, and those are not read here"
            if kind
            else f"is no recording that can be read ({_reason(error)})"
        )
    name = shlex.quote(shown(path))
    way = f"ffmpeg -i {name} -f s16le -ac 2 -ar 16000 - | turnwatch watch pcm:- --rate 16000"
    return f"{shown(path)} {what}; if it is audio, try: {way}"


def _first_bytes(path: str) -> bytes:
    try:
        file: BinaryIO
        with open(path, "rb") as file:
            return file.read(16)
    except OSError:
        return b""
