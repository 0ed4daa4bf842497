"""What the relay answers where there is no conversation: refusals of the provider passed on, its own with a reason."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from connectors.base import SourceError
from connectors.elevenlabs import Relay, RelaySettings
from connectors.elevenlabs.upstreams import Target, UnknownUpstream, Upstream, Upstreams, parse_upstream, target_of
from tests.connectors.elevenlabs.stage import (
    PATH,
    Watchers,
    json_response,
    metadata,
    provider_with,
    receive_all,
    relay_to,
)


async def refused(stage_connect: object) -> Response:
    with pytest.raises(InvalidStatus) as refusal:
        await stage_connect  # type: ignore[misc]
    return refusal.value.response


def words(response: Response) -> str:
    return bytes(response.body or b"").decode()


@pytest.mark.parametrize("status", [401, 403, 404, 422, 429, 500, 503])
async def test_a_refusal_of_the_provider_is_the_clients_refusal(status: int, caplog: pytest.LogCaptureFixture) -> None:
    body = {"detail": {"status": "unauthorized", "message": "Invalid signature"}}
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.refusals.append(json_response(status, body))
        with caplog.at_level(logging.WARNING):
            response = await refused(stage.dial("agent_id=a&conversation_signature=s3cret"))
        assert stage.relay.refused == 1
        assert stage.watchers.calls == []
    assert response.status_code == status
    assert "Invalid signature" in words(response)
    assert response.headers["Content-Type"] == "application/json"
    assert f"HTTP {status}" in caplog.text
    assert "Invalid signature" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("status", [200, 302])
async def test_an_answer_that_is_neither_is_a_bad_gateway_and_redirects_are_not_followed(status: int) -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        answer = json_response(status, {})
        answer.headers["Location"] = f"{provider.base_url}/elsewhere"
        provider.refusals.append(answer)
        response = await refused(stage.dial())
        assert response.status_code == 502
        assert len(provider.requests) == 1


async def test_a_provider_that_is_down_is_a_bad_gateway_with_a_sentence() -> None:
    async with provider_with() as provider:
        gone = provider.url
    async with relay_to(gone) as stage:
        response = await refused(stage.dial())
    assert response.status_code == 502
    assert words(response).startswith("Turnwatch relay: cannot open a conversation at 127.0.0.1:")
    assert "--elevenlabs-upstream" in words(response)


async def test_a_provider_that_does_not_answer_is_given_up_before_the_client_gives_up() -> None:
    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with relay_to(f"ws://127.0.0.1:{port}", connect_timeout_s=0.1) as stage:
        response = await refused(stage.dial())
    server.close()
    assert response.status_code == 504
    assert "did not answer within 0.1 s" in words(response)


async def test_a_provider_that_speaks_no_http_is_a_bad_gateway() -> None:
    async def babble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n")
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with relay_to(f"ws://127.0.0.1:{port}") as stage:
        response = await refused(stage.dial())
    server.close()
    assert response.status_code == 502


async def test_only_hosts_on_the_list_are_connected_to() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        response = await refused(stage.dial(prefix="/via/169.254.169.254"))
        assert response.status_code == 403
        assert "--elevenlabs-upstream" in words(response)
        async with stage.dial(prefix=f"/t1/via/{provider.url.removeprefix('ws://')}"):
            assert provider.requests[0].path == f"{PATH}?agent_id=a1"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/convai/conversation/token?agent_id=a", 501, "WebRTC"),
        ("/v1/convai/agents/a", 501, "to the provider directly"),
        ("/v1/convai/conversation?agent_id=a", 426, "WebSocket"),
        ("/nothing", 404, "/v1/convai/conversation"),
    ],
)
async def test_other_requests_are_refused_with_a_sentence(path: str, status: int, says: str) -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        async with httpx.AsyncClient(trust_env=False) as client:
            response = await client.get(stage.base_url + path)
        assert provider.requests == []
    assert response.status_code == status
    assert says in response.text


async def test_a_client_comes_back_through_the_relay_after_a_drop_and_two_refusals() -> None:
    """B47, first run: the connection drops, the provider refuses twice and accepts the third attempt."""
    conversations = 0

    async def script(connection: ServerConnection) -> None:
        nonlocal conversations
        conversations += 1
        await connection.send(metadata(f"conv_{conversations}"))
        if conversations == 1:
            connection.transport.abort()
        else:
            await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            await receive_all(client)
            assert client.close_code == 1006
        provider.refusals += [json_response(503, {}), json_response(503, {})]
        for _ in range(2):
            assert (await refused(stage.dial())).status_code == 503
        async with stage.dial() as client:
            assert await receive_all(client) == [metadata("conv_2")]
            assert client.close_code == 1000
        first, second = await stage.watchers.call(0), await stage.watchers.call(1)
        assert (await first.end()).cause == "disconnected"
        assert (await second.end()).cause == "hangup"
        assert stage.relay.refused == 2


async def test_a_conversation_that_is_closed_for_a_reason_shows_it_even_before_any_metadata() -> None:
    """B47, second run: a close with 1008 ends the call with the reason that was given."""

    async def script(connection: ServerConnection) -> None:
        await connection.send(
            '{"type":"error","error_event":{"code":1008,"message":"m","error_type":"override_error"}}'
        )
        await connection.close(1008, "overrides are off")

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            await receive_all(client)
        call = await stage.watchers.call()
        ended = await call.end()
    assert ended.cause == "failed"
    assert ended.message == ("ElevenLabs closed the call with code 1008: overrides are off: override_error: m: 1008")
    assert call.started.tracks == {}
    assert call.started.agent_id == "a1"
    assert call.notices() == {"provider_error": 1}


def test_paths_are_taken_apart_at_the_conversation_api() -> None:
    assert target_of("/v1/convai/conversation?a=1&b") == Target("", None, "conversation", "a=1&b")
    assert target_of("/t1/x/v1/convai/agents") == Target("/t1/x", None, "agents", "")
    assert target_of("/t1/via/API.us.elevenlabs.io/v1/convai/conversation") == Target(
        "/t1", "api.us.elevenlabs.io", "conversation", ""
    )
    assert target_of("/twilio") is None
    assert target_of("/?x=/v1/convai/conversation") is None
    assert Relay.matches("/any/prefix/v1/convai/conversation?agent_id=a")
    assert not Relay.matches("/listen")


def test_the_region_or_the_operators_server_is_the_default() -> None:
    target = Target("", None, "conversation", "agent_id=a")
    assert Upstreams().find(None).socket_url(target) == "wss://api.elevenlabs.io/v1/convai/conversation?agent_id=a"
    assert Upstreams("in").find(None).authority == "api.in.residency.elevenlabs.io"
    own = Upstreams("eu", "ws://127.0.0.1:9999/base/")
    assert own.find(None).socket_url(target) == "ws://127.0.0.1:9999/base/v1/convai/conversation?agent_id=a"
    assert own.find("api.elevenlabs.io").rest_url(target).startswith("https://api.elevenlabs.io/v1/convai/")
    assert Upstreams(more=["wss://other.example"]).find("Other.Example").secure
    with pytest.raises(UnknownUpstream, match="not one that this relay may connect to"):
        Upstreams().find("127.0.0.1:9999")


@pytest.mark.parametrize(
    ("url", "upstream"),
    [
        ("wss://host", Upstream("host", True)),
        ("https://host:443/", Upstream("host", True)),
        ("ws://HOST:80", Upstream("host", False)),
        ("http://[::1]:9", Upstream("[::1]:9", False)),
    ],
)
def test_an_upstream_is_written_as_a_url(url: str, upstream: Upstream) -> None:
    assert parse_upstream(url) == upstream


@pytest.mark.parametrize("url", ["host", "ftp://host", "ws://", "ws://host:x", "ws://host?a=1", "ws://u:p@host", "//h"])
def test_a_malformed_upstream_is_a_mistake_of_the_configuration(url: str) -> None:
    with pytest.raises(SourceError, match="write it as wss://HOST"):
        Relay(RelaySettings(upstream=url), Watchers())


@pytest.mark.parametrize(("settings", "says"), [({"region": "mars"}, "region"), ({"playout": "loud"}, "policy")])
def test_unknown_words_in_the_settings_are_mistakes_too(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SourceError, match=says):
        Relay(RelaySettings(**settings), Watchers())


def test_the_key_is_not_shown_with_the_settings() -> None:
    assert "s3cret" not in repr(RelaySettings(api_key="s3cret"))
