"""Settings and addresses: what cannot be is told at the start, and nothing that is told shows a password."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from monitor.config import load
from monitor.sinks import SinkError, made
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.sink import MqttSink
from monitor.sinks.mqtt.url import address
from tests.brokers import Broker
from tests.sinks.mqtt.listening import figure, publishing, raised, settings

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_AIOMQTT = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("aiomqtt", "paho"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
from monitor.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("mqtt://broker", "broker", 1883, False),
        ("mqtts://broker", "broker", 8883, True),
        ("MQTTS://Broker:443/", "broker", 443, True),
        ("mqtt://[::1]:1884", "::1", 1884, False),
        ("mqtt://192.0.2.7", "192.0.2.7", 1883, False),
    ],
)
def test_addresses(url: str, host: str, port: int, tls: bool) -> None:
    found = address(MqttSettings(url=url))
    assert (found.host, found.port, found.tls) == (host, port, tls)
    assert (found.username, found.password) == (None, None)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("127.0.0.1:1883", "Perhaps mqtt://127.0.0.1:1883"),
        ("user:secret@broker", "has no scheme"),
        ("", "has no scheme"),
        ("http://broker", "begins with http://, which is not spoken here"),
        ("ws://broker", "begins with ws://"),
        ("mqtt://", "names no host"),
        ("mqtt://broker:0", "no port that can be"),
        ("mqtt://broker:99999", "Port out of range"),
        ("mqtt://broker:port", "mqtt.url"),
        ("mqtt://broker/topic", "something behind the host"),
        ("mqtt://broker?x=1", "something behind the host"),
        ("mqtt://user:se/cret@broker", "is written %2F"),
        ("mqtt://:secret@broker", "a password but no user's name"),
        ("mqtt://[::1", "mqtt.url"),
    ],
)
def test_addresses_that_cannot_be(url: str, told: str) -> None:
    with pytest.raises(SinkError) as caught:
        address(MqttSettings(url=url))
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_the_settings_win_over_the_url_and_the_environment_gives_the_password() -> None:
    config = load(environment={"TURNWATCH_MQTT__PASSWORD": "hidden"}, assignments=["mqtt.url=mqtt://a:b%40%2F@broker"])
    found = address(config.sink("mqtt"))
    assert (found.username, found.password) == ("a", "hidden")
    assert address(MqttSettings(url="mqtt://a:b%40%2F@broker")).password == "b@/"
    assert "hidden" not in repr(config.sink("mqtt")) + repr(found) + str(found)


@pytest.mark.parametrize(
    "more",
    [
        {"keepalive_s": 0},
        {"answer_within_s": 0},
        {"retry_max_s": float("nan")},
        {"state_expiry_s": 0},
        {"spool_max_items": 0},
        {"others_qos": 2},
        {"site": ""},
        {"monitor": ""},
    ],
)
def test_numbers_and_names_that_cannot_be(more: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"mqtt\.{next(iter(more))}|mqtt\.site and mqtt\.monitor"):
        MqttSettings(**more)  # type: ignore[arg-type]


def test_a_password_in_plain_text_over_the_network_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from monitor.sinks.mqtt.connection import check

    check(MqttSettings(url="mqtt://a:secret@127.0.0.1"))
    assert caplog.text == ""
    check(MqttSettings(url="mqtt://a:secret@192.0.2.7"))
    assert "in plain text" in caplog.text
    assert "secret" not in caplog.text


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    with pytest.raises(SinkError, match=r"pip install 'turnwatch\[mqtt\]'"):
        made("mqtt", MqttSettings(url="mqtt://127.0.0.1"))


@pytest.mark.parametrize("command", ["watch", "serve", "fleet"])
def test_every_command_names_the_library_that_is_missing(command: str, tmp_path: Path) -> None:
    """As where it is not installed: nothing of it may be loaded before it is asked for."""
    source = ["pcm:-"] if command == "watch" else ["--ingest", "127.0.0.1:0"] if command == "serve" else []
    more = ["--mqtt", "mqtt://127.0.0.1", "--set", f"mqtt.spool_dir={tmp_path}"]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_AIOMQTT, command, *source, *more],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert "pip install 'turnwatch[mqtt]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_folder_that_cannot_be_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    for folder in (tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(SinkError, match=rf"mqtt\.spool_dir {folder} cannot be written to: "):
            MqttSink(MqttSettings(url="mqtt://127.0.0.1", spool_dir=str(folder)))


def test_a_loop_without_add_reader_says_at_once_what_to_do(broker: Broker, tmp_path: Path) -> None:
    class WithoutReaders(asyncio.AbstractEventLoop):
        """As the proactor loop of Windows."""

    sink = MqttSink(settings(broker, tmp_path))
    opening = sink.open()
    asyncio.events._set_running_loop(WithoutReaders())
    try:
        with pytest.raises(SinkError, match=r"has none: run it in asyncio\.Runner\(loop_factory=asyncio\.Selector"):
            opening.send(None)
    finally:
        asyncio.events._set_running_loop(None)
    asyncio.run(sink.close())


def test_the_loop_of_uvloop_will_do(broker: Broker, tmp_path: Path) -> None:
    async def publish() -> None:
        async with publishing(settings(broker, tmp_path)) as sink:
            await sink.deliver(raised(1))
            await figure(sink, "delivered", 1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(publish())
