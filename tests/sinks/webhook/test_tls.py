"""TLS: only with the right authority and host; else the cause is named, and nothing is lost by it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from monitor.sinks import SinkError
from tests.sinks.webhook.alerts import raised, sending, sinks, until
from tests.sinks.webhook.certificates import Authority
from tests.sinks.webhook.receiver import Receiver

_DAY = timedelta(days=1)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


async def test_the_right_authority_and_host_are_trusted(tmp_path: Path, authority: Authority) -> None:
    receiver = await Receiver().start(authority.server())
    async with receiver, sending(tmp_path, receiver.url, ca_file=str(authority.file), timeout_s=5) as sink:
        await sink.deliver(raised())
        await receiver.has(1)
        assert receiver.url.startswith("https://")


@pytest.mark.parametrize(
    ("case", "cause"),
    [
        ("usual", "signed by nobody that is trusted here: set webhook.ca_file"),
        ("other", "its certificate is not signed by the authority in webhook.ca_file, /"),
        ("host", "its certificate is not for https://127.0.0.1:"),
        ("expired", "its certificate has expired"),
        ("early", "its certificate is not valid yet"),
        ("plain", "it does not speak TLS there"),
    ],
)
async def test_what_cannot_be_trusted_gets_nothing_and_the_cause_is_named(
    tmp_path: Path, authority: Authority, case: str, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    trusted: Path | None = authority.file
    server = authority.server()
    if case == "usual":
        trusted = None
    elif case == "other":
        trusted = Authority(tmp_path, "stranger").file
    elif case == "host":
        server = authority.server("hooks.example.org")
    elif case == "expired":
        server = authority.server(begins=-2 * _DAY, ends=-_DAY)
    elif case == "early":
        server = authority.server(begins=_DAY, ends=2 * _DAY)
    receiver = await Receiver().start(None if case == "plain" else server)
    url = receiver.url.replace("http:", "https:")
    settings = {"ca_file": None if trusted is None else str(trusted), "timeout_s": 5}
    async with receiver, sending(tmp_path, url, **settings) as sink:
        await sink.deliver(raised())
        await until(lambda: sink.figures()["tries"] >= 2)
        assert sink.figures()["spooled"] == 1
        assert not receiver.requests
    assert caplog.text.count(cause) == 1


async def test_plain_http_to_a_port_for_tls_is_told(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = await Receiver().start(authority.server())
    async with receiver, sending(tmp_path, receiver.url.replace("https:", "http:"), timeout_s=5) as sink:
        await sink.deliver(raised())
        await until(lambda: sink.figures()["tries"] >= 2)
        assert sink.figures()["spooled"] == 1
    assert "is that the right port?" in caplog.text


async def test_a_certificate_that_is_renewed_lets_the_alert_through(tmp_path: Path, authority: Authority) -> None:
    receiver = await Receiver().start(authority.server(begins=-2 * _DAY, ends=-_DAY))
    async with sending(tmp_path, receiver.url, ca_file=str(authority.file), timeout_s=5) as sink:
        await sink.deliver(raised())
        await until(lambda: sink.figures()["tries"] >= 1)
        await receiver.stop()
        async with await receiver.start(authority.server()):
            await receiver.has(1)


@pytest.mark.parametrize("holds", [None, "no certificate"])
def test_a_file_of_authorities_that_is_no_good_is_told_at_once(tmp_path: Path, holds: str | None) -> None:
    file = tmp_path / "ca.pem"
    if holds:
        file.write_text(holds)
    with pytest.raises(SinkError, match=r"webhook\.ca_file"):
        sinks(tmp_path, "https://127.0.0.1:9/", ca_file=str(file))
