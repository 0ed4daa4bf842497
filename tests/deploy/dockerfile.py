"""Reads a Dockerfile as far as the tests need it: no build can run where they do."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

KNOWN = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "LABEL"}
KNOWN |= {"STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


class Instruction(NamedTuple):
    """`stage`: 0 is the first. `text`: what stands behind the word, in one line."""

    stage: int
    word: str
    text: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)


def read(file: Path) -> list[Instruction]:
    """All instructions, in order."""
    found: list[Instruction] = []
    stage, whole = -1, ""
    for line in file.read_text("utf-8").splitlines():
        if line.lstrip().startswith("#") or not (line.strip() or whole):
            continue
        whole += f" {line.strip()}"
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        word, _, text = whole.strip().partition(" ")
        stage += word == "FROM"
        found.append(Instruction(stage, word, " ".join(text.split())))
        whole = ""
    assert not whole, "the last instruction goes on"
    return found
