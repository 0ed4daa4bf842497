"""The listening side on real sockets: who is let in, where a request goes, and how it all ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx
import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.twilio_frames import CarrierSettings, lines
from monitor.config import ConfigError, load
from monitor.core import events
from monitor.core.events import Event
from monitor.runtime.serve import Service
from tests.runtime.running import Running, running, settings

TOKEN = "open sesame"


def stream(call: str = "CA1", ms: int = 400, **parameters: str) -> list[str]:
    silence = bytes(16 * ms)
    carrier = CarrierSettings(stop=False)
    return [
        line.text
        for line in lines(
            silence, silence, stream_sid=f"MZ{call}", call_sid=call, settings=carrier, parameters=parameters
        )
    ]


async def test_both_ports_say_that_they_are_ready() -> None:
    async with running(settings()) as one:
        assert (await one.get("/healthz")).status_code == 200
        health = await one.get("/healthz", console=True)
        assert (health.status_code, health.json()) == (200, {"status": "ready"})
        assert (await one.get("/nothing/here")).status_code == 404


async def test_a_running_call_is_shown_to_operators() -> None:
    async with running(settings()) as one:
        assert (await one.get("/api/calls", console=True)).json()["calls"] == []
        async with connect(one.url("/twilio"), proxy=None) as socket:
            for text in stream():
                await socket.send(text)
            await one.until(events.CallStarted)
            shown = (await one.get("/api/calls", console=True)).json()
            (row,) = shown["calls"]
            assert row["call"] == "CA1"
            assert row["turn_taking"] == {"score": None, "transitions": 0}
            assert shown["program"]["calls_started"] == 1


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/convai/conversation?agent_id=a", {}, 401),
        ("/v1/convai/conversation?agent_id=a&token=wrong", {}, 401),
        ("/v1/convai/conversation?agent_id=a", {"Authorization": "Bearer wrong"}, 401),
        ("/t/wrong/v1/convai/conversation?agent_id=a", {}, 401),
        ("/v1/convai/conversation?agent_id=a&token=open%20sesame", {}, 101),
        ("/v1/convai/conversation?agent_id=a", {"Authorization": f"Bearer {TOKEN}"}, 101),
        ("/t/open%20sesame/v1/convai/conversation?agent_id=a", {}, 101),
        ("/eu/t/open%20sesame/v1/convai/conversation?agent_id=a", {}, 101),
    ],
)
async def test_the_relay_takes_the_token_wherever_it_is_and_keeps_it(
    path: str, headers: dict[str, str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with ElevenLabsSimulator() as agent:
        upstream = agent.base_url.replace("http", "ws")
        async with running(settings(f"elevenlabs.upstream={upstream}", f"serve.token={TOKEN}")) as one:
            try:
                async with connect(
                    one.url(path),
                    additional_headers=headers,
                    subprotocols=["convai"],
                    proxy=None,  # type: ignore[list-item]
                ) as socket:
                    assert socket.subprotocol == "convai"
                    got = 101
            except InvalidStatus as refused:
                got = refused.response.status_code
            assert got == status
            assert len(agent.calls) == (status == 101)
            for record in agent.calls:
                assert "sesame" not in repr(record)
        ours = [record for record in caplog.records if not record.name.startswith("websockets.client")]
        assert "sesame" not in " ".join(record.getMessage() for record in ours)


async def test_a_signed_url_leads_back_with_the_token_in_it() -> None:
    async with ElevenLabsSimulator(private=True) as agent:
        upstream = agent.base_url.replace("http", "ws")
        async with running(settings(f"elevenlabs.upstream={upstream}", f"serve.token={TOKEN}")) as one:
            path = "/v1/convai/conversation/get-signed-url?agent_id=a"
            assert (await one.get(path, **{"xi-api-key": "k"})).status_code == 401
            answer = await one.get(path, **{"xi-api-key": "k", "Authorization": f"Bearer {TOKEN}"})
            signed = answer.json()["signed_url"]
            assert signed.startswith(one.url("/t/open%20sesame/"))
            async with connect(signed, proxy=None) as socket:
                await socket.send('{"type":"conversation_initiation_client_data"}')
                assert "metadata" in str(await socket.recv())


@pytest.mark.parametrize(
    ("path", "parameters", "heard"),
    [
        ("/twilio", {}, False),
        ("/twilio", {"token": "wrong"}, False),
        ("/twilio", {"token": TOKEN}, True),
        ("/t/open%20sesame/twilio", {}, True),
    ],
)
async def test_a_media_stream_shows_the_token_in_its_path_or_its_parameters(
    path: str, parameters: dict[str, str], heard: bool
) -> None:
    async with running(settings(f"serve.token={TOKEN}", "twilio.reconnect_grace_ms=0")) as one:
        with contextlib.suppress(ConnectionClosed):
            async with connect(one.url(path), proxy=None) as socket:
                texts = stream(**parameters)
                for text in texts if heard else texts[:2]:
                    await socket.send(text)
                if not heard:
                    await socket.wait_closed()
                    assert socket.close_code == 1008
        if heard:
            await one.until(events.CallEnded)
        assert bool(one.events) is heard
        assert "sesame" not in repr(one.events)


async def test_a_stream_without_twilios_signature_is_refused_where_it_can_be_checked() -> None:
    async with running(settings("twilio.auth_token=12345")) as one:
        with pytest.raises(InvalidStatus) as refused:
            await connect(one.url("/twilio"), proxy=None)
        assert refused.value.response.status_code == 403


async def test_beyond_the_limit_there_is_503() -> None:
    async with running(settings("serve.max_calls=1")) as one, connect(one.url("/twilio"), proxy=None) as socket:
        for text in stream():
            await socket.send(text)
        await one.until(events.CallStarted)
        with pytest.raises(InvalidStatus) as refused:
            await connect(one.url("/twilio"), proxy=None)
        assert refused.value.response.status_code == 503
        assert (await one.get("/healthz")).status_code == 200


async def test_fifty_calls_that_are_cut_off_leave_nothing_behind() -> None:
    async with running(settings("twilio.reconnect_grace_ms=200")) as one:

        async def cut_off(number: int) -> None:
            async with connect(one.url("/twilio"), proxy=None) as socket:
                for text in stream(f"CA{number}", ms=300):
                    await socket.send(text)
                socket.transport.abort()

        before = {task.get_name() for task in asyncio.all_tasks()}
        await asyncio.gather(*(cut_off(number) for number in range(50)))
        await one.until(events.CallEnded, times=50)
        async with asyncio.timeout(1):
            while one.service.calls:
                await asyncio.sleep(0)
        assert set(one.causes()) == {"disconnected"}
        left = {task.get_name() for task in asyncio.all_tasks()} - before
        assert not [name for name in left if name.startswith("call ")]


async def test_a_stop_tells_what_is_open_and_closes_for_a_restart() -> None:
    async with ElevenLabsSimulator() as agent:
        upstream = agent.base_url.replace("http", "ws")
        one = Running(settings(f"elevenlabs.upstream={upstream}"))
        await one.service.start()
        async with (
            connect(one.url("/v1/convai/conversation?agent_id=a"), proxy=None) as relayed,
            connect(one.url("/twilio"), proxy=None) as carried,
        ):
            await relayed.send('{"type":"conversation_initiation_client_data"}')
            for text in stream():
                await carried.send(text)
            await one.until(events.CallStarted, times=2)

            async def drain(socket: Any) -> None:
                with contextlib.suppress(ConnectionClosed):
                    while True:
                        await socket.recv()

            draining = [asyncio.create_task(drain(socket)) for socket in (relayed, carried)]
            async with asyncio.timeout(5):
                await one.service.stop()
                await asyncio.gather(*draining)
            assert one.causes() == ["stopped", "stopped"]
            assert relayed.close_code == 1012
        with pytest.raises(OSError, match="Connect"):
            await connect(one.url("/twilio"), proxy=None)


@pytest.mark.parametrize(
    "request_bytes", [b"\x00" * 4096, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, b"POST /\r\n\r\n", b""]
)
async def test_what_is_no_request_is_closed_without_a_word_in_the_log(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(settings()) as one:
        reader, writer = await asyncio.open_connection("127.0.0.1", one.service.ingest.port)
        writer.write(request_bytes)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 5)
        writer.close()
        assert (await one.get("/healthz")).status_code == 200
        assert caplog.text == ""


@pytest.mark.parametrize("port", ["ingest", "console"])
def test_a_port_beyond_loopback_wants_a_token(port: str) -> None:
    async def nobody(_: Event) -> None: ...

    with pytest.raises(ConfigError, match="give --token or TURNWATCH_TOKEN"):
        Service(load(assignments=[f"serve.{port}=0.0.0.0:0"]), nobody)
    Service(load(assignments=[f"serve.{port}=0.0.0.0:0", f"serve.token={TOKEN}"]), nobody)


async def test_the_console_beyond_loopback_checks_the_token() -> None:
    async with running(settings("serve.console=0.0.0.0:0", f"serve.token={TOKEN}")) as one:
        port = one.service.console.port
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/api/calls")).status_code == 401
            answer = await client.get("/api/calls", headers={"Authorization": f"Bearer {TOKEN}"})
            assert msgspec.json.decode(answer.content)["calls"] == []
