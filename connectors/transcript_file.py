"""The words of a recording, from a file: `{"turns": [{"role", "start_time", "duration"?, "text"}]}` with times in
seconds, or WebVTT with the voice tags `<v user>` and `<v assistant>`.

`call.json` or `call.vtt` beside `call.wav` is taken by itself; a file there that is no transcript is passed over. What
cannot be used of a transcript is counted, and told in `Transcript.remarks`; one of which nothing can be used is refused
where somebody named it, and remarked on where it only lies beside the recording.
"""

from __future__ import annotations

import codecs
import json
import math
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from connectors.base import SourceError
from connectors.inputs import Track
from connectors.source import shown
from connectors.webvtt import is_webvtt, read_webvtt

MAX_BYTES: Final = 4 * 2**20
MAX_TURNS: Final = 20_000
MAX_TEXT: Final = 20_000
MAX_MS: Final = 10 * 24 * 3_600_000
"""No recording is longer than ten days."""

SUFFIXES: Final = (".json", ".vtt")

MS_A_CHARACTER: Final = 65
LEAST_MS: Final = 500
"""How long words take that come without a duration: about 15 characters a second."""

TRACK_OF_NAME: Final[dict[str, Track]] = {"user": "caller", "caller": "caller", "assistant": "agent", "agent": "agent"}

Wording = tuple[str, str]
"""What is said of one turn, and of several."""

NO_SPEAKER: Final[Wording] = ("that names no speaker", "that name no speaker")
NO_WORDS: Final[Wording] = ("without words", "without words")
NO_TIME: Final[Wording] = ("at an impossible time", "at an impossible time")
NO_CUE: Final[Wording] = ("that cannot be read", "that cannot be read")
TOO_MANY: Final[Wording] = (f"beyond the first {MAX_TURNS}", f"beyond the first {MAX_TURNS}")

NO_LENGTH: Final[Wording] = (
    "duration makes no sense; it is guessed from the words",
    "durations make no sense; they are guessed from the words",
)
TOO_LONG: Final[Wording] = (
    f"text is longer than {MAX_TEXT} characters and is cut there",
    f"texts are longer than {MAX_TEXT} characters and are cut there",
)
NO_ORDER: Final[Wording] = (
    "turn is out of order; it is taken by its time",
    "turns are out of order; they are taken by their times",
)


class Spoken(msgspec.Struct, frozen=True):
    """Words of one speaker, from `start` to `end` ms of the call."""

    track: Track
    start: int
    end: int
    text: str


class Remark(msgspec.Struct, frozen=True):
    """What was odd about a transcript, for a notice: how many times, and in words."""

    count: int
    message: str


class Transcript(msgspec.Struct, frozen=True):
    """The words of a call in the order in which they had been said. `name`: of the file, for people."""

    name: str
    words: tuple[Spoken, ...]
    remarks: tuple[Remark, ...] = ()


class _NoTranscript(ValueError):
    """The file holds nothing that can be used; says what is wrong."""


class _SomethingElse(_NoTranscript):
    """The file is in order, but no transcript."""


