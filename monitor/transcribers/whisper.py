"""A Whisper model on this machine, by `faster-whisper` (the extra `whisper`): nothing leaves the machine.

A model is a folder in CTranslate2's format, or a name such as `base.en` that faster-whisper fetches when it is used for
the first time. It computes in threads of its own, one processor each; the call goes on meanwhile. A turn takes as long
as a window of 30 s does, however short it is.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from monitor.core.questions import TranscribeRequest
from monitor.judges import JudgeAnswer
from monitor.transcribers import TranscribeFailure, Transcription
from monitor.transcribers.settings import TranscriberSettings
from monitor.transcribers.wave_bytes import model_samples

MODEL: Final = "base"

MISSING: Final = "the transcriber needs faster-whisper: pip install 'turnwatch[whisper]'"

NOTHING: Final = JudgeAnswer((), 0)

UNSURE_LOGPROB: Final = -1.0
REPEATING: Final = 2.4
"""Words under this mean log probability, or that compress this well, are what a Whisper model makes of noise: the two
thresholds of its paper (Radford and others 2022, section 4.5), below and above which its own decoder tries again."""


class WhisperTranscriber:
    """Transcribes by a local model. `at_once`: how many turns. The model is loaded with the first turn."""

    def __init__(self, model: str = MODEL, *, language: str | None = None, at_once: int = 1) -> None:
        self.name = f"whisper {model}"
        self._source, self._language, self._at_once = model, language, at_once
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="whisper")
        self._loading = threading.Lock()
        self._model: Any = None
        self._failure: TranscribeFailure | None = None
        self._closed = threading.Event()

    async def transcribe(self, request: TranscribeRequest) -> Transcription:
        """The words of a turn. A turn that is not waited for any more is left after its window."""
        stop = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._words, request, stop)
        try:
            text = await work
        except TranscribeFailure:
            raise
        except Exception as error:
            words = f"the Whisper model fails on this turn ({type(error).__name__})"
            raise TranscribeFailure("broken", words) from error
        finally:
            stop.set()
        return Transcription(text, 0.0, request.seconds)

    async def close(self) -> None:
        """Begin nothing more; what is being computed is left after its window."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _words(self, request: TranscribeRequest, stop: threading.Event) -> str:
        if stop.is_set():
            return ""
        model = self._loaded()
        segments, _ = model.transcribe(
            model_samples(request.pcm, request.rate),
            language=self._language,
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return said(self._until(segments, stop))

    def _until(self, segments: Iterable[Any], stop: threading.Event) -> Iterable[Any]:
        for segment in segments:
            if stop.is_set() or self._closed.is_set():
                return
            yield segment

    def _loaded(self) -> Any:
        """The model; loaded once. Raises TranscribeFailure, the same one ever after."""
        with self._loading:
            if self._model is None and self._failure is None:
                try:
                    library = importlib.import_module("faster_whisper")
                    self._model = library.WhisperModel(
                        self._source, device="cpu", compute_type="int8", cpu_threads=1, num_workers=self._at_once
                    )
                except ImportError:
                    self._failure = TranscribeFailure("configuration", MISSING, spent=NOTHING)
                except Exception as error:
                    why = f"the Whisper model {self._source} cannot be loaded ({type(error).__name__})"
                    what = "set transcriber.model to the folder of a model, or to a name that can be fetched"
                    self._failure = TranscribeFailure("configuration", f"{why}: {what}", spent=NOTHING)
            if self._failure is not None:
                raise self._failure
            return self._model


def said(segments: Iterable[Any]) -> str:
    """What was said, by the segments that the model is sure of."""
    sure = (one for one in segments if one.avg_logprob >= UNSURE_LOGPROB and one.compression_ratio <= REPEATING)
    return " ".join(text for one in sure if (text := one.text.strip()))


def whisper_transcriber(settings: TranscriberSettings) -> WhisperTranscriber:
    """The transcriber that `[transcriber]` describes. Raises `ValueError` where its library or the folder of its model
    is not there; whether a name can be fetched turns out with the first turn."""
    if find_spec("faster_whisper") is None:
        raise ValueError(MISSING)
    model = settings.model or MODEL
    if (model.startswith((".", "~")) or os.path.isabs(model) or os.path.isdir(model)) and not (
        Path(model) / "model.bin"
    ).is_file():
        raise ValueError(f"transcriber.model: {model} is no folder of a Whisper model: there is no model.bin in it")
    return WhisperTranscriber(settings.model or MODEL, language=settings.language, at_once=settings.max_in_flight)
