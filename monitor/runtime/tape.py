"""The tape: every input that the core was given, in order, so that a call can be heard again byte for byte.

A tape is the eight bytes of `MAGIC` (the last is the format's version) and then records: length and CRC-32 of the body,
each an unsigned 32-bit little-endian number, then the body in MessagePack. The first record is the `Header`, each
other one an input. A tape whose writer died ends in half a record: what stands before it is read, and the rest is told.

Voices are personal: tapes are made readable by their owner only. No key or token is ever part of an input.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from connectors.base import ConnectorError
from connectors.inputs import AnyInput, Audio, CallEnded, CallStarted, Cut, Elapsed, Input, Notice, Stall, Verdicts
from connectors.source import shown
from monitor.core.encode import clean_text

MAGIC = b"TWTAPE\x00\x01"
MAX_RECORD = 32 * 2**20
"""The longest body of a record, in bytes: twice the longest message that a relay passes on."""

Settings = TypeVar("Settings")

_head = struct.Struct("<II")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(AnyInput).decode


class Header(msgspec.Struct, frozen=True):
    """Who recorded the tape, and the core's settings at the time: a replay uses those, or it would differ."""

    program: str
    detector: str
    settings: dict[str, Any]


def program_version() -> str:
    """The installed version of turnwatch, or `unknown` where it runs without being installed."""
    try:
        return metadata.version("turnwatch")
    except metadata.PackageNotFoundError:
        return "unknown"


def _record(body: bytes) -> bytes:
    """The bytes of one record."""
    return _head.pack(len(body), zlib.crc32(body)) + body


def cleaned(given: Input) -> Input:
    """The input with words that UTF-8 can hold: a lone surrogate becomes U+FFFD, on the tape as in events."""
    if isinstance(given, Audio | Elapsed | Cut | Stall):
        return given
    if isinstance(given, Verdicts):
        return _cleaned_verdicts(given)
    words = {name: value for name, value in msgspec.structs.asdict(given).items() if isinstance(value, str)}
    changes: dict[str, Any] = {name: clean for name, value in words.items() if (clean := clean_text(value)) != value}
    if isinstance(given, CallStarted):
        labels = {clean_text(key): clean_text(value) for key, value in given.labels.items()}
        changes |= {"labels": labels} if labels != given.labels else {}
    return msgspec.structs.replace(given, **changes) if changes else given


def _cleaned_verdicts(given: Verdicts) -> Verdicts:
    """Judges' words come from outside as well."""

    def clean(words: str | None) -> str | None:
        return None if words is None else clean_text(words)

    verdicts = tuple(msgspec.structs.replace(one, reason=clean(one.reason)) for one in given.verdicts)
    whole = given.conversation
    whole = None if whole is None else msgspec.structs.replace(whole, reason=clean(whole.reason))
    return msgspec.structs.replace(given, judge=clean_text(given.judge), verdicts=verdicts, conversation=whole)


def file_name(call: str, copy: int = 1) -> str:
    """A file name for the tape of `call`: whatever the id holds, it names a plain file in the folder it is put into."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", call).lstrip(".")[:120]
    if not stem or re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", stem):
        stem = f"call_{stem}"
    return f"{stem}.tape" if copy == 1 else f"{stem}-{copy}.tape"


class TapeWriter:
    """Writes one call's tape. `path` tells where. `failure` is the reason, in words, why it stopped, or None.

    The first input is written with the header; each `write` reaches the system before it returns. A full disk ends the
    tape, never the call.
    """

    def __init__(self, folder: Path, call: str, header: Header) -> None:
        """Raises ConnectorError if no file can be made in `folder`."""
        self.failure: str | None = None
        self._file: BinaryIO | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path, descriptor = self._new_file(folder, call)
        except OSError as error:
            raise ConnectorError(f"cannot write a tape into {folder}: {error.strerror or error}") from error
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._put(MAGIC + _record(_encode(header)))

    @staticmethod
    def _new_file(folder: Path, call: str) -> tuple[Path, int]:
        copy = 1
        while True:
            path = folder / file_name(call, copy)
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            except FileExistsError:
                copy += 1

    def write(self, inputs: Iterable[Input]) -> None:
        """Append inputs, `cleaned` ones. A disk that is full or gone is told by `failure`."""
        if self._file is not None:
            self._put(b"".join([_record(_encode(given)) for given in inputs]))

    def _put(self, data: bytes) -> None:
        assert self._file is not None
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError as error:
            self.failure = f"the tape {self.path.name} ends here: {error.strerror or error}"
            self.close()

    def close(self) -> None:
        """Close the file. May be called twice."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


