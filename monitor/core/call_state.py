"""What a call is judged by, and how it stands."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from monitor.core.events import Alert, Relevancy
from monitor.core.giving_way import TimelineSettings
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.rules.settings import RulesSettings
from monitor.core.setting_ranges import check_ranges
from monitor.core.speech import SpeechSettings
from monitor.core.turn_taking import TurnTakingSettings
from monitor.core.words import WordsSettings


class CoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the core judges by; it stands on every tape. Nobody is asked about relevancy unless it is set."""

    speech: SpeechSettings = SpeechSettings()
    timeline: TimelineSettings = TimelineSettings()
    turn_taking: TurnTakingSettings = TurnTakingSettings()
    words: WordsSettings = WordsSettings()
    relevancy: RelevancySettings = RelevancySettings(eval_mode="off")
    rules: RulesSettings = RulesSettings()

    def __post_init__(self) -> None:
        for section in ("speech", "timeline", "words"):
            check_ranges(section, getattr(self, section))


class Status(NamedTuple):
    """How a call stands at this moment, for screens. `waiting_ms`: how long the caller has been waiting for an
    answer. `relevancy`: the running score, None without a judge. `waiting_for_verdicts`: turns that the judge has been
    asked about and has not answered for; `waiting_for_words`: turns that a transcriber owes an answer for. `closing`:
    the call is over, and its last event waits for these. `alerts`: the ones that are open."""

    call: str
    now_ms: int
    speaking: tuple[str, ...]
    waiting_ms: int | None
    score: float | None
    transitions: int
    ended: bool
    relevancy: Relevancy | None = None
    waiting_for_verdicts: int = 0
    waiting_for_words: int = 0
    closing: bool = False
    alerts: tuple[Alert, ...] = ()
