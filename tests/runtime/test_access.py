"""Who may come in, and what is passed on of what they showed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.runtime.access import Address, Admitted, Doorkeeper, NotAnAddress, parse_address

TOKEN = "s3cret/+ü"
IN_PATH = "/t/s3cret%2F%2B%C3%BC"


@pytest.mark.parametrize(
    ("text", "address", "loopback"),
    [
        ("127.0.0.1:8765", Address("127.0.0.1", 8765), True),
        ("127.8.0.1:1", Address("127.8.0.1", 1), True),
        ("localhost:0", Address("localhost", 0), True),
        ("[::1]:8765", Address("::1", 8765), True),
        ("0.0.0.0:8765", Address("0.0.0.0", 8765), False),
        (":8765", Address("0.0.0.0", 8765), False),
        ("[::]:8765", Address("::", 8765), False),
        ("10.0.0.7:8765", Address("10.0.0.7", 8765), False),
        ("myhost:8765", Address("myhost", 8765), False),
    ],
)
def test_addresses(text: str, address: Address, loopback: bool) -> None:
    assert parse_address(text) == address
    assert address.loopback is loopback


@pytest.mark.parametrize("text", ["", "8765", "host", "host:", "host:port", "host:65536", "host:-1", "::1:8765", "h:²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(NotAnAddress, match="HOST:PORT"):
        parse_address(text)


def test_without_a_token_everybody_passes() -> None:
    assert Doorkeeper(None).admit("/x?token=y") == Admitted("/x?token=y")


@pytest.mark.parametrize(
    ("path", "authorization", "admitted"),
    [
        ("/twilio", f"Bearer {TOKEN}", Admitted("/twilio", by_header=True)),
        ("/twilio", f"bearer  {TOKEN}", Admitted("/twilio", by_header=True)),
        ("/x?a=1&token=s3cret/%2B%C3%BC&b=2", None, Admitted("/x?a=1&b=2")),
        ("/x?token=s3cret/%2B%C3%BC", "Bearer provider-key", Admitted("/x")),
        (f"{IN_PATH}/twilio", None, Admitted(f"{IN_PATH}/twilio")),
        (
            f"/eu{IN_PATH}/v1/convai/conversation?agent_id=a",
            "Bearer k",
            Admitted(f"/eu{IN_PATH}/v1/convai/conversation?agent_id=a"),
        ),
        ("/twilio", None, None),
        ("/twilio", "Bearer other", None),
        ("/twilio", f"Basic {TOKEN}", None),
        ("/twilio?token=other", None, None),
        ("/twilio?token=", None, None),
        ("/t/other/twilio", None, None),
        ("/t//twilio", None, None),
        ("/twilio?x=/t/s3cret%2F%2B%C3%BC", None, None),
    ],
)
def test_the_token_is_taken_wherever_a_client_can_put_it(
    path: str, authorization: str | None, admitted: Admitted | None
) -> None:
    assert Doorkeeper(TOKEN).admit(path, authorization) == admitted


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_nothing_that_a_stranger_sends_gets_past_or_breaks(path: str, authorization: str | None) -> None:
    assert Doorkeeper("a-long-token-that-nobody-guesses").admit(path, authorization) is None


def test_addresses_that_we_hand_out_carry_the_token_once() -> None:
    keeper = Doorkeeper(TOKEN)
    handed_out = keeper.with_token("/v1/convai/x?a=1")
    assert handed_out == f"{IN_PATH}/v1/convai/x?a=1"
    assert keeper.with_token(handed_out) == handed_out
    assert keeper.admit(handed_out) is not None
    assert Doorkeeper(None).with_token("/x") == "/x"
