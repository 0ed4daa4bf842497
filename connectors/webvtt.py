"""WebVTT as a transcript: what is said in which voice, from when to when.

The format is the W3C's (https://www.w3.org/TR/webvtt1/), read as a browser reads it: what is not understood is passed
over and counted. A speaker is a voice tag, `<v user>` or `<v assistant>`; one cue may hold several.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

_TIMES = re.compile(
    r"\s*((?:\d{1,6}:)?[0-5]?\d:[0-5]?\d[.,]\d{3})\s*-->\s*((?:\d{1,6}:)?[0-5]?\d:[0-5]?\d[.,]\d{3})(?:\s.*)?",
    re.ASCII,
)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)*[ \t]+([^>]*)>", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?(?:[a-z][^>]*|[\d:.]+)?>", re.IGNORECASE)
_NO_CUE = ("NOTE", "STYLE", "REGION")


class Cue(NamedTuple):
    """Words of one voice: from `start` to `end` in ms; `end` is None where it makes no sense. `voice` is what the tag
    says, None without one."""

    voice: str | None
    start: int
    end: int | None
    text: str


def is_webvtt(text: str) -> bool:
    """Whether the file begins as the format demands."""
    return text[:6] == "WEBVTT" and (len(text) == 6 or text[6] in " \t\r\n")


def read_webvtt(text: str) -> tuple[list[Cue], int]:
    """The cues in the order of the file, and how many blocks were passed over since their times cannot be read."""
    cues: list[Cue] = []
    unread = 0
    for number, block in enumerate(_blocks(text)):
        place = next((n for n, line in enumerate(block[:2]) if "-->" in line), None)
        if number == 0 or (place is None and block[0].startswith(_NO_CUE)):
            continue
        times = None if place is None else _TIMES.fullmatch(block[place])
        if place is None or times is None:
            unread += 1
            continue
        start, end = _ms(times[1]), _ms(times[2])
        payload = " ".join(block[place + 1 :])
        cues += (Cue(voice, start, end if end >= start else None, words) for voice, words in _voices(payload))
    return cues, unread


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines that stand together; the first block is the header."""
    block: list[str] = []
    for line in re.split(r"\r\n|\r|\n", text):
        if line:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _voices(payload: str) -> Iterator[tuple[str | None, str]]:
    """Who says what within one cue."""
    before, *spoken = _VOICE.split(payload)
    if (words := _plain(before)) or not spoken:
        yield None, words
    for voice, said in zip(spoken[::2], spoken[1::2], strict=True):
        inside, _, after = said.partition("</v>")
        yield html.unescape(voice).strip(), _plain(inside)
        if words := _plain(after):
            yield None, words


def _plain(text: str) -> str:
    return " ".join(html.unescape(_ANY_TAG.sub("", text)).split())


def _ms(stamp: str) -> int:
    clock, fraction = stamp.replace(",", ".").split(".")
    seconds = 0
    for part in clock.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds * 1000 + int(fraction)
