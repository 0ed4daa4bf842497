"""ElevenLabs: the relay between a client and its agent, and the listener that makes a call's inputs of the traffic."""

from __future__ import annotations

from connectors.elevenlabs.relay import SERVER_OPTIONS, Relay, RelaySettings

__all__ = ["SERVER_OPTIONS", "Relay", "RelaySettings"]
