"""What was usual for each agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.sinks.history.baselines import Baselines
from monitor.sinks.history.schema import connect
from tests import builders
from tests.sinks.history.told import keep


@pytest.fixture
def known(tmp_path: Path) -> Iterator[Baselines]:
    with closing(connect(tmp_path / "h.db", busy_ms=1000)) as file:
        yield Baselines(file)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def test_an_agent_that_nobody_knows_has_nothing(known: Baselines) -> None:
    assert known.counts("bot") == (0, 0, 0)
    assert known.fleet_counts() == (0, 0, 0)
    assert known.by_hour_of_week("bot") == {}
    assert known.agents() == []


def test_calls_add_up_by_agent_and_over_all(known: Baselines) -> None:
    known.record("bot", "a", 1000, 10, 1)
    known.record("bot", "b", 2000, 20, 4)
    known.record("other", "c", 3000, 5, 0)
    assert known.counts("bot") == (30, 5, 2)
    assert known.fleet_counts() == (35, 5, 3)
    assert known.agents() == ["other", "bot"]
    assert known.agents(1) == ["other"]


def test_only_the_last_calls_are_looked_at(known: Baselines) -> None:
    for number in range(10):
        known.record("bot", str(number), number, 1 + number, number)
    assert known.counts("bot", calls=2) == (19, 17, 2)
    assert known.fleet_counts(calls=1) == (10, 9, 1)


def test_a_call_counts_once_as_it_was_last_told(known: Baselines) -> None:
    known.record("bot", "a", 1000, 10, 1)
    known.record("bot", "a", 1500, 12, 2)
    known.record_if_new("bot", "a", 1500, 99, 9)
    known.record_if_new("bot", "b", 1500, 1, 1)
    assert known.counts("bot") == (13, 3, 2)


def test_a_call_without_agent_turns_says_nothing(known: Baselines) -> None:
    known.record("bot", "a", 1000, 0, 0)
    known.record_if_new("bot", "b", 1000, 0, 0)
    assert known.counts("bot") == (0, 0, 0)


@pytest.mark.parametrize(
    ("time", "hour"),
    [
        ("2026-02-02T00:00:00", 0),  # a Monday
        ("2026-02-02T00:59:59", 0),
        ("2026-02-02T01:00:00", 1),
        ("2026-02-08T23:59:59", 167),
        ("1970-01-01T00:00:00", 72),
    ],
)
def test_hours_of_the_week_begin_on_monday_in_utc(time: str, hour: int, known: Baselines) -> None:
    known.record("bot", "a", at(time), 10, 1)
    assert known.by_hour_of_week("bot") == {hour: (10, 1, 1)}


def test_a_state_is_kept_by_name(known: Baselines) -> None:
    assert known.state("fleet") is None
    known.set_state("fleet", b"\0one")
    known.set_state("fleet", b"two")
    known.set_state("other", b"three")
    assert (known.state("fleet"), known.state("other")) == (b"two", b"three")
    known.set_state("fleet", None)
    assert known.state("fleet") is None


@pytest.mark.parametrize("teaches", [True, False])
async def test_a_finished_call_teaches_its_agents_baseline(teaches: bool, tmp_path: Path) -> None:
    from msgspec.structs import replace

    speech = builders.speech
    said = [speech("agent", 500, 4000), speech("caller", 2500, 5500), speech("agent", 6000, 8000)]
    first, *rest = builders.watch(builders.call(*said))
    told = [replace(first, agent_id="bot"), *rest]
    for _ in range(2):
        await keep(tmp_path / "h.db", told, keep_days=None, teach_baselines=teaches)
    cut_short = [replace(event, call="more") for event in told[:-1]]
    await keep(tmp_path / "h.db", cut_short, keep_days=None, teach_baselines=teaches)
    with closing(connect(tmp_path / "h.db", busy_ms=1000)) as file:
        assert Baselines(file).counts("bot") == ((2, 1, 1) if teaches else (0, 0, 0))


async def test_calls_without_a_known_agent_teach_nothing(tmp_path: Path) -> None:
    speech = builders.speech
    await keep(tmp_path / "h.db", builders.watch(builders.call(speech("agent", 500, 4000))))
    with closing(connect(tmp_path / "h.db", busy_ms=1000)) as file:
        assert Baselines(file).fleet_counts() == (0, 0, 0)
