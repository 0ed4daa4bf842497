"""Transcribers: what is said in a turn whose source brings no words. `TRANSCRIBERS` is the table, one file each.

A transcriber is given the sound of one finished turn at a time and keeps nothing between them. To add one, a file with
a function `TranscriberSettings -> Transcriber`, and a row:

    class Deaf:
        name = "deaf"

        async def transcribe(self, request: TranscribeRequest) -> Transcription:
            return Transcription("", cost_usd=0.0, seconds=request.seconds)

        async def close(self) -> None:
            pass

    TRANSCRIBERS["deaf"] = lambda settings: Deaf()

An empty text says that nothing was recognised. What fails raises `TranscribeFailure`; retries, limits and budgets are
`monitor.runtime.transcribing`'s work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from monitor.core.questions import TranscribeRequest
from monitor.judges import JudgeFailure
from monitor.transcribers.settings import TranscriberSettings


class Transcription(msgspec.Struct, frozen=True):
    """What was recognised. `seconds`: how long the sound was that it took; `cost_usd`: None where the price is not
    known."""

    text: str
    cost_usd: float | None
    seconds: float


class TranscribeFailure(JudgeFailure):
    """A turn could not be transcribed. `kind` and `retry_after_s` mean what they mean of a judge's failure, so that the
    same patience applies. The message is for people and holds no secret."""


class Transcriber(Protocol):
    """Writes down turns. `name` is the model's name, for people."""

    name: str

    async def transcribe(self, request: TranscribeRequest) -> Transcription:
        """The words of `request.pcm`. Raises TranscribeFailure. May be called several times at once."""
        ...

    async def close(self) -> None:
        """Let go of connections and models."""
        ...


NewTranscriber = Callable[[TranscriberSettings], Transcriber]


def _openai(settings: TranscriberSettings) -> Transcriber:
    from monitor.transcribers.openai import openai_transcriber

    return openai_transcriber(settings)


def _whisper(settings: TranscriberSettings) -> Transcriber:
    from monitor.transcribers.whisper import whisper_transcriber

    return whisper_transcriber(settings)


def _scripted(settings: TranscriberSettings) -> Transcriber:
    from pathlib import Path

    from monitor.transcribers.scripted import scripted_transcriber

    return scripted_transcriber(Path(settings.script))


TRANSCRIBERS: dict[str, NewTranscriber] = {"openai": _openai, "whisper": _whisper, "scripted": _scripted}


def new_transcriber(settings: TranscriberSettings) -> Transcriber | None:
    """The transcriber of `[transcriber]`; None where it is off. Connects to nothing. Raises `ValueError` where it is
    clear beforehand that no words will come: no key, no library, no model, no script."""
    if not settings.enabled:
        return None
    return TRANSCRIBERS[settings.kind.partition(":")[0]](settings)
