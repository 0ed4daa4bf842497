"""The AsyncAPI 3 document of what goes over MQTT, generated from the event types.

python -m monitor.sinks.mqtt.asyncapi > deploy/asyncapi.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

from monitor.core.encode import VERSION
from monitor.core.events import AlertRaised
from monitor.sinks.mqtt.outbox import KEPT
from monitor.sinks.mqtt.schemas import EVENT_TYPES, event_schema
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.topics import ROOT

_BINDING = "0.2.0"
_SITE = {"site": {"description": "mqtt.site of the monitor"}}
_LEVEL = (
    "as one level of a topic: + # / % ~ and control characters as %XX; what would be longer than 128 bytes is cut and "
    "ends in ~ and 16 digits of its SHA-256"
)


def document() -> dict[str, Any]:
    """The document, as a JSON object."""
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for kind in EVENT_TYPES:
        schemas[kind.type] = event_schema(kind)
        kept = issubclass(kind, KEPT)
        messages[kind.type] = _message(kind.type, kind.type, _headers(kept=kept))
        channels[kind.type] = {
            "address": f"{ROOT}/{{site}}/calls/{{call}}/{kind.type}",
            "messages": {kind.type: _ref("messages", kind.type)},
            "parameters": _SITE | {"call": {"description": f"the call's id {_LEVEL}"}},
        }
        operations[f"send.{kind.type}"] = _operation(kind.type, qos=int(kept), retain=False)
    _add_open_alerts(channels, operations, messages)
    _add_monitors(channels, operations, messages, schemas)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Turnwatch over MQTT",
            "version": f"{VERSION}.0.0",
            "description": "What a monitor of voice calls publishes. An event is identified for ever by call and seq, "
            "and by the user property event-id: who sees it twice drops the second. Times are seconds of the call. "
            "Fields may be added; a renaming or a removal raises v.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"broker": {"host": "localhost:1883", "protocol": "mqtt", "protocolVersion": "5.0"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    }


def _add_open_alerts(channels: dict[str, Any], operations: dict[str, Any], messages: dict[str, Any]) -> None:
    expiry_s = MqttSettings().state_expiry_s
    headers = {
        "state": {"enum": ["open", "cleared", "lost"]},
        "event-id": {"type": "string", "description": "of the alert.raised that opened it; only with open"},
        "monitor": {"type": "string"},
    }
    messages["alert.open"] = _message("alert.open", AlertRaised.type, _object(headers, ["state", "monitor"])) | {
        "summary": "The alert as it was last raised. An empty message deletes it: it is cleared, or "
        "lost, since the monitor was killed.",
    }
    channels["alert.open"] = {
        "address": f"{ROOT}/{{site}}/alerts/{{alert}}",
        "description": "The state of an alert that is open, for who comes late; the event is alert.raised.",
        "messages": {"alert.open": _ref("messages", "alert.open")},
        "parameters": _SITE | {"alert": {"description": f"the alert's id {_LEVEL}"}},
    }
    operations["send.alert.open"] = _operation("alert.open", qos=1, retain=True, expiry_s=expiry_s)


def _add_monitors(
    channels: dict[str, Any], operations: dict[str, Any], messages: dict[str, Any], schemas: dict[str, Any]
) -> None:
    text = {"type": "string"}
    told = {
        "v": {"const": VERSION},
        "site": text,
        "monitor": text,
        "state": {"enum": ["online", "offline"]},
        "since": text | {"format": "date-time", "description": "with online: when the monitor started"},
        "instance": text | {"description": "with online: tells two monitors of one name apart"},
        "holds_s": {"type": "integer", "description": "with online: seconds; it is renewed at half the time"},
        "lost_alerts": {
            "type": "array",
            "items": text,
            "description": "with online: the alerts, as in their topics, that were open when it was killed before",
        },
        "cause": {"enum": ["stopped", "lost"], "description": "with offline: it ended in order, or the link broke"},
    }
    schemas["monitor"] = _object(told, ["v", "site", "monitor", "state"])
    messages["monitor"] = _message("monitor", "monitor", None)
    channels["monitor"] = {
        "address": f"{ROOT}/{{site}}/monitors/{{monitor}}",
        "description": "Whether a monitor is there; its last will says offline.",
        "messages": {"monitor": _ref("messages", "monitor")},
        "parameters": _SITE | {"monitor": {"description": f"the monitor's name {_LEVEL}"}},
    }
    operations["send.monitor"] = _operation("monitor", qos=1, retain=True, expiry_s=MqttSettings().state_expiry_s)


def _headers(*, kept: bool) -> dict[str, Any]:
    """The user properties of an event."""
    text = {"type": "string"}
    always = {"event-id": text | {"description": "<call>#<seq>"}, "type": text, "monitor": text}
    if kept:
        always["taken-at"] = text | {"format": "date-time", "description": "when it was taken to be published"}
    return _object(always, list(always))


def _message(name: str, schema: str, headers: dict[str, Any] | None) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "contentType": "application/json"}
    if headers is not None:
        made["headers"] = headers
    binding = {"payloadFormatIndicator": 1, "bindingVersion": _BINDING}
    return made | {"payload": _ref("schemas", schema), "bindings": {"mqtt": binding}}


def _operation(channel: str, *, qos: int, retain: bool, expiry_s: int | None = None) -> dict[str, Any]:
    binding: dict[str, Any] = {"qos": qos, "retain": retain, "bindingVersion": _BINDING}
    if expiry_s is not None:
        binding["messageExpiryInterval"] = expiry_s
    return {"action": "send", "channel": {"$ref": f"#/channels/{channel}"}, "bindings": {"mqtt": binding}}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=2, ensure_ascii=False) + "\n")
