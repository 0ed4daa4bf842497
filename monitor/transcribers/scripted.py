"""Words from a file, for tests, rehearsals and the demo.

    {"words": [{"turn": 0, "text": "Swift Parcel, how can I help?"},
               {"turn": 1, "text": "Where is my parcel?"}],
     "otherwise": "",
     "delay_s": 0.2,
     "failures": [{"turn": 1, "kind": "rate_limit", "retry_after_s": 2, "times": 2}]}

`turn`: the index on the timeline. `otherwise`: the words of all other turns. `delay_s`: how long each takes.
`failures`: turns (all, if `turn` is left out) that fail so many `times` (always, if left out) before they succeed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from monitor.core.questions import TranscribeRequest
from monitor.judges import FailureKind
from monitor.judges.script_file import Count, Seconds, read_script
from monitor.transcribers import TranscribeFailure, Transcription

MAX_FAILED: Final = 1000
"""Failures that are remembered; beyond it the oldest starts anew."""


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one turn."""

    turn: Count
    text: str


class Failing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Turns that fail."""

    kind: FailureKind
    turn: Count | None = None
    times: Count | None = None
    retry_after_s: Seconds | None = None
    message: str = "the script says so"


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in the file."""

    words: list[Words] = []
    otherwise: str = ""
    name: str = "scripted"
    delay_s: Seconds = 0.0
    failures: list[Failing] = []


class ScriptedTranscriber:
    """Transcribes by a script. `sleep` takes seconds, as `asyncio.sleep` does."""

    def __init__(self, script: Script, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.name = script.name
        self._script, self._sleep = script, sleep
        self._words = {words.turn: words.text for words in script.words}
        self._failed: OrderedDict[tuple[str, int, int], int] = OrderedDict()

    async def transcribe(self, request: TranscribeRequest) -> Transcription:
        """The script's words of the turn. Raises TranscribeFailure where the script says so."""
        if self._script.delay_s > 0:
            await self._sleep(self._script.delay_s)
        self._maybe_fail(request)
        return Transcription(self._words.get(request.turn, self._script.otherwise), 0.0, request.seconds)

    async def close(self) -> None:
        """Nothing is held."""

    def _maybe_fail(self, request: TranscribeRequest) -> None:
        for row, failing in enumerate(self._script.failures):
            key = (request.call, request.turn, row)
            times = self._failed.get(key, 0)
            if failing.turn in (None, request.turn) and (failing.times is None or times < failing.times):
                self._failed[key] = times + 1
                if len(self._failed) > MAX_FAILED:
                    self._failed.popitem(last=False)
                raise TranscribeFailure(failing.kind, failing.message, failing.retry_after_s)


def scripted_transcriber(file: Path) -> ScriptedTranscriber:
    """The transcriber of `scripted:FILE`. Raises `ScriptError`."""
    return ScriptedTranscriber(read_script(file, Script, "script of words"))
