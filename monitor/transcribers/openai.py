"""The transcriber behind OpenAI's audio endpoint, or a server at `base_url` that speaks the same.

    POST {base_url}/audio/transcriptions, multipart: file (WAV, made in memory), model, response_format=json, language?
    -> {"text": "…"}

(https://platform.openai.com/docs/api-reference/audio/createTranscription.) The client library retries nothing: that is
`monitor.runtime.transcribing`'s work.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from monitor.core.questions import TranscribeRequest
from monitor.judges import FailureKind, JudgeAnswer
from monitor.judges.failures import failure_of
from monitor.judges.openai_client import OpenAIClient
from monitor.transcribers import TranscribeFailure, Transcription
from monitor.transcribers.settings import TranscriberSettings
from monitor.transcribers.wave_bytes import wave_bytes

MODEL: Final = "gpt-4o-mini-transcribe"

TRY_SHARE: Final = 0.6
"""The share of the deadline that a single request may take: what is left is enough for another try."""

MAX_BODY: Final = 1_000_000
"""Bytes of an answer that are read."""


class _Body(msgspec.Struct):
    text: str | None = None
    error: Any = None


class OpenAITranscriber:
    """Transcribes by a server. `timeout_s`: how long one request may take in all. `api_key`: None where the server
    wants none. Nothing is loaded or connected before the first turn."""

    def __init__(
        self,
        model: str = MODEL,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        language: str | None = None,
        timeout_s: float = 6.0,
        usd_per_minute: float | None = None,
    ) -> None:
        self.name = model
        self._base_url, self._api_key, self._language = base_url, api_key, language
        self._timeout_s, self._usd_per_minute = timeout_s, usd_per_minute
        self._server = base_url or "OpenAI"
        self._client = OpenAIClient("transcriber", base_url, api_key, timeout_s, _failed)

    async def transcribe(self, request: TranscribeRequest) -> Transcription:
        """The words of a turn, in one HTTP request."""
        client = await self._client.connected()
        form: dict[str, Any] = {"model": self.name, "response_format": "json"}
        if self._language is not None:
            form["language"] = self._language
        form["file"] = ("turn.wav", wave_bytes(request.pcm, request.rate), "audio/wav")
        text = await self._send(client, form)
        price = self._usd_per_minute
        return Transcription(text, None if price is None else price * request.seconds / 60, request.seconds)

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def _send(self, client: Any, form: dict[str, Any]) -> str:
        try:
            async with asyncio.timeout(self._timeout_s):
                async with client.audio.transcriptions.with_streaming_response.create(**form) as response:
                    return self._text(await self._client.body(response, MAX_BODY))
        except (TimeoutError, self._client.library.APITimeoutError):
            late = f"{self._server} did not answer within {self._timeout_s:g} seconds"
            raise TranscribeFailure("timeout", late) from None
        except self._client.library.APIStatusError as error:
            raise self._failure(error.status_code, error.response.headers, error.body) from None
        except TranscribeFailure:
            raise
        except Exception as error:  # of this library, or of the HTTP library beneath it, whichever that is
            why = f"{self._server} cannot be reached, or hung up ({type(error.__cause__ or error).__name__})"
            raise TranscribeFailure("unreachable", f"{why}: check base_url and the network") from None

    def _text(self, content: bytes) -> str:
        try:
            body = msgspec.json.decode(content, type=_Body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = _Body()
        if body.error:
            code = body.error.get("code") if isinstance(body.error, dict) else None
            raise self._failure(code if isinstance(code, int) and 400 <= code < 600 else 502, {}, body.error)
        if body.text is None:
            raise TranscribeFailure("broken", f"{self._server} does not answer as OpenAI's audio endpoint does")
        return body.text

    def _failure(self, status: int, headers: Mapping[str, str], error: Any) -> TranscribeFailure:
        found = failure_of(status, headers, error, self._server, secret=self._api_key, now=datetime.now(UTC))
        return TranscribeFailure(found.kind, str(found), found.retry_after_s)


def _failed(kind: FailureKind, message: str) -> TranscribeFailure:
    """Of the client itself: without a key, a library or an address nothing is sent."""
    return TranscribeFailure(kind, message, spent=JudgeAnswer((), 0) if kind == "configuration" else None)


def openai_transcriber(settings: TranscriberSettings, environment: Mapping[str, str] = os.environ) -> OpenAITranscriber:
    """The transcriber that `[transcriber]` describes, with the key from OPENAI_API_KEY. Raises `ValueError` where it is
    clear beforehand that no words will come."""
    if find_spec("openai") is None:
        raise ValueError("the transcriber needs the openai package: pip install 'turnwatch[judge]'")
    if not (settings.base_url or environment.get("OPENAI_BASE_URL") or environment.get("OPENAI_API_KEY")):
        raise ValueError("the transcriber has no key: set OPENAI_API_KEY, or transcriber.base_url")
    return OpenAITranscriber(
        settings.model or MODEL,
        base_url=settings.base_url or environment.get("OPENAI_BASE_URL") or None,
        api_key=environment.get("OPENAI_API_KEY") or None,
        language=settings.language,
        timeout_s=TRY_SHARE * settings.deadline_s,
        usd_per_minute=settings.usd_per_minute,
    )
