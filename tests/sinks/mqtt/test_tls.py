"""TLS: only the right authority, host and time are accepted; what is refused names its cause and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.sinks import SinkError
from monitor.sinks.mqtt.connection import LinkError, check, connect
from monitor.sinks.mqtt.settings import MqttSettings
from tests.brokers import Broker, running
from tests.sinks.mqtt.certificates import DAY, Authority
from tests.sinks.mqtt.listening import figure, publishing, raised, settings


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def tls_broker(folder: Path, own: tuple[str, str], more: str = "") -> Iterator[Broker]:
    with running(folder / "tls", more=f"certfile {own[0]}\nkeyfile {own[1]}\n{more}") as broker:
        yield broker


def by_tls(port: int, host: str = "127.0.0.1", **more: object) -> MqttSettings:
    return MqttSettings(**{"url": f"mqtts://{host}:{port}", "answer_within_s": 3.0, **more})  # type: ignore[arg-type]


async def refusal(made: MqttSettings) -> LinkError:
    with pytest.raises(LinkError) as caught:
        async with connect(made, "client"):
            pass
    return caught.value


async def test_the_right_authority_and_host_are_accepted(authority: Authority, tmp_path: Path) -> None:
    with tls_broker(tmp_path, authority.sign("broker", hosts=("127.0.0.1", "localhost"))) as broker:
        for host in ("127.0.0.1", "localhost"):
            async with connect(by_tls(broker.port, host, ca_file=authority.ca_file), "client"):
                pass
        made = settings(broker, tmp_path, url=f"mqtts://127.0.0.1:{broker.port}", ca_file=authority.ca_file)
        async with publishing(made) as sink:
            await sink.deliver(raised(1))
            await figure(sink, "delivered", 1)


async def test_an_authority_that_is_not_named_is_refused(authority: Authority, tmp_path: Path) -> None:
    with tls_broker(tmp_path, authority.sign("broker", hosts=("127.0.0.1",))) as broker:
        error = await refusal(by_tls(broker.port))
    assert error.refused
    assert "signed by nobody that is trusted here" in str(error)
    assert "set mqtt.ca_file" in str(error)


async def test_a_wrong_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    for name in ("another", "authority"):  # also one that only has the same name
        (tmp_path / name).mkdir()
        wrong = Authority(tmp_path / name, name)
        with tls_broker(tmp_path / name, authority.sign("broker", hosts=("127.0.0.1",))) as broker:
            error = await refusal(by_tls(broker.port, ca_file=wrong.ca_file))
        assert error.refused
        assert f"not signed by the authority in mqtt.ca_file, {wrong.ca_file}" in str(error)
        assert "set mqtt.ca_file" not in str(error)  # it is set


async def test_another_host_is_refused(authority: Authority, tmp_path: Path) -> None:
    with tls_broker(tmp_path, authority.sign("broker", hosts=("broker.example.org",))) as broker:
        for host in ("127.0.0.1", "localhost"):
            error = await refusal(by_tls(broker.port, host, ca_file=authority.ca_file))
            assert f"its certificate is not for {host}" in str(error)
            assert "use the name that stands in the certificate" in str(error)


async def test_a_certificate_out_of_time_is_refused(authority: Authority, tmp_path: Path) -> None:
    hosts = ("127.0.0.1",)
    expired = authority.sign("expired", hosts=hosts, since=-2 * DAY, until=-timedelta(hours=1))
    with tls_broker(tmp_path / "expired", expired) as broker:
        error = await refusal(by_tls(broker.port, ca_file=authority.ca_file))
        assert "its certificate has expired: renew" in str(error)
    early = authority.sign("early", hosts=hosts, since=timedelta(hours=1))
    with tls_broker(tmp_path / "early", early) as broker:
        error = await refusal(by_tls(broker.port, ca_file=authority.ca_file))
        assert "its certificate is not valid yet: set this machine's clock" in str(error)


async def test_tls_to_a_plain_port(broker: Broker) -> None:
    error = await refusal(by_tls(broker.port))
    assert "does not speak TLS there" in str(error) or "hung up on TLS" in str(error)
    assert "mqtt:// speaks to a plain port" in str(error)


async def test_plain_words_to_the_port_of_tls(authority: Authority, tmp_path: Path) -> None:
    with tls_broker(tmp_path, authority.sign("broker", hosts=("127.0.0.1",))) as broker:
        error = await refusal(MqttSettings(url=broker.url, answer_within_s=3.0))
    assert f"is port {broker.port} its TLS port?" in str(error)
    assert "mqtts:// in mqtt.url" in str(error)


async def test_a_broker_that_wants_a_certificate_of_the_client(authority: Authority, tmp_path: Path) -> None:
    more = f"cafile {authority.ca_file}\nrequire_certificate true\n"
    own = authority.sign("monitor")
    stranger = Authority(tmp_path, "stranger").sign("monitor")
    with tls_broker(tmp_path, authority.sign("broker", hosts=("127.0.0.1",)), more) as broker:
        trusting = {"ca_file": authority.ca_file}
        async with connect(by_tls(broker.port, cert_file=own[0], key_file=own[1], **trusting), "client"):
            pass
        error = await refusal(by_tls(broker.port, **trusting))
        assert "certificate of this client" in str(error)
        assert "mqtt.cert_file" in str(error)
        error = await refusal(by_tls(broker.port, cert_file=stranger[0], key_file=stranger[1], **trusting))
        assert "mqtt.cert_file" in str(error)


async def test_not_checking_is_possible_only_by_name_and_is_told(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tls_broker(
        tmp_path, authority.sign("broker", hosts=("elsewhere",), until=-timedelta(hours=1), since=-DAY)
    ) as broker:
        made = by_tls(broker.port, tls_insecure=True)
        check(made)
        assert "mqtt.tls_insecure is on" in caplog.text
        async with connect(made, "client"):
            pass


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"ca_file": "/nowhere.pem"}, "mqtt.ca_file: there is no file /nowhere.pem"),
        ({"ca_file": __file__}, "holds no certificate in PEM"),
        ({"cert_file": "/nowhere.pem", "key_file": "/nowhere.key"}, "/nowhere.key is not there"),
        ({"key_file": "/nowhere.key"}, "mqtt.key_file is the key of mqtt.cert_file: give that too"),
        ({"cert_file": __file__}, "are not a certificate and its key in PEM"),
    ],
)
def test_files_that_are_no_good_are_told_at_the_start(more: dict[str, object], told: str) -> None:
    with pytest.raises(SinkError) as caught:
        check(by_tls(8883, **more))
    assert told in str(caught.value)


def test_settings_of_tls_for_a_plain_port_are_an_error(authority: Authority) -> None:
    with pytest.raises(SinkError, match=r"are for TLS, and mqtt://127\.0\.0\.1:1883 is not"):
        check(MqttSettings(url="mqtt://127.0.0.1", ca_file=authority.ca_file))
