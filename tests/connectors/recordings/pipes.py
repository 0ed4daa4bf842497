"""Calls whose raw bytes come through a pipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress

from connectors.inputs import Input
from connectors.pcm_stream import PcmStream
from connectors.source import SourceOptions

AS_IT_IS = SourceOptions()


def piped(chunks: Iterable[bytes], options: SourceOptions = AS_IT_IS, *, stall_s: float = 5.0) -> list[Input]:
    """All inputs of a call whose bytes come through a pipe, chunk by chunk as they are taken."""

    async def run() -> list[Input]:
        reader, writer = os.pipe()
        stream = PcmStream(reader, options, stall_s=stall_s)
        assert stream.live

        def write() -> None:
            with suppress(BrokenPipeError):
                for chunk in chunks:
                    os.write(writer, chunk)
            os.close(writer)

        writing = asyncio.create_task(asyncio.to_thread(write))
        try:
            return [given async for given in stream.inputs()]
        finally:
            os.close(reader)  # a writer that still waits for room goes home
            await writing

    return asyncio.run(run())
