"""When a line is noisy, and when its detector is doubted."""

from __future__ import annotations

import msgspec


class LineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a track's noise is found. A step is 0.75 dB on average. The whole group set to null switches the gate and
    the second detector off.

    `steady_steps`: eight frames whose levels lie so close together are steady. `width_steps`: so wide is a heap of
    steady levels. `min_share`: it is noise if it holds so much of all steady ones. `min_frames`: and so many frames.
    `under_loud_steps`: it lies so far under the loud frames; `first_dbfs`: and under this level before anything louder
    has been heard. `margin_steps`: speech begins so far over the heap.

    `dip_steps`: a sound that never falls so far under the loud frames may be music. `no_dip_ms`: if that lasts so long.
    `no_quiet_ms`: one that never falls under the floor for so long, and is not steady, is babble or strong noise.
    `hold_ms`: the detector is doubted for so long after babble or strong noise. `music_hold_ms`: and after music.
    """

    steady_steps: int = 7
    width_steps: int = 6
    min_share: float = 0.6
    min_frames: int = 12
    under_loud_steps: int = 16
    first_dbfs: float = -32.0
    margin_steps: int = 1
    dip_steps: int = 21
    no_dip_ms: int = 1600
    no_quiet_ms: int = 3000
    hold_ms: int = 20_000
    music_hold_ms: int = 5000
