"""Private agents: the signed URL is fetched through the relay, points back at it, and leads to the host that signed."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect

from connectors.elevenlabs.signed_urls import encoded
from tests.connectors.elevenlabs.stage import Provider, Stage, json_response, provider_with, relay_to

SIGNED = "/v1/convai/conversation/get-signed-url"


async def ask(stage: Stage, path: str = SIGNED, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(f"{stage.base_url}{path}?agent_id=a%2Bb&environment=x", headers=headers)


def signed_by(provider: Provider, query: str = "agent_id=a&conversation_signature=cvtkn_1") -> str:
    return f"{provider.url}/v1/convai/conversation?{query}"


async def test_the_url_points_at_the_relay_and_leads_to_the_host_that_signed() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.signed_url = signed_by(provider)
        response = await ask(stage, "/t1" + SIGNED, **{"xi-api-key": "client-key"})
        url = response.json()["signed_url"]
        host = provider.url.removeprefix("ws://")
        assert url == f"{stage.url}/t1/via/{host}/v1/convai/conversation?agent_id=a&conversation_signature=cvtkn_1"
        assert response.json()["other"] == [1, None]
        asked = provider.requests[0]
        assert asked.path == f"{SIGNED}?agent_id=a%2Bb&environment=x"
        assert asked.headers["xi-api-key"] == "client-key"
        async with connect(url + "&source=python_sdk&version=2"):
            query = "agent_id=a&conversation_signature=cvtkn_1&source=python_sdk&version=2"
            assert provider.requests[1].path == f"/v1/convai/conversation?{query}"


async def test_the_servers_own_key_is_used_for_clients_without_one_and_does_not_leave_it() -> None:
    async with provider_with() as provider, relay_to(provider.url, api_key="server-key") as stage:
        provider.signed_url = signed_by(provider)
        response = await ask(stage)
        assert provider.requests[0].headers["xi-api-key"] == "server-key"
        assert "server-key" not in response.text + str(response.headers)
        await ask(stage, **{"xi-api-key": "mine"})
        assert provider.requests[1].headers["xi-api-key"] == "mine"


async def test_a_refusal_of_the_provider_is_passed_on() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.refusals.append(json_response(401, {"detail": {"status": "invalid_api_key"}}))
        response = await ask(stage)
        assert "xi-api-key" not in provider.requests[0].headers
    assert (response.status_code, response.json()) == (401, {"detail": {"status": "invalid_api_key"}})


async def test_a_url_that_leads_to_an_unknown_host_is_refused() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.signed_url = "wss://evil.example/v1/convai/conversation?a=1"
        response = await ask(stage)
    assert response.status_code == 502
    assert "evil.example" in response.text


async def test_a_url_of_another_region_keeps_its_host() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.signed_url = "wss://api.us.elevenlabs.io:443/v1/convai/conversation?token=t"
        url = (await ask(stage)).json()["signed_url"]
    assert urlsplit(url).path == "/via/api.us.elevenlabs.io/v1/convai/conversation"


@pytest.mark.parametrize("body", [{}, {"signed_url": None}, {"signed_url": "nowhere"}, [], "x", {"signed_url": 5}])
async def test_an_answer_without_a_url_is_a_bad_gateway(body: object) -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        provider.refusals.append(json_response(200, body))
        response = await ask(stage)
    assert response.status_code == 502
    assert "no signed URL" in response.text


async def test_the_public_address_is_the_clients_host_or_the_configured_one() -> None:
    async with provider_with() as provider:
        provider.signed_url = signed_by(provider)
        async with relay_to(provider.url) as stage:
            behind_tls = await ask(stage, **{"Host": "relay.example", "X-Forwarded-Proto": "https"})
            assert behind_tls.json()["signed_url"].startswith("wss://relay.example/via/")
            odd = await ask(stage, Host="relay.example/x?y")
            assert odd.status_code == 400
        async with relay_to(provider.url, public_url="https://relay.example/base/") as stage:
            assert (await ask(stage)).json()["signed_url"].startswith("wss://relay.example/base/via/")


async def test_a_provider_that_is_down_is_a_bad_gateway() -> None:
    async with provider_with() as provider:
        gone = provider.url
    async with relay_to(gone) as stage:
        response = await ask(stage)
    assert response.status_code == 502
    assert response.text.startswith("Turnwatch relay: cannot reach 127.0.0.1:")


def test_the_query_is_encoded_in_full_and_once() -> None:
    assert encoded("a=b+c/d==&e=%2B%20&f=%zz&g") == "a=b%2Bc%2Fd%3D%3D&e=%2B%20&f=%25zz&g"


@given(st.dictionaries(st.text("abc", min_size=1), st.text("aZ09+/=%& é:", min_size=1), min_size=1))
def test_a_sdk_that_decodes_and_encodes_the_query_again_changes_nothing(values: dict[str, str]) -> None:
    query = "&".join(f"{name}={quote(value, safe='+/')}" for name, value in values.items())
    assert dict(parse_qsl(encoded(query), keep_blank_values=True)) == values
