"""The configuration file with every key: made from the settings, whole, and true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.config import Config, known_keys, load, sections
from monitor.config_file import default_of, is_secret, render, toml
from monitor.config_words import explained
from tests.deploy.places import DEPLOY

FILE = DEPLOY / "turnwatch.toml"
ENTRY = re.compile(r"^#(\w+) =(?: (.*))?$")


def entries(text: str) -> dict[str, tuple[str | None, list[str]]]:
    """`section.key` -> (its default as it is written, the lines of its explanation)."""
    found: dict[str, tuple[str | None, list[str]]] = {}
    place, words = "", list[str]()
    for line in text.splitlines():
        if line.startswith("["):
            place = line.strip("[]")
        elif (entry := ENTRY.match(line)) is not None:
            found[f"{place}.{entry[1]}"] = (entry[2], words)
            words = []
        elif line.startswith("# "):
            words.append(line.removeprefix("# "))
        elif not line:
            words = []
    return found


def defaults() -> dict[str, Any]:
    """Every key's default, from the settings themselves."""
    config = Config()
    made = {name: getattr(config, name) if name in config.__struct_fields__ else None for name in sections()}
    found = {}
    for key in known_keys():
        section, *path = key.split(".")
        value: Any = made[section] if made[section] is not None else sections()[section]()
        for part in path:
            value = getattr(value, part)
        found[key] = value
    return found


def test_the_file_is_as_the_settings_make_it() -> None:
    assert FILE.read_text("utf-8") == render(), "run: python -m monitor.config_file > deploy/turnwatch.toml"


def test_as_it_is_it_changes_nothing() -> None:
    assert load(FILE) == Config()


def test_every_key_is_in_it_with_its_default_and_in_words() -> None:
    found = entries(FILE.read_text("utf-8"))
    assert sorted(found) == sorted(known_keys())
    for key, default in defaults().items():
        written, words = found[key]
        assert written == (None if default is None else toml(default)), key
        explanation, takes = " ".join(words[:-1]), words[-1]
        assert len(explanation.split()) >= 2, f"{key} is explained by {explanation!r}"
        assert takes.endswith("."), key
        assert "`" not in explanation


def test_every_default_may_be_written_out(tmp_path: Path) -> None:
    text = FILE.read_text("utf-8")
    file = tmp_path / "all.toml"
    file.write_text(re.sub(r"(?m)^#(\w+ = .*)$", r"\1", text), "utf-8")
    config = load(file)
    for name, kind in sections().items():
        if name in config.__struct_fields__:
            assert getattr(config, name) == getattr(Config(), name)
        else:
            given = (config.connectors | config.sinks)[name]
            assert kind(**given) == kind(), name


def test_a_key_taken_into_use_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE.read_text("utf-8").replace("#open_ms = 60", "open_ms = 80"), "utf-8")
    assert load(file).speech.open_ms == 80


def test_secrets_are_named_as_such_and_numbers_are_not() -> None:
    text = FILE.read_text("utf-8")
    assert "Better in the environment: TURNWATCH_TWILIO__AUTH_TOKEN." in text
    assert "MAX_TOKENS_PER_CALL" not in text
    assert not is_secret("key_file", str)
    assert is_secret("password", str | None)


class Explained(msgspec.Struct, frozen=True):
    """About all. Raises `ValueError` if it must.

    Of the first. `a`: one thing (`b` is another). `b`, `c` (both in ms): edges; None for no edge.

    The end stands for itself; see `a`.
    """

    a: int = 1
    b: int = 2
    c: int = 3
    d: int = 4
    "what stands under a field"
    e: list[str] = msgspec.field(default_factory=lambda: ["x"])


def test_explanations_are_read_from_docstrings() -> None:
    words = explained(Explained)
    assert words.about == "About all. The end stands for itself; see `a`."
    assert words.leads == {"a": "Of the first."}
    assert words.keys == {
        "a": "One thing (`b` is another).",
        "b": "Edges; null for no edge.",
        "c": "Both in ms; edges; null for no edge.",
        "d": "What stands under a field.",
    }
    assert default_of(Explained, "e") == ["x"]


def test_a_key_that_nobody_explains_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.config_file.sections", lambda: {"strange": Explained})
    with pytest.raises(ValueError, match=r"strange\.e has no explanation: put `e`: \.\.\. into the docstring"):
        render()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (5, "5"),
        (0.5, "0.5"),
        ('a "b" \\ ä', '"a \\"b\\" \\\\ ä"'),
        (("a", "b"), '["a", "b"]'),
        ({}, "{}"),
        ({"a b": 1}, '{ "a b" = 1 }'),
    ],
)
def test_values_are_written_as_toml(value: object, written: str) -> None:
    import tomllib

    assert toml(value) == written
    read = tomllib.loads(f"x = {written}")["x"]
    assert read == (list(value) if isinstance(value, tuple) else value)
