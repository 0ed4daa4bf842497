"""The settings of everything that speaks to an MQTT broker."""

from __future__ import annotations

import socket

import msgspec


class MqttSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MQTT 5 broker that gets every event.

    `url`: mqtt://HOST[:1883] or mqtts://HOST[:8883] (TLS), with USER:PASSWORD@ before the host if need be.
    `site`, `monitor`: the names that stand in the topics. The monitor's is the machine's if it is not given. No other
    may have it at the broker: it makes the client id, turnwatch-SITE-MONITOR. A second one of that name goes on under a
    made-up one, if its user may read turnwatch/SITE/monitors/+.
    `username`, `password`: instead of those in the URL; a password is best given as TURNWATCH_MQTT__PASSWORD.
    `ca_file`: who has signed the broker's certificate (PEM), instead of the authorities that the system trusts.
    `cert_file`, `key_file`: this client's own certificate and its key (PEM), if the broker asks for one.
    `tls_insecure`: true does not check whom it speaks to: anybody in between can read and change everything.
    `others_qos`: the QoS, 0 or 1, of the events that are neither alerts nor a call's start or end. By 0 a broker may
    hand them to a slow subscriber before alerts that came earlier; by 1 it keeps the order, and has twice the work.
    `keepalive_s`: a broker that says nothing for so long is asked, and given up after as long again.
    `answer_within_s`: how long connecting, and the receipt of an alert, may take before the broker counts as away.
    `retry_max_s`: the longest pause between two attempts; they begin with half a second. `refused_retry_s`: the pause
    after the broker refused (a wrong password, no right to write).
    `state_expiry_s`: how long the broker keeps "open" of an alert and "online" of the monitor unless they are renewed,
    as they are at half the time. `session_expiry_s`: how long it keeps the session while nobody is connected.
    `spool_dir`: the folder of what waits for the broker; `~/.local/state/turnwatch` if it is not given.
    `spool_max_items`, `spool_max_mb`: beyond these the oldest is dropped, counted and told.
    """

    url: str | None = None
    site: str = "local"
    monitor: str | None = None
    username: str | None = None
    password: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    tls_insecure: bool = False
    others_qos: int = 0
    keepalive_s: int = 15
    answer_within_s: float = 10.0
    retry_max_s: float = 10.0
    refused_retry_s: float = 60.0
    state_expiry_s: int = 3600
    session_expiry_s: int = 86_400
    spool_dir: str | None = None
    spool_max_items: int = 10_000
    spool_max_mb: int = 64

    def __post_init__(self) -> None:
        for key, (low, high) in _RANGES.items():
            if not low <= getattr(self, key) <= high:
                raise ValueError(f"mqtt.{key} must be a number from {low:,} to {high:,}; got {getattr(self, key)!r}")
        if not self.site or self.monitor == "":
            raise ValueError("mqtt.site and mqtt.monitor are names: they cannot be empty")

    @property
    def monitor_name(self) -> str:
        """What this monitor is called."""
        return self.monitor or socket.gethostname() or "monitor"

    def __repr__(self) -> str:
        return f"MqttSettings(site={self.site!r}, monitor={self.monitor_name!r}, …)"


_RANGES: dict[str, tuple[float, float]] = {
    "others_qos": (0, 1),
    "keepalive_s": (1, 3600),
    "answer_within_s": (0.1, 600),
    "retry_max_s": (0.1, 3600),
    "refused_retry_s": (0.1, 86_400),
    "state_expiry_s": (2, 31_536_000),
    "session_expiry_s": (0, 4_294_967_295),
    "spool_max_items": (1, 10_000_000),
    "spool_max_mb": (1, 1_000_000),
}
