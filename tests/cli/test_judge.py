"""Who judges relevancy, as it is said on the command line and in the environment."""

from __future__ import annotations

import argparse
import json
import signal
import time
from pathlib import Path

import pytest

from monitor.commands import options
from monitor.commands.failure import Failure
from monitor.core.relevancy_settings import RelevancySettings
from tests.cli.process import LIMIT_S, events, run, start
from tests.judges.loopback import unused_address

REFUND = 13


def script(folder: Path, **more: object) -> Path:
    file = folder / "verdicts.json"
    no = {"text": "open from eight", "verdict": "no", "reason": "a refund was asked for"}
    file.write_text(json.dumps({"verdicts": [no], "otherwise": "yes", **more}))
    return file


def settings(*arguments: str) -> RelevancySettings:
    parser = argparse.ArgumentParser()
    options.add_judge(parser)
    options.add_output(parser)
    return options.config(parser.parse_args(arguments)).relevancy


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (["--judge", "off"], "off"),
        (["--judge", "openai"], "llm"),
        (["--judge", "jev"], "system_one"),
        (["--judge", "jev", "--set", "relevancy.eval_mode=hybrid"], "hybrid"),
        (["--judge", "openai", "--set", "relevancy.eval_mode=hybrid"], "llm"),
        (["--judge", "local"], "local"),
        (["--judge-base-url", "http://127.0.0.1:1/v1"], "llm"),
        (["--judge-model", "gpt-5.4-mini"], "llm"),
        (["--set", "relevancy.eval_mode=llm"], "llm"),
    ],
)
def test_the_judge_that_was_asked_for(arguments: list[str], mode: str) -> None:
    assert settings(*arguments).eval_mode == mode


def test_a_model_and_an_address_go_to_the_judge_that_they_are_for() -> None:
    given = ("--judge-model", "m", "--judge-base-url", "http://127.0.0.1:1/v1")
    llm = settings("--judge", "openai", *given)
    assert (llm.model, llm.base_url, llm.system_one_base_url) == ("m", "http://127.0.0.1:1/v1", None)
    jev = settings("--judge", "jev", *given)
    assert (jev.system_one_model, jev.system_one_base_url, jev.base_url) == ("m", "http://127.0.0.1:1/v1", None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "local", "--judge-base-url", "http://127.0.0.1:1/v1"], "the local judge has its own model"),
        (["--judge", "local", "--judge-model", "foo"], "--judge-model foo: the local judge has its own model"),
        (["--judge", "off", "--judge-model", "foo"], "--judge-model foo: nobody judges"),
        (["--judge", "scripted:x.json", "--judge-model", "foo"], "--judge-model foo: a scripted judge has neither"),
        (["--set", "relevancy.eval_mode=scripted:/x"], "is named by --judge scripted:/x"),
        (["--set", "relevancy.eval_mode=gpt"], "it takes one of llm, hybrid, system_one, local, scripted, off"),
    ],
)
def test_what_nobody_would_read_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(Failure, match=words):
        settings(*arguments)


def test_no_words_go_anywhere_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("TYPESAFE_API_KEY", "another")
    assert settings().eval_mode in ("local", "off")
    assert settings("--set", "relevancy.batch_size=3").eval_mode in ("local", "off")


def test_the_environment_names_the_judge_where_no_setting_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", "hybrid")
    assert settings().eval_mode == "hybrid"
    assert settings("--judge", "off").eval_mode == "off"
    monkeypatch.setenv("TURNWATCH_RELEVANCY__EVAL_MODE", "off")
    assert settings().eval_mode == "off"
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", "gpt")
    with pytest.raises(Failure, match="TURNWATCH_EVAL_MODE=gpt: it takes one of llm, hybrid"):
        settings()
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", "scripted:")
    with pytest.raises(Failure, match="TURNWATCH_EVAL_MODE: scripted: names no file of verdicts"):
        settings()


