"""What the media-stream endpoint is told by its configuration."""

from __future__ import annotations

from typing import Any

import msgspec

from connectors.protocols.twilio_call import CallLimits

_SECRET = frozenset({"auth_token", "shared_key", "token"})


class TwilioSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The endpoint for media streams.

    `auth_token`: the account's; with it, upgrade requests without Twilio's signature are refused. `shared_key`: for
    accounts whose requests are signed with HMAC-SHA256 by a key of their own. `token`: what the TwiML's
    `<Parameter name="token">` must hold. `public_url`: the stream's URL as it stands in the TwiML, where a proxy
    changes the host or the path on the way.

    `reconnect_grace_ms`: how long a call whose socket was lost waits for it. `pairing_ms`: how long a stream with one
    track waits for the other track's stream. `silent_limit_ms`: a call without any audio for so long is given up.
    `max_message_bytes`: longer messages are counted, not read. `max_calls`: more calls at once are refused.
    `start_timeout_s`: how long a socket may take to say what it is.

    Secrets do not show when the settings are printed.
    """

    auth_token: str | None = None
    shared_key: str | None = None
    token: str | None = None
    public_url: str | None = None
    reconnect_grace_ms: int = 4000
    pairing_ms: int = 1000
    silent_limit_ms: int = 300_000
    max_message_bytes: int = 65_536
    max_calls: int = 2000
    start_timeout_s: float = 10.0

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The fields as `rich` may print them, secrets covered."""
        fields = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, "***" if name in _SECRET and value is not None else value) for name, value in fields]

    def __repr__(self) -> str:
        return f"TwilioSettings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    __str__ = __repr__

    @property
    def limits(self) -> CallLimits:
        """The part that the calls themselves go by."""
        return CallLimits(self.reconnect_grace_ms, self.pairing_ms, self.silent_limit_ms, self.max_message_bytes)
