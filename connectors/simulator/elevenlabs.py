"""An ElevenLabs agent on loopback: it speaks the provider's real protocol on a real socket, and needs no account.

`ElevenLabsSimulator` serves what a client of a conversation touches: the WebSocket `/v1/convai/conversation`, and the
REST call that hands out signed URLs for private agents. What the agent says is a `Scenario`, how it behaves on the wire
are its `Habits`. From the command line: `python -m connectors.simulator.elevenlabs --help`.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from connectors.simulator.conversation import Conversation, Record
from connectors.simulator.habits import Habits
from connectors.simulator.scenario import Scenario
from connectors.simulator.scenario_demo import DEMO

log = logging.getLogger("turnwatch.simulator")

SOCKET_PATH = "/v1/convai/conversation"
SIGNED_URL_PATH = "/v1/convai/conversation/get-signed-url"
SIGNATURE_SECONDS = 15 * 60
KEPT = 256
MAX_MESSAGE = 16 << 20


def _clock() -> float:
    return time.monotonic() * 1000


class ElevenLabsSimulator:
    """`async with ElevenLabsSimulator() as agent:` serves conversations at `agent.base_url` until the block ends.

    `port` 0 takes a free one. A `private` agent wants a signed URL. `api_key`: the key that the REST call must bring;
    None: any key will do. `seed` makes the bursts of a conversation the same in every run. `calls`: the records of the
    last 256 conversations, in order of their beginning.
    """

    def __init__(
        self,
        scenario: Scenario = DEMO,
        habits: Habits | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        private: bool = False,
        api_key: str | None = None,
        seed: int = 0,
        clock: Callable[[], float] = _clock,
    ) -> None:
        self.calls: deque[Record] = deque(maxlen=KEPT)
        self._scenario, self._habits = scenario, habits or Habits()
        self._host, self._port = host, port
        self._private, self._api_key, self._seed, self._clock = private, api_key, seed, clock
        self._signatures: dict[str, tuple[str, float, bool]] = {}
        self._server: Server | None = None

    @property
    def base_url(self) -> str:
        """`http://host:port`, what an SDK wants as its `base_url`."""
        return f"http://{self._address}"

    @property
    def url(self) -> str:
        """`ws://host:port/v1/convai/conversation`, without a query."""
        return f"ws://{self._address}{SOCKET_PATH}"

    @property
    def _address(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._converse,
            self._host,
            self._port,
            process_request=self._answer_http,
            select_subprotocol=_select_subprotocol,
            max_size=MAX_MESSAGE,
            close_timeout=2,
            server_header=None,
        )
        self._port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def _answer_http(self, socket: ServerConnection, request: Request) -> Response | None:
        """REST and refusals; None lets the WebSocket be opened."""
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == SIGNED_URL_PATH:
            return self._sign(query, request.headers)
        if url.path != SOCKET_PATH:
            return _json(HTTPStatus.NOT_FOUND, {"detail": "Not Found"})
        if self._habits.bad_signature == "http" and not self._is_allowed(query):
            return _json(HTTPStatus.FORBIDDEN, {"detail": {"status": "unauthorized", "message": "Invalid signature"}})
        return None

    def _sign(self, query: dict[str, str], headers: Headers) -> Response:
        key, agent_id = headers.get("xi-api-key"), query.get("agent_id")
        if not key or (self._api_key is not None and not secrets.compare_digest(key.encode(), self._api_key.encode())):
            return _json(
                HTTPStatus.UNAUTHORIZED, {"detail": {"status": "invalid_api_key", "message": "Invalid API key"}}
            )
        if not agent_id:
            missing = {"loc": ["query", "agent_id"], "msg": "Field required", "type": "missing"}
            return _json(HTTPStatus.UNPROCESSABLE_ENTITY, {"detail": [missing]})
        once = query.get("include_conversation_id", "").lower() == "true"
        signature = secrets.token_urlsafe(32) + "+/="  # as the real ones: not to be re-encoded carelessly
        while len(self._signatures) >= KEPT:
            self._signatures.pop(next(iter(self._signatures)))
        self._signatures[signature] = (agent_id, self._clock() + SIGNATURE_SECONDS * 1000, once)
        host = headers.get("Host", self._address)
        signed = f"ws://{host}{SOCKET_PATH}?agent_id={quote(agent_id, safe='')}"
        signed += f"&conversation_signature={quote(signature, safe='')}"
        return _json(HTTPStatus.OK, {"signed_url": signed})

    def _is_allowed(self, query: dict[str, str]) -> bool:
        signature = query.get("conversation_signature")
        if signature is None:
            return not self._private and bool(query.get("agent_id"))
        agent_id, until, once = self._signatures.get(signature, ("", 0.0, False))
        allowed = query.get("agent_id") == agent_id and self._clock() < until
        if allowed and once:
            del self._signatures[signature]
        return allowed

    async def _converse(self, socket: ServerConnection) -> None:
        path = socket.request.path if socket.request is not None else ""
        if self._habits.bad_signature == "close":
            query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
            if not self._is_allowed(query):
                await socket.close(1008, "Invalid signature")
                return
        record = Record(f"conv_{secrets.token_hex(12)}", path, socket.subprotocol)
        self.calls.append(record)
        log.info("%s began", record.conversation_id)
        await Conversation(socket, self._scenario, self._habits, record, clock=self._clock, seed=self._seed).run()
        log.info("%s ended with %s; caller %.1f s", record.conversation_id, record.close_code, record.caller_ms / 1000)


def _select_subprotocol(socket: ServerConnection, offered: object) -> Subprotocol | None:
    """`convai` if the client offers it; none otherwise, which is no reason to refuse."""
    return Subprotocol("convai") if isinstance(offered, list | tuple) and "convai" in offered else None


def _json(status: HTTPStatus, body: object) -> Response:
    data = json.dumps(body).encode()
    headers = Headers(
        [("Content-Type", "application/json"), ("Content-Length", str(len(data))), ("Connection", "close")]
    )
    return Response(status.value, status.phrase, headers, data)


if __name__ == "__main__":
    from connectors.simulator.command import main

    raise SystemExit(main())
