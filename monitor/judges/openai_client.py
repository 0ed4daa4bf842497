"""The `openai` client as we use it, for judges and transcribers alike: loaded when first used, asked once, never
twice by itself, and read to a limit."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

from monitor.judges import FailureKind, JudgeFailure

Fail = Callable[[FailureKind, str], JudgeFailure]
"""Makes the failure to raise, of a kind and in words."""


class OpenAIClient:
    """One client for one server. `who`: as failures name whoever asks. `library`: the loaded module, once connected."""

    def __init__(self, who: str, base_url: str | None, api_key: str | None, timeout_s: float, fail: Fail) -> None:
        self._who, self._fail = who, fail
        self._base_url, self._api_key, self._timeout_s = base_url, api_key, timeout_s
        self._loading = asyncio.Lock()
        self._client: Any = None
        self.library: Any = None

    async def connected(self) -> Any:
        """The client. Raises a `configuration` failure where there is no key, no library, or no sense in the URL."""
        if self._api_key is None and self._base_url is None:
            why = f"the {self._who} has no key: set OPENAI_API_KEY, or base_url to a server that needs none"
            raise self._fail("configuration", why)
        async with self._loading:
            if self._client is None:
                try:  # loading takes a second, and certificates some more; calls go on meanwhile
                    self._client = await asyncio.to_thread(self._make)
                except ImportError:
                    why = f"the {self._who} needs the openai package: pip install 'turnwatch[judge]'"
                    raise self._fail("configuration", why) from None
                except Exception as error:
                    why = f"the {self._who}'s client cannot be made ({type(error).__name__}): check base_url"
                    raise self._fail("configuration", why) from None
        return self._client

    async def close(self) -> None:
        """Let go of connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def body(self, response: Any, most: int) -> bytes:
        """What a streamed response holds. Raises a `broken` failure beyond `most` bytes."""
        body = bytearray()
        async for piece in response.iter_bytes():
            body += piece
            if len(body) > most:
                raise self._fail("broken", f"the {self._who}'s answer is longer than {most} bytes")
        return bytes(body)

    def _make(self) -> Any:
        self.library = importlib.import_module("openai")
        return self.library.AsyncOpenAI(
            api_key=self._api_key or "none", base_url=self._base_url, max_retries=0, timeout=self._timeout_s
        )
