"""A broker for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers import Broker, running


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture
def keeping_broker(tmp_path: Path) -> Iterator[Broker]:
    """One that keeps what it has over a restart."""
    with running(tmp_path / "broker", persistent=True) as broker:
        yield broker
