"""Room 0: what cannot be is turned away before it costs anything.

Everything up to a time is laid out in frames, so a time decides how much work and memory an input takes. Connectors
keep good time; a damaged or forged tape need not. A time more than ten minutes ahead of all that has been heard is not
believed, as in `monitor.core.framing`.
"""

from __future__ import annotations

import msgspec

from connectors import inputs
from monitor.core.framing import MAX_JUMP_MS


def believed(given: inputs.Input, heard_ms: int) -> inputs.Input | None:
    """`given` as it may be taken when the call has come to `heard_ms`; None if its time is impossible.

    Audio, cuts, stalls and clocks are nothing without their time. Words, verdicts, notices and the end of the call are
    taken all the same: at `heard_ms`, or at the beginning where they claim to come from before it.
    """
    latest = heard_ms + MAX_JUMP_MS
    match given:
        case inputs.Audio(at=at) | inputs.Cut(at=at) | inputs.Elapsed(at=at):
            return given if at <= latest else None
        case inputs.Stall(at=at, until=until):
            return given if at <= latest and until <= latest else None
        case (
            inputs.CallEnded(at=at)
            | inputs.Text(at=at)
            | inputs.Notice(at=at)
            | inputs.Verdicts(at=at)
            | inputs.FleetView(at=at)
        ):
            if 0 <= at <= latest:
                return given
            return msgspec.structs.replace(given, at=heard_ms if at > 0 else 0)
    return given
