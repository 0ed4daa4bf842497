"""Every rule has its group of settings, with units in the names, and what makes no sense is refused in a sentence."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
import pytest

from monitor.config import Config, ConfigError, known_keys, load
from monitor.core.measures.panel import Panel
from monitor.core.rules import RULES
from monitor.core.rules.board import RuleBoard
from monitor.core.rules.settings import RANGES, RISING, RulesSettings

KEYS = [key.removeprefix("rules.") for key in known_keys() if key.startswith("rules.")]


def test_a_rule_has_a_row_a_group_and_words_for_what_it_is() -> None:
    assert sorted(row.name for row in RULES) == sorted(RulesSettings.__struct_fields__)
    for row in RULES:
        assert row.__doc__
        group = getattr(RulesSettings(), row.name)
        assert type(group).__doc__
        assert {"enabled", "cooldown_s"} <= set(group.__struct_fields__)


def test_the_defaults_are_those_of_the_metrics() -> None:
    rules = Config().core.rules
    spike = rules.barge_in_spike
    assert (spike.warning_at, spike.critical_at, spike.clear_at, spike.cooldown_s) == (4, 5, 1, 120)
    assert spike.baseline_share == 0.10
    assert not rules.barge_in_count.enabled
    assert (rules.dead_air.warning_after_s, rules.unanswered.warning_after_s) == (4, 6)
    assert (rules.agent_talks_over.warning_overlaps, rules.agent_talks_over.window_turns) == (2, 5)
    assert (rules.slow_response.min_replies, rules.one_way_audio.warning_after_s) == (10, 30)
    on = [row.name for row in RULES if getattr(rules, row.name).enabled]
    assert len(on) == len(RULES) - 1


@pytest.mark.parametrize("key", KEYS)
def test_every_number_has_its_range_and_what_is_beyond_is_refused(key: str) -> None:
    if key.endswith(".enabled"):
        return
    low, high = RANGES[key]
    for value in (low - 1, high + 1):
        number = str(int(value)) if float(value).is_integer() else str(value)
        with pytest.raises(ConfigError, match=rf"rules\.{re.escape(key)} must be a number from .* got "):
            load(assignments=[f"rules.{key}={number}"])


PAIRS = [(group, *pair) for group, chains in RISING.items() for names in chains for pair in pairwise(names)]


@pytest.mark.parametrize(("group", "lower", "higher"), PAIRS)
def test_a_rule_that_could_never_be_raised_or_never_end_is_refused(group: str, lower: str, higher: str) -> None:
    defaults = getattr(RulesSettings(), group)
    names = next(names for names in RISING[group] if lower in names and higher in names)
    edge = getattr(defaults, higher)
    over = edge + type(edge)(1 if isinstance(edge, int) else 0.01)
    equal = dict.fromkeys(names[: names.index(lower) + 1], over) | {higher: edge}
    with pytest.raises(ValueError, match="must") as refused:
        RulesSettings(**{group: msgspec.structs.replace(defaults, **equal)})
    told = re.match(r"rules\.(\w+)\.(\w+) must (?:not be above|be under) rules\.\w+\.(\w+); got ", str(refused.value))
    assert told
    assert told.groups() in PAIRS
    assert told[1] == group


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["agent_talks_over.window_turns=1"],
            "rules.agent_talks_over.critical_overlaps must not be above rules.agent_talks_over.window_turns; "
            "got 4 and 1",
        ),
        (
            ["slow_response.window_replies=5"],
            "rules.slow_response.min_replies must not be above rules.slow_response.window_replies; got 10 and 5",
        ),
        (
            ["barge_in_count.clear_barge_ins=3"],
            "rules.barge_in_count.clear_barge_ins must be under rules.barge_in_count.barge_ins; got 3 and 3",
        ),
        (
            ["agent_talks_over.clear_overlaps=2"],
            "rules.agent_talks_over.clear_overlaps must be under rules.agent_talks_over.warning_overlaps; got 2 and 2",
        ),
        (
            ["low_relevancy.warning_score=0.8"],
            "rules.low_relevancy.warning_score must not be above rules.low_relevancy.clear_score; got 0.8 and 0.7",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_with_both_keys(given: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(assignments=[f"rules.{one}" for one in given])
    assert str(refused.value) == said


def test_telephones_may_ring_for_longer_than_is_critical_later() -> None:
    assert load(assignments=["rules.dead_air.warning_at_start_s=60"]).core.rules.dead_air.critical_after_s == 15


def test_a_rule_is_set_in_a_file_the_environment_and_on_the_command_line(tmp_path) -> None:
    file = tmp_path / "turnwatch.toml"
    file.write_text("[rules.dead_air]\nwarning_after_s = 5\n[rules.barge_in_count]\nenabled = true\n")
    config = load(file, {"TURNWATCH_RULES__UNANSWERED__ENABLED": "false"}, ["rules.barge_in_spike.warning_at=4.5"])
    rules = config.core.rules
    assert (rules.dead_air.warning_after_s, rules.dead_air.critical_after_s) == (5.0, 15.0)
    assert (rules.barge_in_count.enabled, rules.unanswered.enabled) == (True, False)
    assert rules.barge_in_spike.warning_at == 4.5


def test_a_rule_that_is_off_is_not_there() -> None:
    settings = load(assignments=[f"rules.{row.name}.enabled=false" for row in RULES]).core.rules
    board = RuleBoard(settings, "call", ("caller", "agent"), Panel(("caller", "agent")))
    assert (board.open, board.counts, board.wake) == ((), {}, None)
