"""What holds for every file: a size that can be read at a sitting, a name that says something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = sorted(path for folder in ("monitor", "connectors", "tests") for path in (ROOT / folder).rglob("*.py"))
MAX_LINES = 250
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "misc", "base_utils"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", CODE, ids=name)
def test_a_file_can_be_read_at_a_sitting(path: Path) -> None:
    lines = path.read_text("utf-8").count("\n")
    assert lines <= MAX_LINES


@pytest.mark.parametrize("path", CODE, ids=name)
def test_a_name_says_what_is_inside(path: Path) -> None:
    assert not VAGUE & {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}


@pytest.mark.parametrize("path", [path for path in CODE if path.parts[len(ROOT.parts)] != "tests"], ids=name)
def test_a_file_says_what_it_is_for(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not text or text.startswith('"""')


def test_the_lock_names_versions_and_no_places() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z0-9._-]+==[0-9][0-9a-z.]*( ; [a-z_]+.*)?", line), line
        assert "://" not in line