class Tape:
    """A recorded tape as a connector: the inputs as they were given, and a notice where the tape is torn.

    `header` is known from the start. Raises ConnectorError if there is no such file or it is no tape.
    """

    live = False
    length_ms: int | None = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = shown(str(path))
        with self._open() as file:
            self.header = self._read_header(file)
            self._beginning = file.tell()

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise ConnectorError(f"cannot open the tape {self._name}: {error.strerror or error}") from error

    def _read_header(self, file: BinaryIO) -> Header:
        magic = file.read(len(MAGIC))
        if magic[:-1] != MAGIC[:-1]:
            raise ConnectorError(f"{self._name} is not a tape of turnwatch")
        if magic != MAGIC:
            raise ConnectorError(
                f"{self._name} is a tape of version {magic[-1]}: a newer turnwatch is needed to read it"
            )
        try:
            body = _read_body(file)
            return msgspec.msgpack.decode(body or b"", type=Header)
        except (_Torn, msgspec.MsgspecError) as error:
            raise ConnectorError(f"the tape {self._name} has no readable beginning: {shown(str(error))}") from error

    def settings(self, kind: type[Settings]) -> Settings:
        """The core's settings at the time of recording. Raises ConnectorError if this version cannot have them."""
        try:
            return msgspec.convert(self.header.settings, kind)
        except msgspec.ValidationError as error:
            raise ConnectorError(
                f"the tape {self._name} was recorded by turnwatch {shown(self.header.program)[:40]} with settings that "
                f"this version does not know: {shown(str(error))}"
            ) from error

    async def inputs(self) -> AsyncIterator[Input]:
        """The call's inputs, ending in `CallEnded` even where the tape does not; behind it only answers that were still
        awaited then."""
        with self._open() as file:
            file.seek(self._beginning)
            for given in self._whole(file):
                yield given

    def _whole(self, file: BinaryIO) -> Iterator[Input]:
        now, started, ended, torn = 0, False, False, "its writer never closed it"
        while True:
            try:
                body = _read_body(file)
                if body is None:
                    if ended:
                        return
                    break
                given = _decode(body)
            except (_Torn, msgspec.MsgspecError) as error:
                torn = shown(str(error))
                break
            started = started or isinstance(given, CallStarted)
            now = max(now, getattr(given, "at", 0))
            ended = ended or isinstance(given, CallEnded)
            yield given
        if not started:
            raise ConnectorError(f"the tape {self._name} holds no call: {torn}")
        yield Notice(now, "torn_tape", f"the tape ends before the call does: {torn}")
        yield CallEnded(now, "disconnected", "the tape is torn")


class _Torn(Exception):
    """A record that is not whole."""


def _read_body(file: BinaryIO) -> bytes | None:
    """The next record's body; None at the end of the file. Raises `_Torn`."""
    head = file.read(_head.size)
    if not head:
        return None
    if len(head) < _head.size:
        raise _Torn("the last record is cut off")
    size, checksum = _head.unpack(head)
    if size > MAX_RECORD:
        raise _Torn(f"a record claims {size} bytes")
    body = file.read(size)
    if len(body) < size:
        raise _Torn("the last record is cut off")
    if zlib.crc32(body) != checksum:
        raise _Torn("a record is damaged")
    return body