@pytest.mark.parametrize("word", ["llm", "LLM", " Llm ", "OpenAI"])
def test_capitals_do_not_matter_in_the_environment(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", word)
    assert settings().eval_mode == "llm"


def test_the_environment_may_name_a_file_of_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = script(tmp_path)
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", f"scripted:{file}")
    assert (settings().eval_mode, settings().script) == ("scripted", str(file))
    assert settings("--judge", "off").eval_mode == "off"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "gpt"], "gpt is none of off, openai, jev, local, scripted:FILE"),
        (["--judge", "scripted"], "scripted is none of off, openai, jev, local, scripted:FILE"),
        (["--judge", "scripted:"], "scripted: names no file of verdicts; it is used as in scripted:verdicts.json"),
        (["--set", "transcriber.kind=scripted:"], "kind scripted: names no file of words"),
        (["--judge", "scripted:/nowhere.json"], "cannot read the script of verdicts /nowhere.json"),
        (["--judge", "openai"], "the judge has no key: set OPENAI_API_KEY"),
        (["--judge", "jev"], "set TYPESAFE_API_KEY"),
        (["--judge-base-url", "http://me:pass@host/v1"], "holds a password"),
        (["--judge", "jev", "--judge-base-url", "http://127.0.0.1:1"], "set TYPESAFE_API_KEY (any word"),
        (["--set", "transcriber.kind=openai"], "the transcriber has no key: set OPENAI_API_KEY"),
        (["--set", "transcriber.kind=whisper", "--set", "transcriber.model=/nonexistent"], "/nonexistent is no folder"),
    ],
)
def test_a_judge_that_cannot_be_had_is_told_at_once(recording: Path, arguments: list[str], words: str) -> None:
    keys = {"OPENAI_API_KEY": "", "TYPESAFE_API_KEY": "", "OPENAI_BASE_URL": ""}
    for command in (["watch", f"wav:{recording}"], ["demo"], ["serve", "--ingest", "127.0.0.1:0"]):
        done = run(*command, *arguments, **keys)
        assert (done.returncode, done.stdout) == (2, b"")
        assert words in done.stderr.decode()
        assert done.stderr.count(b"\n") == 1


def test_the_demo_with_verdicts_from_a_file(tmp_path: Path) -> None:
    judge = f"scripted:{script(tmp_path, delay_s=0.1)}"
    done = run("demo", "--speed", "max", "--json", "--judge", judge, "--tape", str(tmp_path / "tapes"))
    assert (done.returncode, done.stderr) == (0, b"")
    told = events(done.stdout)
    noes = [event for event in told if event["type"] == "relevancy.judged" and event["verdict"] == "no"]
    assert [(event["turn"]["index"], event["reason"]) for event in noes] == [(REFUND, "a refund was asked for")]
    found = told[-1]["summary"]["relevancy"]
    assert (found["score"], found["judged"], found["unscored"], found["requests"]) == (7 / 8, 8, 0, 3)
    # The tape needs no judge: the file of verdicts is gone.
    (tmp_path / "verdicts.json").unlink()
    (tape,) = (tmp_path / "tapes").iterdir()
    assert run("watch", f"tape:{tape}", "--speed", "max", "--json").stdout == done.stdout


def test_people_are_told_who_judges_and_what_was_said(tmp_path: Path) -> None:
    file = script(tmp_path)
    done = run("demo", "--speed", "max", "--judge", f"scripted:{file}", PYTHONIOENCODING="utf-8")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == f"relevancy: verdicts from {file}"
    assert sum("✓ to the point" in line for line in lines) == 7
    (no,) = (line for line in lines if "✗" in line)
    assert "beside the point: a refund was asked for" in no
    assert "Our depot is open from eight to six" in no
    assert any(line.strip().startswith("relevancy      0.88  7 of 8 answers to the point") for line in lines)
    off = run("demo", "--speed", "max", "--judge", "off", PYTHONIOENCODING="utf-8").stdout.decode()
    assert off.startswith("relevancy: off (to switch it on:")
    assert "to the point" not in off


def test_a_judge_that_is_out_of_reach_costs_the_watch_a_moment_and_is_told_once() -> None:
    address = f"{unused_address()}/v1"
    began = time.monotonic()
    done = run("demo", "--speed", "max", "--json", "--judge-base-url", address, "--set", "relevancy.batch_size=1")
    assert time.monotonic() - began < 15
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"turnwatch: the judge gpt-5.4 fails: {address} cannot be reached")
    assert "check base_url and the network" in line
    summary = events(done.stdout)[-1]["summary"]
    found = summary["relevancy"]
    assert (found["score"], found["success"], found["unscored"], found["requests"]) == (None, None, 8, 3)
    assert summary["notices"]["judge_unavailable"] == 1
    assert summary["turn_taking"]["score"] is not None


def test_ctrl_c_does_not_wait_for_a_judge(tmp_path: Path) -> None:
    judge = f"scripted:{script(tmp_path, delay_s=60)}"
    process = start("demo", "--speed", "max", "--json", "--judge", judge)
    assert process.stdout is not None
    got = b""
    while b'"index":3' not in got:  # soon after it, the first turns are asked about
        got += process.stdout.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    rest, stderr = process.communicate(timeout=LIMIT_S)
    assert time.monotonic() - began < 5
    assert (process.returncode, stderr) == (130, b"")
    told = events(got + rest)
    assert told[-1]["type"] == "call.ended"
    verdicts = {event["verdict"] for event in told if event["type"] == "relevancy.judged"}
    assert verdicts == {"unscored"}
