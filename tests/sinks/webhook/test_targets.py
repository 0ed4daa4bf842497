"""URLs: what they mean, which are refused, and that their secrets stay theirs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from monitor.sinks import SinkError
from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.targets import target, targets
from tests.sinks.webhook.alerts import raised, sending, sinks, until
from tests.sinks.webhook.receiver import Receiver, answer

KEY = "0123456789abcdef0123456789abcdef"
SLACK = "slack+https://hooks.slack.com/services/T00000001/B00000002/abcdefghijklmnopqrstuvwx"


def read(url: str, **settings: Any) -> Any:
    return target(url, WebhookSettings(**settings))


@pytest.mark.parametrize(
    ("url", "format", "posts_to"),
    [
        ("https://example.org", "json", "https://example.org/"),
        ("https://example.org:8443/a?b=c#d", "json", "https://example.org:8443/a?b=c"),
        ("json+https://example.org/a", "json", "https://example.org/a"),
        ("HTTPS://EXAMPLE.org/A", "json", "https://example.org/A"),
        ("https://example.org/a+b", "json", "https://example.org/a+b"),
        (SLACK, "slack", SLACK.removeprefix("slack+")),
        (f"pagerduty+https://{KEY}@events.pagerduty.com", "pagerduty", "https://events.pagerduty.com/v2/enqueue"),
        (f"pagerduty+https://{KEY}@example.org/own", "pagerduty", "https://example.org/own"),
        ("http://127.0.0.1:80/a", "json", "http://127.0.0.1:80/a"),
        ("http://[::1]:80/a", "json", "http://[::1]:80/a"),
        ("http://localhost/a", "json", "http://localhost/a"),
    ],
)
def test_a_url_says_how_and_where(url: str, format: str, posts_to: str) -> None:
    found = read(url)
    assert (found.format, found.url) == (format, posts_to)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("teams+https://example.org/secret-path", "nobody here speaks 'teams'"),
        ("ftp://example.org/secret-path", "must be https"),
        ("slack+mailto:secret-path@example.org", "must be https"),
        ("example.org/secret-path", "must be https"),
        ("https:///secret-path", "must be https"),
        ("https://example.org:99999/secret-path", "host and port"),
        ("https://[::1/secret-path", "host and port"),
        ("https://example.org/secret-path here", "plain characters"),
        ("https://example.org/secret-path\n", "plain characters"),
        ("https://exämple.org/secret-path", "plain characters"),
        ("pagerduty+https://events.pagerduty.com", "needs a routing key"),
        ("http://example.org/secret-path", "not encrypted"),
        ("slack+http://127.0.0.1.example.org/secret-path", "not encrypted"),
        ("", "must be https"),
    ],
)
def test_a_url_that_is_no_good_is_refused_without_being_shown(url: str, why: str) -> None:
    with pytest.raises(SinkError, match=r"webhook\.urls, number 1: ") as caught:
        read(url)
    assert why in str(caught.value)
    assert "secret-path" not in str(caught.value)


def test_plain_http_can_be_allowed() -> None:
    assert read("http://receiver:8080/a", allow_plain_http=True).url == "http://receiver:8080/a"


def test_a_user_and_password_log_in() -> None:
    found = read("https://me:p%40ss%3Aword@example.org/a")
    assert found.login == ("me", "p@ss:word")
    assert found.url == "https://example.org/a"


def test_the_key_of_the_url_goes_before_that_of_the_settings() -> None:
    assert read(f"pagerduty+https://{KEY}@events.pagerduty.com", pagerduty_key="other").routing_key == KEY
    assert read("pagerduty+https://events.pagerduty.com", pagerduty_key=KEY).routing_key == KEY


def test_each_target_has_a_spool_of_its_own_whose_name_tells_no_secret() -> None:
    urls = (SLACK, SLACK + "2", SLACK.removeprefix("slack+"), f"pagerduty+https://{KEY}@events.pagerduty.com", SLACK)
    names = [one.spool_name for one in targets(WebhookSettings(urls=urls))]
    assert len(set(names)) == len(names) == 4
    assert not any(secret in name for name in names for secret in (KEY, "T00000001", "abcdefgh"))


def test_sinks_are_named_by_their_hosts(tmp_path: Path) -> None:
    made = sinks(tmp_path, "http://localhost:9/a", "http://localhost:9/b", "http://127.0.0.1:9/b")
    assert [name for name, _ in made] == ["webhook:localhost:9", "webhook:localhost:9#2", "webhook:127.0.0.1:9"]
    for _, sink in made:
        sink.abandon()
    assert sinks(tmp_path) == []


def test_slack_alone_cannot_be_told_of_other_events(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="names nothing that can be said to"):
        sinks(tmp_path, SLACK, events=("call.ended",))


async def test_no_secret_comes_into_the_log_or_a_repr(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    path = "services/T00000001/abcdefghijklmnopqrstuvwx"
    quoting = answer(403, f"no such hook: /{path} for user p%40ssword and hush-hush-hush-hush".encode())
    moving = answer(301, location="https://elsewhere.example/services/T00000001/zzzzzzzzzzzz")
    async with Receiver(quoting, answer(500, path.encode()), moving, answer(200)) as receiver:
        url = receiver.url.replace("http://", "http://me:p%40ssword@").replace("hook", path)
        async with sending(tmp_path, url, secret="hush-hush-hush-hush", refused_rest_s=0.01) as sink:
            for seq in range(3):
                await sink.deliver(raised(seq))
            await until(lambda: sink.figures()["spooled"] == 0)
        told = caplog.text + repr(sink._target) + repr(sink._settings) + str(sink._spool)
    assert "it answers 403" in told
    assert receiver.requests[0].headers["authorization"].startswith("Basic ")
    for secret in ("T00000001", "abcdefgh", "p%40ss", "p@ss", "hush-hush-hush-hush", "zzzzzz"):
        assert secret not in told


def test_loopback_is_never_asked_for_by_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    ((_, sink),) = sinks(tmp_path, "http://127.0.0.1:9/a")
    sink.abandon()
    with pytest.raises(SinkError, match="proxy settings of the environment"):
        sinks(tmp_path, "https://example.org/a")


async def test_a_proxy_of_the_environment_is_used_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver(answer(407), answer(200)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/hook"))
        async with sending(tmp_path, "http://hooks.example/a", allow_plain_http=True) as sink:
            await sink.deliver(raised())
            await until(lambda: sink.figures()["delivered"] == 1)
        assert [one.line for one in proxy.requests] == ["POST http://hooks.example/a HTTP/1.1"] * 2


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"timeout_s": 0}, r"webhook\.timeout_s"),
        ({"keep_h": float("nan")}, r"webhook\.keep_h"),
        ({"events": ()}, r"webhook\.events"),
        ({"events": ("alert.rised",)}, r"webhook\.events takes one or more of alert\.cleared, alert\.raised"),
        ({"secret": "whsec_%%%"}, "not base64"),
        ({"secret": ""}, "empty"),
    ],
)
def test_settings_out_of_range_are_refused_in_words(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WebhookSettings(**settings)
