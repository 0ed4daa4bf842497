"""Which client is on the line, and how it behaves when it is told to stop playing.

| policy           | who                                | late audio of a cut response | what was queued at a cut |
|------------------|------------------------------------|------------------------------|--------------------------|
| `immediate_drop` | the default: anybody else          | dropped                      | silenced at once         |
| `py_interface`   | `python_sdk`, own `AudioInterface` | dropped, see below           | silenced at once         |
| `py_device`      | `python_sdk`, its sound device     | dropped, see below           | the playing message ends |
| `js_fade`        | `js_sdk`, `react_sdk`, `widget`    | played                       | a fade of two seconds    |
| `immediate_keep` | bridges, simulators without an SDK | played                       | silenced at once         |

The two Python clients send the same words, so nobody can tell them apart on the wire. A service uses its own interface;
the sound device is for a developer's desk: `python_sdk` is taken as `py_interface`, and `py_device` can be configured.
The SDK drops every piece whose id is not above the last interruption's, even a new reply that carries that very id
(elevenlabs-python#829); its caller then hears silence, and so do we.

A client that names no SDK may be a bridge that plays late audio, or anything else, and it may say its first word after
the agent's. Only what a client says chooses a policy, never what it has not said: such a client gets the default.
"""

from __future__ import annotations

from connectors.base import SourceError
from connectors.inputs import PlayoutPolicy

DEFAULT = PlayoutPolicy("immediate_drop", 40, "immediate", "drop", keep_equal=True)

POLICIES: dict[str, PlayoutPolicy] = {
    policy.name: policy
    for policy in (
        DEFAULT,
        PlayoutPolicy("py_interface", 40, "immediate", "drop", keep_equal=False),
        # The device writes blocks of 1000 frames at 16 kHz: 62.5 ms.
        PlayoutPolicy("py_device", 60, "message", "drop", keep_equal=False),
        PlayoutPolicy("js_fade", 40, "fade", "keep", keep_equal=True),
        PlayoutPolicy("immediate_keep", 40, "immediate", "keep", keep_equal=True),
    )
}

_BY_SOURCE = {
    "python_sdk": "py_interface",
    "js_sdk": "js_fade",
    "react_sdk": "js_fade",
    "widget": "js_fade",
}


def policy_for(source: str | None) -> PlayoutPolicy:
    """The policy of the client that calls itself `source` (in its query, or in `source_info` of its first frame)."""
    return POLICIES[_BY_SOURCE.get(source or "", DEFAULT.name)]


def policy_named(name: str) -> PlayoutPolicy:
    """The policy that a configuration names. Raises `SourceError` for an unknown name."""
    try:
        return POLICIES[name]
    except KeyError:
        raise SourceError(f"there is no playout policy {name!r}; choose one of {', '.join(POLICIES)}") from None
