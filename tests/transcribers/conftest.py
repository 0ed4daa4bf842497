"""For all tests of transcribers."""

from __future__ import annotations

import ssl

import pytest


@pytest.fixture(autouse=True)
def no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is plain HTTP: loading the certificates of the world would take most of the time of each test."""
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)
