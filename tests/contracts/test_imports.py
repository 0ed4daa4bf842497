"""Who may import whom: commands -> runtime -> {detectors, judges, sinks} -> core -> connectors.inputs; runtime ->
connectors, which import nothing of monitor. The core is pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for package in ("monitor", "connectors") for path in (ROOT / package).rglob("*.py"))
OUTER = ("monitor.cli", "monitor.commands", "monitor.config", "monitor.runtime")
PLURAL = ("monitor.detectors", "monitor.judges", "monitor.sinks")

# What a file of these may not import.
FORBIDDEN = {
    "connectors": ("monitor",),
    "connectors.inputs": ("monitor", "connectors"),
    "connectors.protocols": ("asyncio", "websockets", "socket", "time", "httpx"),
    "monitor.core": (
        *OUTER,
        *PLURAL,
        "asyncio",
        "time",
        "logging",
        "random",
        "os",
        "datetime",
        "threading",
        "rich",
        "websockets",
    ),
    "monitor.detectors": OUTER,
    "monitor.sinks": OUTER,
    "monitor.runtime": ("monitor.cli", "monitor.commands"),
    "monitor.config": ("monitor.cli", "monitor.commands"),
}
CORE_TAKES = ("connectors.inputs",)


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


@pytest.mark.parametrize("path", FILES, ids=module)
def test_imports_go_one_way(path: Path) -> None:
    me = module(path)
    for name in imported(path):
        for place, forbidden in FORBIDDEN.items():
            if within(me, (place,)):
                assert not within(name, forbidden), f"{me} imports {name}"
        if within(me, ("monitor.core", "monitor.detectors", "monitor.sinks")) and within(name, ("connectors",)):
            assert within(name, CORE_TAKES) or name == "connectors.inputs", f"{me} imports {name}"