def read_transcript(path: str) -> Transcript:
    """The transcript that somebody named. Raises `SourceError` with a line for the user."""
    path = os.path.expanduser(path)
    try:
        return _read(path)
    except (OSError, ValueError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise SourceError(f"the transcript {shown(path)} cannot be used: {why}") from None


def transcript_beside(recording: str) -> Transcript | None:
    """The transcript that lies beside a recording, if there is one; a broken one is remarked on."""
    stem = os.path.splitext(recording)[0]
    remarks: list[Remark] = []
    for path in (stem + suffix for suffix in SUFFIXES):
        if path == recording or not os.path.isfile(path):
            continue
        try:
            found = _read(path)
        except _SomethingElse:
            continue
        except (OSError, _NoTranscript) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            remarks.append(Remark(1, f"{shown(os.path.basename(path))} beside the recording is not used: {why}"))
        else:
            return msgspec.structs.replace(found, remarks=(*remarks, *found.remarks))
    return Transcript(shown(os.path.basename(stem)), (), tuple(remarks)) if remarks else None


def _read(path: str) -> Transcript:
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    name = shown(os.path.basename(path))
    if len(content) > MAX_BYTES:
        raise _NoTranscript(f"it is longer than {MAX_BYTES // 2**20} MiB, which is no transcript of one call")
    text, garbled = _decoded(content)
    lost: Counter[Wording] = Counter()
    rows = _from_webvtt(text, lost) if is_webvtt(text) else _from_json(text)
    total = len(rows) + lost[NO_CUE]
    lost[TOO_MANY] = max(0, len(rows) - MAX_TURNS)
    words, odd = _spoken(rows[:MAX_TURNS], lost)
    why = ", ".join(worded(number, *reason) for reason, number in lost.items() if number)
    if not words:
        raise _NoTranscript(f"none of its turns can be used: {why}" if why else "it holds no words")
    remarks = []
    if garbled:
        lost_here = worded(garbled, "character is lost", "characters are lost")
        remarks.append(Remark(garbled, f"{name} is not all UTF-8: {lost_here}"))
    if count := lost.total():
        told = f"{name}: {count} of its {total} turns {'is' if count == 1 else 'are'} not used: {why}"
        remarks.append(Remark(count, told))
    remarks += [Remark(number, f"{name}: {worded(number, *reason)}") for reason, number in odd.items()]
    return Transcript(name, words, tuple(remarks))


def worded(count: int, one: str, several: str) -> str:
    """So many of something, in words that fit the number."""
    return f"{count} {one if count == 1 else several}"


def _decoded(content: bytes) -> tuple[str, int]:
    """The text, and how many of its characters were lost."""
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return content.decode(encoding), 0
    except UnicodeDecodeError:
        text = content.decode(encoding, "replace")
        return text, text.count("\N{REPLACEMENT CHARACTER}")


_Row = tuple[Any, Any, Any, Any]
"""Who, from when and how long (ms, or what stands there in their place), what."""


def _from_json(text: str) -> list[_Row]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise _NoTranscript('it is neither JSON nor WebVTT (which begins with "WEBVTT")') from None
    turns = content.get("turns") if isinstance(content, dict) else None
    rows = turns if isinstance(turns, list) else []
    if not any(isinstance(row, dict) and {"role", "start_time", "text"} <= row.keys() for row in rows):
        raise _SomethingElse('it has no turns as in {"turns": [{"role": "user", "start_time": 1.5, "text": "Hello"}]}')
    found: list[_Row] = []
    for row in rows:
        get = row.get if isinstance(row, dict) else {}.get
        found.append((get("role"), _ms(get("start_time")), _ms(get("duration")), get("text")))
    return found


def _from_webvtt(text: str, lost: Counter[Wording]) -> list[_Row]:
    cues, lost[NO_CUE] = read_webvtt(text)
    if cues and not any(_track(cue.voice) for cue in cues):
        raise _NoTranscript("it names no speakers: its cues need voice tags, as in <v user>Hello or <v assistant>Hello")
    return [(cue.voice, cue.start, math.nan if cue.end is None else cue.end - cue.start, cue.text) for cue in cues]


def _ms(seconds: Any) -> Any:
    """Seconds in ms, not rounded; None stays None, and what is no number becomes NaN."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return math.nan
    return seconds * 1000


def _possible(ms: Any) -> bool:
    return ms is not None and 0 <= ms <= MAX_MS


def _track(name: Any) -> Track | None:
    return TRACK_OF_NAME.get(name.strip().casefold()) if isinstance(name, str) else None


def _spoken(rows: Iterable[_Row], lost: Counter[Wording]) -> tuple[tuple[Spoken, ...], Counter[Wording]]:
    """What can be used, in order. `lost` counts the rest by reason; the counter that comes back, what was odd."""
    odd: Counter[Wording] = Counter()
    found: list[tuple[int, int | None, Track, str]] = []
    for name, start, duration, text in rows:
        track, words = _track(name), " ".join(text[:MAX_TEXT].split()) if isinstance(text, str) else ""
        why = NO_SPEAKER if track is None else NO_WORDS if not words else NO_TIME if not _possible(start) else None
        if track is None or why is not None:
            lost[why or NO_SPEAKER] += 1
            continue
        if duration is not None and not _possible(duration):
            odd[NO_LENGTH] += 1
            duration = None
        if len(text) > MAX_TEXT:
            odd[TOO_LONG] += 1
        if found and start < found[-1][0]:
            odd[NO_ORDER] += 1
        found.append((round(start), None if duration is None else round(duration), track, words))
    found.sort(key=lambda row: row[0])
    following: dict[Track, int] = {}
    words_of_call: list[Spoken] = []
    for at, length, track, words in reversed(found):
        guess = max(LEAST_MS, MS_A_CHARACTER * len(words))
        end = min(at + guess, max(at, following.get(track, MAX_MS))) if length is None else at + length
        following[track] = at
        words_of_call.append(Spoken(track, at, min(end, MAX_MS), words))
    words_of_call.reverse()
    return tuple(sorted(words_of_call, key=lambda spoken: spoken.end)), odd
