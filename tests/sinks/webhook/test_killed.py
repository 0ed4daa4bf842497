"""The program is killed in the middle, or its disk is full: each alert that it had taken arrives."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.sinks.webhook.alerts import sending, until
from tests.sinks.webhook.receiver import Behaviour, Receiver, answer, hang, raw

ROOT = Path(__file__).parents[3]


async def run(url: str, spool_dir: Path, until_seq: int, *more: str) -> tuple[int, str]:
    """Have alerts delivered until `until_seq` is safe, then kill -9. -> the last that was said to be safe, and its
    log."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.sinks.webhook.delivering", url, str(spool_dir), *more),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    last = -1
    while last < until_seq:
        line = await program.stdout.readline()
        assert line, (await program.stderr.read()).decode()
        last = int(line)
    program.kill()
    rest, log = await program.communicate()
    return max([last, *(int(line) for line in rest.splitlines())]), log.decode()


def first_times(ids: list[str]) -> list[int]:
    return [int(one.rpartition("#")[2]) for one in dict.fromkeys(ids) if "#lost-" not in one]


async def test_kill_9_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    troubles: list[Behaviour] = [answer(200), answer(500), hang, answer(200), raw(b"")] * 6
    async with Receiver(*troubles) as receiver:
        last, _ = await run(receiver.url, tmp_path / "spool", 40)
        before = len(set(receiver.ids))
        again, _ = await run(receiver.url, tmp_path / "spool", 20)
        async with sending(tmp_path, receiver.url, secret="a secret of some length") as sink:
            await until(lambda: sink.figures()["spooled"] == 0)
        seen = first_times(receiver.ids)
        bodies: dict[str, set[bytes]] = {}
        for request in receiver.requests:
            bodies.setdefault(request.id, set()).add(request.body)
    assert before < last
    assert set(seen) >= set(range(max(last, again) + 1))
    assert seen == sorted(seen)
    assert all(len(same) == 1 for same in bodies.values())


async def test_a_full_disk_costs_no_alert_while_the_program_lives(tmp_path: Path) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    program = asyncio.create_task(run(receiver.url, tmp_path / "spool", 150, "65536"))
    async with await receiver.start():
        await until(lambda: len(set(receiver.ids)) >= 80 or program.done())
        last, log = await program
        seen = first_times(receiver.ids)
        assert last >= 150
        assert seen == list(range(len(seen)))
        assert len(seen) >= 80
    assert "could not be" in log
