"""Twilio Media Streams (and SignalWire, which speaks the same): the sockets that the carrier opens to us.

calls = TwilioCalls(door, TwilioSettings(auth_token=…, token=…))
# in the server's process_request, for the path /twilio:
if (reason := upgrade_refusal(request.path, request.headers, settings)):
    return connection.respond(403, reason)
# in its handler:
await serve_twilio(connection, calls)
# every 50 ms or so, for all calls at once:
calls.elapsed(now_ms)
# before the server is closed:
calls.stop()
"""

from __future__ import annotations

from connectors.twilio.calls import TwilioCalls
from connectors.twilio.session import serve_twilio
from connectors.twilio.settings import TwilioSettings
from connectors.twilio.signature import signature, upgrade_refusal

__all__ = ["TwilioCalls", "TwilioSettings", "serve_twilio", "signature", "upgrade_refusal"]
