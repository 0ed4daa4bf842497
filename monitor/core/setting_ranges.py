"""What the core's numbers may be. Beyond these a setting is a slip of the pen, and some would hang or break a call."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

_MS = (0, 600_000)

RANGES: dict[str, tuple[float, float]] = {
    "speech.detector_mode": (0, 3),
    "speech.floor_dbfs": (-120, 0),
    "speech.warmup_ms": _MS,
    "speech.echo_gate_db": (0, 120),
    "speech.line.steady_steps": (0, 160),
    "speech.line.width_steps": (1, 100),
    "speech.line.min_share": (0, 1),
    "speech.line.min_frames": (1, 1000),
    "speech.line.under_loud_steps": (0, 160),
    "speech.line.first_dbfs": (-120, 0),
    "speech.line.margin_steps": (0, 160),
    "speech.line.dip_steps": (0, 160),
    "speech.line.no_dip_ms": _MS,
    "speech.line.no_quiet_ms": _MS,
    "speech.line.hold_ms": _MS,
    "speech.line.music_hold_ms": _MS,
    "speech.open_ms": _MS,
    "speech.close_ms": _MS,
    "speech.min_stretch_ms": _MS,
    "speech.trim_db": (0, 120),
    "speech.trim_max_ms": _MS,
    "speech.tail_ms_per_db": (0, 100),
    "speech.tail_max_ms": _MS,
    "speech.lost_max_ms": _MS,
    "speech.reset_after_ms": _MS,
    "speech.stall_after_ms": (20, 600_000),
    "timeline.max_pause_ms": _MS,
    "timeline.backchannel_max_ms": _MS,
    "timeline.backchannel_around_ms": _MS,
    "timeline.barge_in_min_overlap_ms": _MS,
    "timeline.barge_in_min_ms": _MS,
    "timeline.held_ms": _MS,
    "timeline.update_every_ms": (20, 3_600_000),
    "timeline.unscored_stall_ms": _MS,
    "words.wait_s": (0, 3600),
}
"""`section.key` -> the least and the most. A section's other numbers are checked where the section stands."""


def check_ranges(section: str, settings: msgspec.Struct, ranges: Mapping[str, tuple[float, float]] = RANGES) -> None:
    """Raises `ValueError` for a number of `settings` that is out of its range; None is in every range."""
    for name in settings.__struct_fields__:
        value, key = getattr(settings, name), f"{section}.{name}"
        if isinstance(value, msgspec.Struct):
            check_ranges(key, value, ranges)
        elif key in ranges and value is not None:
            low, high = ranges[key]
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise ValueError(f"{key} must be a number from {low:,} to {high:,}; got {value!r}")
