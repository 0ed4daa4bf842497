"""`[relevancy]`: what makes no sense is refused, and no secret gets onto a tape."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.core.relevancy_settings import RelevancySettings


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = RelevancySettings()
    assert (settings.window_size, settings.window_unit, settings.batch_size) == (10, "turns", 6)
    assert (settings.max_wait_s, settings.deadline_s, settings.max_in_flight) == (15.0, 20.0, 4)
    assert (settings.threshold, settings.strict_mode, settings.include_reason) == (0.5, False, True)
    assert (settings.eval_mode, settings.model, settings.system_one_model) == ("llm", "gpt-5.4", "jev-latest")
    assert settings.in_flight == 4
    assert RelevancySettings(async_mode=False).in_flight == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_size": 0},
        {"batch_size": 0},
        {"max_in_flight": 0},
        {"max_waiting": 0},
        {"max_wait_s": -1.0},
        {"max_wait_s": float("nan")},
        {"deadline_s": 0.0},
        {"deadline_s": float("inf")},
        {"threshold": 1.5},
        {"max_tokens_per_call": -1},
        {"max_requests_per_minute": -1},
        {"max_cost_per_call": 1.0},
        {"max_cost_per_call": float("nan")},
        {"usd_per_million_input_tokens": -1.0},
        {"base_url": "127.0.0.1:8000"},
        {"base_url": "ftp://127.0.0.1"},
        {"base_url": "http://127.0.0.1:port/v1"},
        {"base_url": "http://"},
        {"system_one_base_url": "http://[::1/v1"},
        {"eval_mode": "scripted"},
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).removeprefix("eval_mode") or "script"):
        RelevancySettings(**wrong)


@pytest.mark.parametrize("url", ["https://user:secret@host/v1", "https://host/v1?key=secret"])
def test_an_address_with_a_secret_in_it_is_refused_without_telling_it(url: str) -> None:
    with pytest.raises(ValueError, match="in the environment") as raised:
        RelevancySettings(base_url=url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "https://api.example.com", "http://[::1]:8000/v1", None])
def test_addresses_of_servers_are_taken(url: str | None) -> None:
    assert RelevancySettings(base_url=url, system_one_base_url=url).base_url == url


@pytest.mark.parametrize(
    ("mode", "prices"),
    [
        ("llm", ("usd_per_million_input_tokens", "usd_per_million_output_tokens")),
        (
            "system_one",
            ("system_one_usd_per_million_input_tokens", "system_one_usd_per_million_output_tokens"),
        ),
        ("local", ()),
    ],
)
def test_a_limit_to_the_cost_needs_the_prices_of_its_judge(mode: Any, prices: tuple[str, ...]) -> None:
    RelevancySettings(eval_mode=mode, max_cost_per_call=1.0, **dict.fromkeys(prices, 1.0))
    for missing in prices:
        given = dict.fromkeys(prices, 1.0) | {missing: None}
        with pytest.raises(ValueError, match=missing):
            RelevancySettings(eval_mode=mode, max_cost_per_call=1.0, **given)
