"""Only Twilio may open a stream where its auth token is known: signatures, and secrets that do not show."""

from __future__ import annotations

import pytest
from websockets.datastructures import Headers

from connectors.twilio import TwilioSettings, signature, upgrade_refusal

URL = "wss://mon.example.com/twilio"
SHA1 = "GYE3qXebQWfpc4JM5atwbhPgb6M="
SHA256 = "WRhttDSowPXAbwbfS3qeY9cbjZGwpgHqFN3gBEzR4zc="
SETTINGS = TwilioSettings(auth_token="12345")


def request(given: str | None, host: str = "mon.example.com", **more: str) -> Headers:
    headers = Headers(Host=host)
    if given is not None:
        headers["x-twilio-signature"] = given
    for name, value in more.items():
        headers[name.replace("_", "-")] = value
    return headers


def test_vectors_of_twilios_own_library() -> None:
    assert signature("12345", URL) == SHA1
    assert signature("12345", URL, algorithm="HMAC_SHA256") == SHA256
    fields = {"From": "+1555", "CallSid": "CA1"}
    assert signature("12345", "https://mon.example.com/voice", fields) == "md1LEGHWuO+LtyndAa8FXVWw5x8="


@pytest.mark.parametrize(
    ("signed", "host"),
    [
        (URL, "mon.example.com"),
        ("wss://mon.example.com:443/twilio", "mon.example.com"),
        (URL, "mon.example.com:443"),
        (URL, "mon.example.com:8765"),
        ("wss://mon.example.com:8443/twilio", "mon.example.com:8443"),
        ("wss://[::1]/twilio", "[::1]:8765"),
        ("wss://[::1]/twilio", "[::1]"),
    ],
)
def test_any_form_of_the_host_may_have_been_signed(signed: str, host: str) -> None:
    assert upgrade_refusal("/twilio", request(signature("12345", signed), host), SETTINGS) is None


@pytest.mark.parametrize(
    "public", ["wss://public.example/in/twilio", "https://public.example/in/twilio", "public.example/in/twilio"]
)
def test_behind_a_proxy_the_configured_url_counts(public: str) -> None:
    settings = TwilioSettings(auth_token="12345", public_url=public)
    headers = request(signature("12345", "wss://public.example/in/twilio"), "10.0.0.7:8765")
    assert upgrade_refusal("/twilio", headers, settings) is None
    bare = TwilioSettings(auth_token="12345", public_url="wss://public.example")
    headers = request(signature("12345", "wss://public.example/twilio"), "10.0.0.7:8765")
    assert upgrade_refusal("/twilio", headers, bare) is None


def test_newer_signatures_with_a_shared_key() -> None:
    said = {"x_twilio_webhooks_signature_settings": "key=webhooks_sharedkey_1,algorithm=HMAC_SHA256"}
    assert upgrade_refusal("/twilio", request(SHA256, **said), SETTINGS) is None
    assert upgrade_refusal("/twilio", request(SHA256, **said), TwilioSettings(shared_key="12345")) is None
    assert "does not fit" in str(upgrade_refusal("/twilio", request(SHA1, **said), SETTINGS))
    assert "does not fit" in str(upgrade_refusal("/twilio", request(SHA256), SETTINGS))
    odd = {"x_twilio_webhooks_signature_settings": "algorithm=MD5"}
    assert "not known" in str(upgrade_refusal("/twilio", request(SHA1, **odd), SETTINGS))


def test_a_shared_key_alone_lets_no_unsigned_request_in() -> None:
    assert upgrade_refusal("/twilio", request(SHA1), TwilioSettings(shared_key="12345")) is not None


@pytest.mark.parametrize("given", [None, "", "x", SHA1[:-1], SHA1.lower(), "é" * 28, SHA1 + "A"])
def test_anything_else_is_refused_without_telling_secrets(given: str | None) -> None:
    reason = upgrade_refusal("/twilio", request(given), SETTINGS)
    assert reason
    assert "12345" not in reason
    assert SHA1 not in reason


def test_a_signature_of_another_url_is_refused() -> None:
    for url in (URL + "/", "https://mon.example.com/twilio", "wss://evil.example/twilio"):
        assert upgrade_refusal("/twilio", request(signature("12345", url)), SETTINGS) is not None


def test_doubled_headers_are_refused() -> None:
    headers = request(SHA1)
    headers["X-Twilio-Signature"] = SHA1
    assert "twice" in str(upgrade_refusal("/twilio", headers, SETTINGS))


def test_without_a_secret_everybody_may_open_a_stream() -> None:
    assert upgrade_refusal("/twilio", request(None), TwilioSettings()) is None


def test_secrets_do_not_show() -> None:
    settings = TwilioSettings(auth_token="sesame-1", shared_key="sesame-2", token="sesame-3", public_url=URL)
    for shown in (repr(settings), str(settings), f"{settings}", str(settings.__rich_repr__())):
        assert "sesame" not in shown
        assert URL in shown
