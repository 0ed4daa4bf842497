"""What a turn is judged in the light of. Pure functions over the roles of a conversation's turns, in order.

`turns` (as the product's founding document says): the last `size` turns, ending with the turn judged; one window for
each assistant turn. `interactions` (as DeepEval 4.3 counts): an interaction closes when a user turn follows an
assistant turn and it already holds a user turn; one window for each interaction, of the last `size` of them, and the
turn judged is its last. What stands at the end without a user turn, or without an answer, is no interaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from monitor.core.events import Role


def turn_windows(roles: Sequence[Role], size: int) -> list[list[int]]:
    """For each assistant turn the places in `roles` of the turns it is judged in, itself the last."""
    ends = (place + 1 for place, role in enumerate(roles) if role == "assistant")
    return [list(range(max(0, end - size), end)) for end in ends]


def interactions(roles: Sequence[Role]) -> list[list[int]]:
    """The interactions, as places in `roles`."""
    found: list[list[int]] = []
    current: list[int] = []
    asked = False
    for place, role in enumerate(roles):
        if role == "user" and asked and roles[current[-1]] == "assistant":
            found.append(current)
            current, asked = [], False
        current.append(place)
        asked = asked or role == "user"
    if asked and roles[current[-1]] == "assistant":
        found.append(current)
    return found


def interaction_windows(roles: Sequence[Role], size: int) -> list[list[int]]:
    """For each interaction the places in `roles` of the turns it is judged in, the judged one the last. With a `size`
    under 1 nothing is shown of any."""
    units = interactions(roles)
    return [
        [place for unit in units[max(0, end - size) : end] for place in unit] if size > 0 else []
        for end in range(1, len(units) + 1)
    ]
