"""Audio without words: a transcriber writes them down, then the judge has something to judge."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from connectors.inputs import Input, Text
from monitor.config import Config, ConfigError, load
from monitor.core import events
from monitor.core.encode import encode
from monitor.runtime.tape import Tape
from monitor.runtime.watch import watch
from tests.runtime.judging.calls import ASSISTANT_TURNS, Live, demo_call, heard, script, summary, timeline, verdicts
from tests.runtime.sources import Script


def without_words() -> list[Input]:
    """The demo call as a telephone line carries it: sound alone."""
    return [given for given in demo_call() if not isinstance(given, Text)]


def writing(folder: Path, **more: object) -> Config:
    """A scripted transcriber, and a scripted judge behind it."""
    file = folder / "words.json"
    said = [{"turn": 12, "text": "What about a refund?"}, {"turn": 13, "text": "We are open from eight."}]
    file.write_text(json.dumps({"words": said, "otherwise": "Some words.", **more}))
    return load(
        assignments=[
            f"transcriber.kind=scripted:{file}",
            "relevancy.eval_mode=scripted",
            f"relevancy.script={script(folder)}",
        ]
    )


@pytest.mark.parametrize("live", [True, False])
async def test_every_turn_gets_its_words_and_then_its_verdict(live: bool, tmp_path: Path) -> None:
    source = Live(without_words()) if live else Script(without_words())
    told = await heard(watch(source, config=writing(tmp_path, delay_s=0.05), speed=None, tape_dir=tmp_path / "tapes"))
    worded = {event.turn.index: event.text for event in told if isinstance(event, events.TurnText)}
    assert set(worded) >= {*ASSISTANT_TURNS, 12}
    assert worded[12] == "What about a refund?"
    assert verdicts(told) == {index: "no" if index == 13 else "yes" for index in ASSISTANT_TURNS}
    (tape,) = (tmp_path / "tapes").iterdir()
    assert [encode(event) for event in await heard(watch(Tape(tape), speed=None))] == [encode(event) for event in told]


async def test_a_transcriber_that_never_answers_costs_the_timeline_nothing(tmp_path: Path) -> None:
    config = writing(tmp_path, delay_s=60)
    slow = msgspec.structs.replace(config.transcriber, deadline_s=0.5)
    told = await heard(watch(Live(without_words()), config=msgspec.structs.replace(config, transcriber=slow)))
    assert [one.turn.start_ms for one in timeline(told) if isinstance(one, events.TurnStarted)] == [
        one.turn.start_ms
        for one in timeline(await heard(watch(Live(without_words()), config=Config())))
        if isinstance(one, events.TurnStarted)
    ]
    assert summary(told)["score"] is None


async def test_nobody_listens_in_unasked() -> None:
    assert not Config().transcriber.enabled
    assert not Config().core.words.transcribed


def test_what_follows_from_the_transcriber_is_not_set_by_hand() -> None:
    with pytest.raises(ConfigError, match=r"words\.transcribed is set by itself"):
        load(assignments=["words.transcribed=true"])
