"""A part of a batch, and what several requests took in sum. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from connectors.inputs import Verdict
from monitor.core.questions import JudgeRequest
from monitor.judges import JudgeAnswer


def part(request: JudgeRequest, indexes: Collection[int]) -> JudgeRequest:
    """The request with these turns alone to be judged, and no more of the conversation than they need."""
    asked = tuple(one for one in request.asked if one.index in indexes)
    wanted = {index for one in asked for index in (*one.window, one.index)}
    lines = tuple(line for line in request.lines if line.index in wanted)
    return msgspec.structs.replace(request, asked=asked, lines=lines)


def summed(parts: Sequence[JudgeAnswer], verdicts: tuple[Verdict, ...] = ()) -> JudgeAnswer:
    """Everything that `parts` took, with these verdicts. The cost is unknown where that of any part with tokens is."""
    costs = [one.cost_usd for one in parts if one.cost_usd is not None or one.input_tokens or one.output_tokens]
    return JudgeAnswer(
        verdicts,
        sum(one.requests for one in parts),
        sum(one.input_tokens for one in parts),
        sum(one.output_tokens for one in parts),
        sum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
    )
