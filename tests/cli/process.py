"""The real program in a process of its own, as a shell would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT.parent / "shared" / "data" / "calls"
LIMIT_S = 60


def environment(**more: str) -> dict[str, str]:
    """Ours, without settings that somebody may have set for themselves."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TURNWATCH_", "PYTHONIOENC"))}
    return {**own, "PYTHONPATH": str(ROOT), **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "monitor", *arguments]


def run(*arguments: str, cwd: Path | None = None, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run to the end."""
    return subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(**env),
        timeout=LIMIT_S,
        check=False,
    )


def start(*arguments: str, **env: str) -> subprocess.Popen[bytes]:
    """Start, with both outputs to be read."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*arguments), stdin=pipe, stdout=pipe, stderr=pipe, env=environment(**env))


def events(output: bytes) -> list[dict[str, Any]]:
    """Every line as an event; each must be whole."""
    assert not output or output.endswith(b"\n")
    return [msgspec.json.decode(line) for line in output.splitlines()]


def types(told: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in told]
