"""One test over each table: whatever stands in a row keeps the folder's promise."""

from __future__ import annotations

import argparse
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import monitor
from connectors import CONNECTORS
from connectors.base import ConnectorError
from connectors.source import SourceOptions
from monitor.cli import build_parser
from monitor.commands import COMMANDS
from monitor.config import Config, known_keys, load
from monitor.runtime.watch import open_source
from monitor.sinks import SINKS
from monitor.sinks.jsonl import JsonLinesSink
from monitor.sinks.memory import MemorySink
from tests.runtime.stand_ins import notice


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself(name: str) -> None:
    command = COMMANDS[name]
    assert command.SUMMARY
    assert not command.SUMMARY.endswith(".")
    assert f"turnwatch {name}" in command.EXAMPLES
    for text in (command.SUMMARY, command.DESCRIPTION, command.EXAMPLES):
        assert text.isascii()
    parser = argparse.ArgumentParser(add_help=False)
    command.add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert {"--json", "--config", "--set"} <= options


def test_the_help_is_plain_text_for_every_terminal() -> None:
    assert build_parser().format_help().isascii()


@pytest.mark.parametrize("scheme", [*CONNECTORS, "tape"])
def test_a_connector_refuses_what_is_not_there_in_words(scheme: str) -> None:
    with pytest.raises(ConnectorError) as caught:
        open_source(f"{scheme}:/nowhere/at/all", SourceOptions())
    assert "/nowhere/at/all" in str(caught.value)
    assert "\n" not in str(caught.value)


def setting(config: Config, key: str) -> Any:
    section, _, rest = key.partition(".")
    return attrgetter(rest)(config.sink(section)) if section in SINKS else attrgetter(key)(config)


@pytest.mark.parametrize("key", known_keys())
def test_every_setting_can_be_given_as_text(key: str) -> None:
    value = setting(Config(), key)
    if value is None:
        text = "http://127.0.0.1:12" if key.endswith("base_url") else "12"
        value = text  # what is not set is a text or a number
    elif isinstance(value, bool):
        text = str(value).lower()
    else:
        text = repr(list(value)) if isinstance(value, tuple) else str(value)
    assert setting(load(assignments=[f"{key}={text}"]), key) in (value, float(12))


@pytest.mark.parametrize("name", monitor.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(monitor, name) is not None
    assert name in dir(monitor)


def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'wathc'"):
        monitor.wathc  # noqa: B018


def test_looking_at_the_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from monitor.cli import build_parser\n"
        "build_parser().format_help()\n"
        "heavy = {'numpy', 'msgspec', 'rich', 'websockets', 'asyncio', 'starlette', 'uvicorn', 'httpx', 'soundfile'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


async def test_the_memory_keeps_the_last_events() -> None:
    memory = MemorySink(limit=2)
    await memory.open()
    for seq in range(3):
        await memory.deliver(notice(seq))
    await memory.close()
    assert [event.seq for event in memory.events] == [1, 2]


async def test_json_lines_are_whole(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        sink = JsonLinesSink(file)
        await sink.open()
        await sink.deliver(notice(0))
        await sink.deliver(notice(1))
        await sink.close()
    assert [line[:7] for line in (tmp_path / "out").read_bytes().splitlines()] == [b'{"v":1,', b'{"v":1,']
