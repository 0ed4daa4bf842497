"""A broker that says no: told once, in words, without the password; and two monitors of one name."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitor.sinks import SinkError
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.sink import MqttSink, make
from tests.brokers import Broker, free_port, running
from tests.sinks.mqtt.listening import figure, listening, publishing, raised, settings

PASSWORD = "a very secret/word@:#"


@contextmanager
def guarded(folder: Path, access: str) -> Iterator[Broker]:
    """A broker that lets `watcher` in by PASSWORD, `access` says where, and others may read all."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = shutil.which("mosquitto_passwd")
    assert tool is not None
    subprocess.run([tool, "-c", "-b", str(folder / "passwords"), "watcher", PASSWORD], check=True, capture_output=True)
    (folder / "access").write_text(f"topic read #\n\nuser watcher\n{access}")
    for file in (folder / "passwords", folder / "access"):
        file.chmod(0o600)
    more = f"allow_anonymous true\npassword_file {folder}/passwords\nacl_file {folder}/access\n"
    with running(folder, more=more) as broker:
        yield broker


async def told(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async with asyncio.timeout(20):
        while words not in caplog.text:
            await asyncio.sleep(0.01)


async def test_user_and_password_by_settings_or_url(tmp_path: Path) -> None:
    with guarded(tmp_path / "broker", "topic readwrite turnwatch/#\n") as broker:
        escaped = PASSWORD.replace("/", "%2F").replace("@", "%40").replace("#", "%23").replace(" ", "%20")
        for more in (
            {"username": "watcher", "password": PASSWORD},
            {"url": f"mqtt://watcher:{escaped}@127.0.0.1:{broker.port}"},
            {"url": f"mqtt://watcher@127.0.0.1:{broker.port}", "password": PASSWORD},
        ):
            async with publishing(settings(broker, tmp_path, **more)) as sink:
                await sink.deliver(raised(1))
                await figure(sink, "delivered", 1)


async def test_a_wrong_password_is_told_once_and_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with guarded(tmp_path / "broker", "topic readwrite turnwatch/#\n") as broker:
        made = settings(broker, tmp_path, username="watcher", password="another secret", refused_retry_s=0.1)
        async with publishing(made) as sink:
            await sink.deliver(raised(1))
            await told(caplog, "mqtt.password")
            await asyncio.sleep(0.5)  # several attempts
            assert caplog.text.count("is refused") == 1
            assert sink.figures()["spooled"] == 1
    assert "another secret" not in caplog.text + repr(made) + repr(sink._address) + str(sink._address)


async def test_a_broker_that_refuses_is_not_asked_all_the_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with guarded(tmp_path / "broker", "") as broker:
        made = settings(broker, tmp_path, username="watcher", password="wrong", retry_max_s=0.1)
        async with publishing(made) as sink:
            await told(caplog, "mqtt.password")
            before = broker.log.count("New connection")
            await asyncio.sleep(0.5)
            assert broker.log.count("New connection") == before
            assert sink.figures()["connected"] == 0


async def test_an_alert_that_may_not_be_written_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "broker"
    with guarded(folder, "topic readwrite turnwatch/+/monitors/#\n") as broker:
        made = settings(broker, tmp_path, username="watcher", password=PASSWORD, refused_retry_s=0.2)
        async with publishing(made) as sink, listening(broker.port) as listener:
            await sink.deliver(raised(1))
            await told(caplog, "not let this client write to turnwatch/local/calls/call/alert.raised")
            assert "the right to write to turnwatch/local/#" in caplog.text
            assert (sink.figures()["spooled"], sink.figures()["delivered"]) == (1, 0)
            assert listener.of("/calls/") == []


async def test_open_alerts_that_may_not_be_retained_do_not_hold_up_alerts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with guarded(tmp_path / "broker", "topic readwrite turnwatch/+/calls/#\n") as broker:
        async with publishing(settings(broker, tmp_path, username="watcher", password=PASSWORD)) as sink:
            for seq in range(5):
                await sink.deliver(raised(seq))
            await figure(sink, "delivered", 5)
            await told(caplog, "did not take turnwatch/local/alerts/")


async def test_two_monitors_on_one_machine_cannot_share_a_spool(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path)):
        with pytest.raises(SinkError, match="another turnwatch uses"):
            MqttSink(settings(broker, tmp_path))
    async with publishing(settings(broker, tmp_path)) as sink:
        await figure(sink, "connected", 1)


async def test_a_message_that_is_too_long_for_the_broker_is_given_up_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path / "broker", more="max_packet_size 2000\n") as broker:
        async with publishing(settings(broker, tmp_path)) as sink:
            await sink.deliver(raised(1, "call/" + "x" * 5000))
            await sink.deliver(raised(2))
            await figure(sink, "delivered", 1)
            await figure(sink, "failed", 1)
            assert "it takes no message that long" in caplog.text


async def test_a_host_that_nobody_knows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = MqttSettings(url="mqtt://nowhere.invalid", spool_dir=str(tmp_path), monitor="m1")
    async with publishing(made):
        await told(caplog, "no machine is known as nowhere.invalid")


async def test_a_port_of_something_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    port = free_port()
    async with await asyncio.start_server(talk, "127.0.0.1", port):
        made = MqttSettings(url=f"mqtt://127.0.0.1:{port}", spool_dir=str(tmp_path), monitor="m1", answer_within_s=2.0)
        async with publishing(made):
            await told(caplog, f"mqtt://127.0.0.1:{port} is ")
    assert "Traceback" not in caplog.text


def test_no_url_no_sink() -> None:
    assert list(make(MqttSettings())) == []
