"""Turnwatch's scores of the demo call beside DeepEval's own, over the very same turns and verdicts.

    pip install deepeval==4.3.1
    python -m tests.benchmarks.deepeval_beside

DeepEval is needed by this check alone. Nobody is asked over the network: Turnwatch's judge is a script, and the model
that DeepEval asks gives back the verdicts which that judge gave. It knows them by the whole window they were given in,
so a window that Turnwatch did not ask about is an error. Exit code 1 where a figure differs by more than 1e-9.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from monitor.config import Config
from monitor.core.events import CallEnded, Event, RelevancyJudged, Turn, TurnEnded, TurnText
from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.scripted import Script, Scripted
from monitor.runtime.demo import run_demo

NEAR = 1e-9
SCRIPT = Script(
    verdicts=[
        Scripted("no", text="depot is open from eight", reason="the caller asked for a refund"),
        Scripted("no", order=0, reason="so that windows of any size have a no in them"),
    ],
    otherwise="yes",
)
Window = tuple[tuple[str, str], ...]
"""(role, text) of each turn of a window, the judged one the last."""


class Watched(NamedTuple):
    """What Turnwatch told of one call: its turns with their last words, in order; the verdicts; the summary."""

    turns: list[Turn]
    judged: list[RelevancyJudged]
    summary: dict[str, Any]

    @property
    def without_backchannels(self) -> list[Turn]:
        return [turn for turn in self.turns if not turn.backchannel]

    @property
    def verdicts(self) -> dict[Window, str]:
        """The verdict on each window that the judge was shown."""
        words = {turn.index: (str(turn.role), turn.text or "") for turn in self.turns}
        return {tuple(words[index] for index in one.window): one.verdict for one in self.judged}


async def _watched(window_size: int) -> Watched:
    """Hold the demo call as fast as it goes, judged in windows of so many interactions."""
    turns: dict[int, Turn] = {}
    judged: list[RelevancyJudged] = []
    summaries: list[dict[str, Any]] = []

    async def deliver(event: Event) -> None:
        match event:
            case TurnEnded():
                turns[event.turn.index] = event.turn
            case TurnText() if event.turn.index in turns:
                turns[event.turn.index] = msgspec.structs.replace(turns[event.turn.index], text=event.text)
            case RelevancyJudged():
                judged.append(event)
            case CallEnded():
                summaries.append(event.summary)

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "verdicts.json"
        script.write_bytes(msgspec.json.encode(SCRIPT))
        relevancy = RelevancySettings(
            eval_mode="scripted", script=str(script), window_unit="interactions", window_size=window_size
        )
        await run_demo(deliver, Config(relevancy=relevancy), speed=None)
    return Watched([turns[index] for index in sorted(turns)], judged, summaries[0])


def _model(verdicts: dict[Window, str]) -> Any:
    """A model for DeepEval that has the verdicts. `asked`: the windows that it was asked about."""
    base: Any = importlib.import_module("deepeval.models").DeepEvalBaseLLM

    class GivenVerdicts(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self.asked: list[Window] = []
            super().__init__("verdicts-of-turnwatch")

        def load_model(self) -> GivenVerdicts:
            return self

        def get_model_name(self) -> str:
            return "verdicts-of-turnwatch"

        def generate(self, prompt: str) -> str:
            """The verdict, as the JSON that the prompt asks for. Raises `KeyError` for an unknown window."""
            messages = ast.literal_eval(prompt.rpartition("\nMessages:\n")[2].rpartition("\n\nJSON:")[0])
            window = tuple((message["role"], message["content"]) for message in messages)
            self.asked.append(window)
            return json.dumps({"verdict": verdicts[window], "reason": None})

        async def a_generate(self, prompt: str) -> str:
            return self.generate(prompt)

    return GivenVerdicts()


def _case(turns: Sequence[Turn]) -> Any:
    """The turns as DeepEval takes them. Its turn-taking goes by start and duration; the sound is not looked at, but an
    `Audio` without any is refused."""
    cases: Any = importlib.import_module("deepeval.test_case")
    return cases.ConversationalTestCase(
        turns=[
            cases.Turn(
                role=turn.role,
                content=turn.text or "",
                audio=cases.Audio(
                    dataBase64="AAAA", mimeType="audio/wav", start_time=turn.start_time, duration=turn.duration
                ),
            )
            for turn in turns
        ]
    )


def _turn_taking(turns: Sequence[Turn]) -> tuple[float, float]:
    """DeepEval's score, and the mean of the transitions that it goes by."""
    metric: Any = importlib.import_module("deepeval.metrics.voice.turn_taking").TurnTakingNaturalnessMetric()
    score = metric.measure(_case(turns), _show_indicator=False)
    return score, statistics.fmean(one["score"] for one in metric.score_breakdown["transitions"])


def _relevancy(watched: Watched, window_size: int) -> tuple[float, int]:
    """DeepEval's score, and how many windows it asked about."""
    metrics: Any = importlib.import_module("deepeval.metrics")
    model = _model(watched.verdicts)
    metric = metrics.TurnRelevancyMetric(
        model=model, eval_mode="llm", include_reason=False, async_mode=False, window_size=window_size
    )
    score = metric.measure(_case(watched.without_backchannels), _show_indicator=False)
    return score, len(model.asked)


def _rows(watched: Watched, window_size: int) -> list[tuple[str, float, float]]:
    """(what, Turnwatch's figure, DeepEval's)."""
    told, relevancy = watched.summary["turn_taking"], watched.summary["relevancy"]
    batch = TurnTakingNaturalness()
    batch.measure(watched.turns)
    score, mean = _turn_taking(watched.without_backchannels)
    score_all, mean_all = _turn_taking(watched.turns)
    relevant, asked = _relevancy(watched, window_size)
    return [
        ("turn-taking, score_with_consistency", told["score_with_consistency"], score),
        ("turn-taking, score (mean of transitions)", told["score"], mean),
        ("turn-taking, score_all_turns (mean)", told["score_all_turns"], mean_all),
        ("turn-taking, all turns, with consistency", batch.score_with_consistency or 0.0, score_all),
        ("relevancy, score", relevancy["score"], relevant),
        ("relevancy, windows judged", relevancy["judged"], asked),
    ]


def main() -> int:
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    if importlib.util.find_spec("deepeval") is None:
        print("DeepEval is not installed here, and this check compares with it: pip install deepeval==4.3.1")
        return 2
    agreed = True
    for window_size in (10, 2):
        watched = asyncio.run(_watched(window_size))
        print(f"the demo call, {len(watched.turns)} turns, windows of {window_size} interactions")
        print(f"  {'':42}{'Turnwatch':>20}{'DeepEval':>20}")
        for what, ours, theirs in _rows(watched, window_size):
            same = abs(ours - theirs) <= NEAR
            agreed &= same
            print(f"  {what:42}{ours:20.15g}{theirs:20.15g}  {'agree' if same else 'DIFFER'}")
    print("all agree within 1e-9" if agreed else "they do not agree")
    return 0 if agreed else 1


if __name__ == "__main__":
    raise SystemExit(main())
