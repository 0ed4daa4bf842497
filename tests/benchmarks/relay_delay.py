"""What the relay adds to a message's way: `python -m tests.benchmarks.relay_delay [--calls 20] [--seconds 5]`.

An echoing provider and its clients run in one process, the relay with its whole analysis in another. Each client sends
audio at the pace of a microphone and times the echo, directly and through the relay by turns. An echo passes the relay
twice, so what it adds to one way is half of the difference of the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection as Pipe

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from connectors.elevenlabs import SERVER_OPTIONS, Relay, RelaySettings
from connectors.inputs import CallStarted, Input

PATH = "/v1/convai/conversation?agent_id=a"
METADATA = {
    "conversation_id": "conv_1",
    "agent_output_audio_format": "pcm_16000",
    "user_input_audio_format": "pcm_16000",
}


class Nowhere:
    """A door whose calls are counted, and not watched further."""

    inputs = 0

    def open(self, _started: CallStarted) -> Nowhere:
        return self

    def put(self, *inputs: Input) -> bool:
        self.inputs += len(inputs)
        return True


async def _relay(upstream: str, pipe: Pipe) -> None:
    relay = Relay(RelaySettings(upstream=upstream), Nowhere())
    async with serve(relay.handle, "127.0.0.1", 0, process_request=relay.process_request, **SERVER_OPTIONS) as server:
        pipe.send(next(iter(server.sockets)).getsockname()[1])
        while not pipe.poll():
            await asyncio.sleep(0.05)
            relay.elapsed(int(time.monotonic() * 1000))
        pipe.send((relay.delays.quantile(0.5), relay.delays.quantile(0.99), relay.delays.count))


def _run_relay(upstream: str, pipe: Pipe) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(_relay(upstream, pipe))
    else:
        uvloop.run(_relay(upstream, pipe))


async def _echo(connection: ServerConnection) -> None:
    await connection.send(
        json.dumps({"type": "conversation_initiation_metadata"} | {"conversation_initiation_metadata_event": METADATA})
    )
    async for message in connection:
        audio = json.loads(message)["user_audio_chunk"]
        await connection.send(json.dumps({"type": "audio", "audio_event": {"audio_base_64": audio, "event_id": 1}}))


async def _talk(url: str, chunk_ms: int, seconds: float, delay_s: float) -> list[float]:
    """The echoes' times, in ms."""
    await asyncio.sleep(delay_s)
    chunk = json.dumps({"user_audio_chunk": base64.b64encode(bytes(32 * chunk_ms)).decode()})
    times = []
    async with connect(url, compression=None) as client:
        await client.recv()
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            await client.send(chunk)
            await client.recv()
            times.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(max(0.0, chunk_ms / 1000 - (time.perf_counter() - began)))
    return times


async def _many(url: str, chunk_ms: int, seconds: float, calls: int) -> list[float]:
    talks = (_talk(url, chunk_ms, seconds, chunk_ms / 1000 * n / calls) for n in range(calls))
    return sorted(time for times in await asyncio.gather(*talks) for time in times)


async def main(calls: int, seconds: float) -> None:
    async with serve(_echo, "127.0.0.1", 0, compression=None, max_size=1 << 24) as server:
        direct = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=_run_relay, args=(direct, theirs), daemon=True)
        process.start()
        port = await asyncio.to_thread(ours.recv)
        print(f"{calls} calls at once, {seconds:g} s each; times of an echo in ms")
        for chunk_ms in (20, 250):
            medians = []
            for name, base in (("direct", direct), ("relay", f"ws://127.0.0.1:{port}")):
                times = await _many(base + PATH, chunk_ms, seconds, calls)
                medians.append(statistics.median(times))
                p99 = times[int(0.99 * len(times))]
                print(f"  {chunk_ms:3} ms chunks, {name:6}: median {medians[-1]:6.3f}  p99 {p99:7.3f}")
            print(f"  {chunk_ms:3} ms chunks, added to one way: {(medians[1] - medians[0]) / 2:.3f} ms in the median")
        ours.send("stop")
        median, high, count = await asyncio.to_thread(ours.recv)
        print(f"  as the relay itself measures it: median {median:.3f}  p99 {high:.3f}  of {count} messages")
        process.join(5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    asyncio.run(main(options.calls, options.seconds))
