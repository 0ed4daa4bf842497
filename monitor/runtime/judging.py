"""Which judge listens: from the settings to the judge, and to the words that people are told."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, get_args

from monitor.core.relevancy_settings import EvalMode, RelevancySettings
from monitor.judges import Judge
from monitor.judges.whole import WholeJudge


class NoJudge(Exception):
    """The judge or the transcriber that the settings name cannot be had. The message says what to do."""


log = logging.getLogger("turnwatch.judge")

SCRIPTED: Final = "scripted:"
JUDGES: Final[dict[str, EvalMode]] = {"off": "off", "openai": "llm", "jev": "system_one", "local": "local"}
"""The judges by the words of the command line, beside `scripted:FILE`."""


def named(word: str) -> tuple[EvalMode, str | None]:
    """The judge that somebody means by `word`, as on the command line or as in `eval_mode`; and its script, if that is
    named. Capitals and spaces around it do not matter. Raises `ValueError`."""
    word = word.strip()
    folded = word.casefold()
    if folded.startswith(SCRIPTED):
        if not (file := word[len(SCRIPTED) :].strip()):
            raise ValueError("scripted: names no file of verdicts; it is used as in scripted:verdicts.json")
        return "scripted", file
    modes = {**JUDGES, **{mode: mode for mode in get_args(EvalMode)}}
    if folded not in modes:
        raise ValueError(f"{word} is none of {', '.join(JUDGES)}, scripted:FILE")
    return modes[folded], None


def judge_for(settings: RelevancySettings, environment: Mapping[str, str] = os.environ) -> Judge | WholeJudge | None:
    """The judge of these settings; None for `off`. Connects to nothing. Raises NoJudge. A budget that can
    mean nothing to the judge is told in the log."""
    limited = settings.max_tokens_per_call is not None or settings.max_cost_per_call is not None
    if limited and settings.eval_mode in ("local", "scripted"):
        log.warning(
            "max_tokens_per_call and max_cost_per_call limit nothing: the judge %s costs none", settings.eval_mode
        )
    match settings.eval_mode:
        case "off":
            return None
        case "scripted":
            from monitor.judges.script_file import ScriptError
            from monitor.judges.scripted import scripted_judge

            try:
                return scripted_judge(Path(settings.script or ""))
            except ScriptError as error:
                raise NoJudge(str(error)) from error
        case "local":
            if not local_available():
                raise NoJudge("the local judge is not installed: pip install 'turnwatch[local]', or --judge off")
            from monitor.judges.local import local_judge

            judge: Judge = local_judge(settings)
            return judge
        case "llm":
            from monitor.judges.openai import openai_judge

            _need_llm(settings, environment)
            return openai_judge(settings, environment)
        case "hybrid" | "system_one":
            from monitor.judges.jev import hybrid_judge, system_one_judge

            if not environment.get("TYPESAFE_API_KEY"):
                anyhow = " (any word, where the server wants none)" if settings.system_one_base_url else ""
                raise NoJudge(f"the judge jev has no key: set TYPESAFE_API_KEY{anyhow}, or choose another --judge")
            if settings.eval_mode == "system_one":
                return system_one_judge(settings, environment)
            _need_llm(settings, environment)
            from monitor.runtime.rested_jev import RestedJev

            return hybrid_judge(settings, environment, RestedJev)


def local_available() -> bool:
    """Whether the small model on this machine is installed."""
    try:
        if find_spec("monitor.judges.local") is None:
            return False
        from monitor.judges.local import local_judge_available
    except ImportError:
        return False
    return bool(local_judge_available())


def default_mode() -> EvalMode:
    """Who judges where nobody has said: the model on this machine, if it is there. No caller's words go anywhere
    unasked."""
    return "local" if local_available() else "off"


def described(settings: RelevancySettings) -> str:
    """Who listens, in a few words for people."""
    where = f" at {settings.base_url}" if settings.base_url else ""
    match settings.eval_mode:
        case "llm":
            return f"{settings.model}{where}"
        case "hybrid":
            return f"{settings.system_one_model}, the reasons by {settings.model}{where}"
        case "system_one":
            return f"{settings.system_one_model}, over the whole conversation"
        case "local":
            return "local, approximate"
        case "scripted":
            return f"verdicts from {settings.script}"
        case "off":
            near = "--judge local" if local_available() else "pip install 'turnwatch[local]'"
            return f"off (to switch it on: --judge openai with OPENAI_API_KEY, or {near})"


def _need_llm(settings: RelevancySettings, environment: Mapping[str, str]) -> None:
    """Raises NoJudge where it is clear beforehand that no answer will come."""
    if find_spec("openai") is None:
        raise NoJudge("the judge needs the openai package: pip install 'turnwatch[judge]'")
    if not (settings.base_url or environment.get("OPENAI_BASE_URL") or environment.get("OPENAI_API_KEY")):
        raise NoJudge("the judge has no key: set OPENAI_API_KEY, or --judge-base-url to a server that needs none")
