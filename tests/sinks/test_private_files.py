"""What callers said, and who was alarmed, is nobody else's business: each file is for this user alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.sink import MqttSink
from tests.runtime.stand_ins import notice
from tests.sinks.events_file.lines import aside, keep
from tests.sinks.history import told
from tests.sinks.webhook.alerts import raised, sinks


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """A system that hides nothing by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def rights(folder: Path) -> dict[str, int]:
    """Of every file, by name."""
    found = {one.name: one.stat().st_mode & 0o777 for one in folder.rglob("*") if one.is_file()}
    assert found
    return found


async def test_the_history_and_what_is_beside_it(tmp_path: Path) -> None:
    history = told.sink(tmp_path / "h.db")
    await history.open()
    for event in told.a_call():
        await history.deliver(event)
    assert {"h.db", "h.db-wal", "h.db-shm"} <= set(rights(tmp_path))
    assert set(rights(tmp_path).values()) == {0o600}
    await history.close()


@pytest.mark.parametrize("packed", [False, True])
async def test_events_and_what_is_put_aside(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "events.jsonl"
    left = tmp_path / "events-20200101T000000Z.jsonl.gz.part"
    if packed:  # of a former version, killed while it packed
        path.with_name("events-20200101T000000Z.jsonl").touch(0o600)
        left.touch(0o666)
    await keep(path, map(notice, range(50)), max_mb=0.001, keep_files=None, gzip=packed)
    await told.until(lambda: not packed or all(one.suffix == ".gz" for one in aside(path)))
    assert len(aside(path)) > 2
    assert set(rights(tmp_path).values()) == {0o600}


async def test_what_others_were_let_read_they_may_read_packed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.touch()
    path.chmod(0o640)
    await keep(path, map(notice, range(12)), max_mb=0.001, keep_files=None, gzip=True)
    await told.until(lambda: all(one.suffix == ".gz" for one in aside(path)))
    assert aside(path)[0].stat().st_mode & 0o777 == 0o640


async def test_spools_and_what_is_beside_them(tmp_path: Path) -> None:
    ((_, webhook),) = sinks(tmp_path, "http://127.0.0.1:9/a")
    await webhook.open()
    await webhook.deliver(raised())
    mqtt = MqttSink(MqttSettings(url="mqtt://127.0.0.1:9", spool_dir=str(tmp_path / "spool"), monitor="m1"))
    assert {Path(name).suffix for name in rights(tmp_path)} >= {".spool", ".open", ".id", ".spool-wal", ".open-wal"}
    assert set(rights(tmp_path).values()) == {0o600}
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    await webhook.close()
    await mqtt.close()
