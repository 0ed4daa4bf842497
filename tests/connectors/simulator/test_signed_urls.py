"""The door: agent ids, signed URLs, refusals."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from connectors.simulator.elevenlabs import SIGNED_URL_PATH, ElevenLabsSimulator
from connectors.simulator.habits import Habits
from tests.connectors.simulator.calls import MONOLOGUE


async def ask(agent: ElevenLabsSimulator, key: str | None = "a key", **query: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=agent.base_url) as client:
        headers = {} if key is None else {"xi-api-key": key}
        return await client.get(SIGNED_URL_PATH, params=query, headers=headers)


async def opens(url: str) -> bool:
    """Whether a conversation begins there; a refusal is of one of the two kinds."""
    try:
        async with connect(url) as socket:
            await socket.recv()
    except InvalidStatus as refused:
        return _not({403}, refused.response.status_code)
    except ConnectionClosed:
        return _not({1008}, socket.close_code)
    return True


def _not(expected: set[int], got: int | None) -> bool:
    assert got in expected
    return False


def test_a_signed_url_opens_a_private_agent() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, private=True, api_key="right") as agent:
            assert not await opens(f"{agent.url}?agent_id=any")
            url = (await ask(agent, "right", agent_id="a b/c")).json()["signed_url"]
            assert parse_qs(urlsplit(url).query)["agent_id"] == ["a b/c"]
            assert "+" not in url
            assert await opens(url)
            assert await opens(url)
            assert not await opens(url.replace("a%20b", "another"))
            assert not await opens(url[:-3])

    asyncio.run(call())


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("wrong", 401), ("", 401), ("right", 200)])
def test_the_rest_call_wants_the_key(key: str | None, status: int) -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, api_key="right") as agent:
            assert (await ask(agent, key, agent_id="any")).status_code == status

    asyncio.run(call())


def test_the_rest_call_wants_an_agent_id_and_other_paths_are_not_found() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            assert (await ask(agent)).status_code == 422
            async with httpx.AsyncClient(base_url=agent.base_url) as client:
                assert (await client.get("/v1/voices")).status_code == 404

    asyncio.run(call())


def test_a_url_with_a_conversation_id_works_once() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, private=True) as agent:
            url = (await ask(agent, agent_id="any", include_conversation_id="true")).json()["signed_url"]
            assert await opens(url)
            assert not await opens(url)

    asyncio.run(call())


def test_a_signed_url_runs_out_after_fifteen_minutes() -> None:
    now = [0.0]

    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, private=True, clock=lambda: now[0]) as agent:
            url = (await ask(agent, agent_id="any")).json()["signed_url"]
            now[0] = 899_000.0
            assert await opens(url)
            now[0] = 901_000.0
            assert not await opens(url)

    asyncio.run(call())


def test_a_bad_signature_may_be_told_after_the_upgrade() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, Habits(bad_signature="close"), private=True) as agent:
            assert not await opens(f"{agent.url}?agent_id=any")
            assert await opens((await ask(agent, agent_id="any")).json()["signed_url"])

    asyncio.run(call())


def test_only_so_many_signatures_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, private=True) as agent:
            monkeypatch.setattr("connectors.simulator.elevenlabs.KEPT", 3)
            async with httpx.AsyncClient(base_url=agent.base_url, headers={"xi-api-key": "k"}) as client:
                urls = [
                    (await client.get(SIGNED_URL_PATH, params={"agent_id": "any"})).json()["signed_url"]
                    for _ in range(4)
                ]
            assert not await opens(urls[0])
            assert await opens(urls[1])

    asyncio.run(call())


def test_a_public_agent_wants_an_agent_id() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            assert not await opens(agent.url)
            assert await opens(f"{agent.url}?agent_id=any&source=python_sdk&version=2.78.0")

    asyncio.run(call())
