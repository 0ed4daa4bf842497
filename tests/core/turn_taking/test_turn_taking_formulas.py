"""The formulas at points that anybody can check by hand."""

from __future__ import annotations

import math

import msgspec
import pytest

from monitor.core.turn_taking import (
    TurnTakingSettings,
    consistency_score,
    spread,
    transition_kind,
    transition_score,
    verdict,
    with_consistency,
)


@pytest.mark.parametrize(
    ("from_role", "to_role", "gap", "kind"),
    [
        ("user", "assistant", 0, "gap"),
        ("assistant", "user", 0, "gap"),
        ("user", "assistant", 1, "gap"),
        ("assistant", "user", -1, "user_barge_in"),
        ("user", "assistant", -1, "agent_overlap"),
        ("user", "assistant", -1e-3, "agent_overlap"),
    ],
)
def test_who_comes_in_on_whom_names_the_transition(from_role, to_role, gap, kind):
    assert transition_kind(from_role, to_role, gap) == kind


def test_one_party_does_not_pass_the_floor_to_itself():
    with pytest.raises(ValueError, match="two user turns in a row"):
        transition_kind("user", "user", 1)


@pytest.mark.parametrize(
    ("kind", "gap", "score"),
    [
        ("gap", 0.0, 1.0),
        ("gap", 2.5, math.exp(-1)),
        ("gap", 1.7, 0.5066169923655895),
        ("gap", 4.0, 0.20189651799465538),
        ("user_barge_in", -2.0, math.exp(-1)),
        ("user_barge_in", -0.5, 0.7788007830714049),
        ("agent_overlap", -0.6, math.exp(-1)),
        ("agent_overlap", -0.5, 0.4345982085070782),
        ("gap", 3600.0, 0.0),
    ],
)
def test_a_transition_decays_with_its_length(kind, gap, score):
    assert transition_score(kind, gap) == pytest.approx(score, abs=1e-12)


def test_consistency_counts_from_three_delays_on():
    assert with_consistency(0.5, 2, 9.0) == 0.5
    assert with_consistency(0.5, 3, 2.0) == pytest.approx(0.8 * 0.5 + 0.2 * math.exp(-1), abs=1e-12)
    assert consistency_score(0.0) == 1.0


def test_spread_is_the_population_standard_deviation():
    assert spread(4, 2 + 4 + 4 + 6, 4 + 16 + 16 + 36) == pytest.approx(math.sqrt(2), abs=1e-12)
    huge = 10**9  # the same delay ten thousand times: floats would lose the difference of two such sums
    assert spread(10_000, 10_000 * huge, 10_000 * huge * huge) == 0.0


def test_options_decide_what_a_score_is_worth():
    assert verdict(0.5, 0.5, False) == (0.5, True)
    assert verdict(0.49, 0.5, False) == (0.49, False)
    assert verdict(0.49, None, False) == (0.49, None)
    assert verdict(0.999, 0.2, True) == (0.0, False)
    assert verdict(1.0, None, True) == (1.0, True)


def test_settings_are_read_from_a_table_and_refuse_nonsense():
    settings = msgspec.convert({"threshold": 0.8, "count_backchannels": True}, TurnTakingSettings)
    assert settings == TurnTakingSettings(threshold=0.8, count_backchannels=True)
    with pytest.raises(msgspec.ValidationError, match="between 0 and 1"):
        msgspec.convert({"threshold": 50.0}, TurnTakingSettings)
    with pytest.raises(ValueError, match="between 0 and 1"):
        TurnTakingSettings(threshold=float("nan"))
