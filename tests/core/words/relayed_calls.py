"""Calls in which the agent's audio is delivered ahead of its playing, as a relay sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from connectors import inputs
from connectors.inputs import Audio, Cut, Elapsed, Text
from tests.builders import PER_MS, even, noise, sound, speech, started, voice

STEP_MS = 50


class Response(NamedTuple):
    """`at`: when `ms` of speech are delivered, at once, with the id `number`. `pauses`: silences (from, to) in it."""

    at: int
    ms: int
    number: int | None
    pauses: tuple[tuple[int, int], ...] = ()


def relayed(
    caller: Iterable[tuple[int, int]],
    responses: Iterable[Response],
    others: Iterable[Cut | Text] = (),
    length: int = 12_000,
) -> list[inputs.Input]:
    """The tape of such a call: the caller speaks from .. to (ms), the agent delivers, cuts and texts come at their
    `at`."""
    heard = sound([speech("caller", start, end) for start, end in caller], length)["caller"]
    microphone = even("caller", heard, STEP_MS)
    rest = sorted([*(_audio(one) for one in responses), *others], key=lambda one: one.at)
    out: list[inputs.Input] = [started("call", "delivered")]
    for piece in microphone:
        now = piece.at + STEP_MS
        while rest and rest[0].at < now:
            out.append(rest.pop(0))
        out += [piece, Elapsed(now)]
    return [*out, *rest, inputs.CallEnded(length, "hangup")]


def _audio(response: Response) -> Audio:
    pcm = bytearray(voice(response.ms, 100 + response.at))
    for start, end in response.pauses:
        pcm[2 * PER_MS * start : 2 * PER_MS * end] = noise(end - start, 2, 5)
    return Audio("agent", response.at, bytes(pcm), 8000, response.number)
