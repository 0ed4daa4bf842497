"""How long `turnwatch --help` takes, beside an empty Python of the same kind. Goal: at most 150 ms."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = 15


def milliseconds(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    empty, help_text = [], []
    for _ in range(RUNS):  # in turns, so that a busy moment hits both
        empty.append(milliseconds(sys.executable, "-c", ""))
        help_text.append(milliseconds(sys.executable, "-m", "monitor", "--help"))
    floor, shown = statistics.median(empty), statistics.median(help_text)
    print(f"turnwatch --help: {shown:.0f} ms in the median of {RUNS}, best {min(help_text):.0f} ms (goal: 150 ms)")
    print(f"an empty Python:  {floor:.0f} ms, so ours are {shown - floor:.0f} ms, {shown / floor:.1f} times the floor")


if __name__ == "__main__":
    main()
