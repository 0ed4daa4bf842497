"""`[transcriber]`, and words from a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.script_file import ScriptError
from monitor.transcribers import TranscribeFailure, new_transcriber
from monitor.transcribers.settings import TranscriberSettings, check_budget
from tests.transcribers.turns import finished


def test_there_is_no_transcriber_unless_one_is_asked_for() -> None:
    assert not TranscriberSettings().enabled
    assert TranscriberSettings(kind="scripted:words.json").script == "words.json"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "on"},
        {"kind": "scripted:"},
        {"max_in_flight": 0},
        {"max_waiting": 0},
        {"deadline_s": 0},
        {"deadline_s": float("nan")},
        {"usd_per_minute": -1},
        {"usd_per_minute": float("nan")},
        {"base_url": "ftp://models"},
        {"base_url": "https://user:secret@models/v1"},
    ],
)
def test_a_value_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))) as raised:
        TranscriberSettings(**wrong)
    assert "secret" not in str(raised.value)


def test_a_limit_to_the_cost_needs_the_price() -> None:
    limited = RelevancySettings(eval_mode="off", max_cost_per_call=0.5)
    with pytest.raises(ValueError, match="usd_per_minute"):
        check_budget(TranscriberSettings(kind="openai"), limited)
    check_budget(TranscriberSettings(kind="openai", usd_per_minute=0.003), limited)
    check_budget(TranscriberSettings(kind="whisper"), limited)
    check_budget(TranscriberSettings(kind="openai"), RelevancySettings(eval_mode="off"))


async def test_a_script_says_what_turns_say_and_which_fail(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    failures = [{"turn": 3, "kind": "rate_limit", "retry_after_s": 2, "times": 1}]
    file.write_text(json.dumps({"words": [{"turn": 1, "text": "Hello"}], "otherwise": "Mm", "failures": failures}))
    transcriber = new_transcriber(TranscriberSettings(kind=f"scripted:{file}"))
    assert transcriber is not None
    found = await transcriber.transcribe(finished(1))
    assert (found.text, found.cost_usd, found.seconds) == ("Hello", 0.0, 1.5)
    assert (await transcriber.transcribe(finished(2))).text == "Mm"
    with pytest.raises(TranscribeFailure) as raised:
        await transcriber.transcribe(finished(3))
    assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limit", 2)
    assert (await transcriber.transcribe(finished(3))).text == "Mm"
    await transcriber.close()


@pytest.mark.parametrize(
    "content", ["{", '{"delay_s": -1}', '{"words": [{"turn": "one", "text": ""}]}', '{"verdicts": []}', "\xff"]
)
def test_a_script_that_is_none_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "words.json"
    file.write_text(content, "latin-1")
    for path in (file, tmp_path / "nothing.json"):
        with pytest.raises(ScriptError) as raised:
            new_transcriber(TranscriberSettings(kind=f"scripted:{path}"))
        assert "\n" not in str(raised.value)
