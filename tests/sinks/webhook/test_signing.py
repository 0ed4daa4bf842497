"""Signatures and ids as Standard Webhooks has them, and the pauses of a circuit."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sinks import SinkError
from monitor.sinks.webhook.circuit import Circuit
from monitor.sinks.webhook.signing import header_id, key_of, sign, verify
from tests.sinks.webhook.alerts import sinks

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
BODY = b'{"v":1}'
NOW = 1_764_558_616

REFUSED = {"refused_rest_s": 30.0, "refused_longest_rest_s": 600.0}


def signed(secret: str = SECRET, webhook_id: str = "call#1", at: int = NOW, body: bytes = BODY) -> dict[str, str]:
    signature = sign(key_of(secret), webhook_id, at, body)
    return {"Webhook-Id": webhook_id, "Webhook-Timestamp": str(at), "Webhook-Signature": signature}


def test_the_signature_is_that_of_the_specification() -> None:
    content = b"call#1.1764558616." + BODY
    by_hand = base64.b64encode(hmac.new(bytes(range(32)), content, hashlib.sha256).digest()).decode()
    assert signed()["Webhook-Signature"] == f"v1,{by_hand}"
    # The example of the specification's own libraries.
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    told = sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert told == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", [SECRET, "a plain secret", "ä€"])
def test_what_was_signed_is_verified_and_nothing_else(secret: str) -> None:
    headers = signed(secret)
    assert verify(secret, headers, BODY, NOW + 299)
    assert not verify(secret, headers, BODY, NOW + 301)
    assert not verify(secret, headers, BODY, NOW - 301)
    assert not verify(secret, headers, BODY + b" ", NOW)
    assert not verify("another", headers, BODY, NOW)
    assert not verify(secret, headers | {"Webhook-Id": "call#2"}, BODY, NOW)
    assert not verify(secret, headers | {"Webhook-Timestamp": str(NOW + 1)}, BODY, NOW)
    assert not verify(secret, headers | {"Webhook-Timestamp": "soon"}, BODY, NOW)
    assert not verify(secret, headers | {"Webhook-Signature": "v1,ä \ud800"}, BODY, NOW)
    assert not verify(secret, {}, BODY, NOW)


def test_one_of_several_signatures_is_enough() -> None:
    headers = signed()
    headers["Webhook-Signature"] = f"v1,AAAA v1a,BBBB {headers['Webhook-Signature']}"
    assert verify(SECRET, headers, BODY, NOW)


@given(call=st.text(max_size=400), seq=st.integers(0, 10**9))
def test_any_call_makes_an_id_that_a_header_holds(call: str, seq: int) -> None:
    told = header_id(f"{call}#{seq}")
    assert told.isascii()
    assert told.isprintable()
    assert not set(" .\r\n") & set(told)
    assert told.endswith(f"#{seq}")
    assert len(told) <= 200


@given(one=st.text(max_size=300), other=st.text(max_size=300))
def test_different_calls_have_different_ids(one: str, other: str) -> None:
    same = one.encode("utf-8", "replace") == other.encode("utf-8", "replace")
    assert same or header_id(f"{one}#1") != header_id(f"{other}#1")


def test_usual_ids_stand_as_they_are() -> None:
    assert header_id("conv_01-abc:x/y#12") == "conv_01-abc:x/y#12"


def test_pauses_grow_to_a_limit_and_vary() -> None:
    slow = Circuit(open_after=3, first_rest_s=0.5, longest_rest_s=30, **REFUSED, spread=lambda: 0.0)
    assert [slow.failed() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    quick = Circuit(open_after=3, first_rest_s=0.5, longest_rest_s=30, **REFUSED, spread=lambda: 1.0)
    assert [quick.failed() for _ in range(3)] == [0.25, 0.5, 1]
    for _ in range(5000):
        assert slow.failed() == 30


def test_a_circuit_opens_and_a_trial_closes_it_or_opens_it_again() -> None:
    circuit = Circuit(open_after=3, first_rest_s=1, longest_rest_s=60, **REFUSED)
    for state in ("closed", "closed", "open"):
        circuit.trying()
        circuit.failed()
        assert circuit.state == state
    seen = []
    for happens in (circuit.trying, circuit.failed, circuit.trying, circuit.answered):
        happens()
        seen.append(circuit.state)
    assert seen == ["half open", "open", "half open", "closed"]
    assert circuit.failed() <= 1


@pytest.mark.parametrize("secret", ["short", "fifteen letters", "whsec_MDEyMzQ1Njc4OWFiY2Rl"])
def test_a_secret_that_can_be_guessed_is_refused_and_not_told(secret: str, tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"webhook\.secret makes a key of \d+ bytes.*openssl rand") as caught:
        sinks(tmp_path, "https://example.org/a", secret=secret)
    assert secret not in str(caught.value)


@pytest.mark.parametrize("secret", ["sixteen letters.", "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="])
def test_a_secret_of_sixteen_bytes_is_enough(secret: str, tmp_path: Path) -> None:
    ((_, sink),) = sinks(tmp_path, "https://example.org/a", secret=secret)
    sink.abandon()
