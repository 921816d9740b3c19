"""Where a recording holds what a card names: joint -> column of a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Channel, Dim


class Place(NamedTuple):
    """One column of one channel, and the joint that it is by the card."""

    channel: str
    column: int
    label: str
    joint: Joint


@dataclass(frozen=True, slots=True)
class Places:
    """The columns of one role ("state" or "action"), by joint.

    Attributes:
        of: joint name -> place; a joint that two columns answer to is not in it.
        twice: joint name -> labels of the columns that answer to it.
        strange: labels of columns that no joint answers to.
    """

    of: Mapping[str, Place]
    twice: Mapping[str, tuple[str, ...]]
    strange: tuple[str, ...]

    def all(self, names: Sequence[str]) -> list[Place] | None:
        """The places of these joints, or None unless every one of them has one."""
        found = [self.of[name] for name in names if name in self.of]
        return found if names and len(found) == len(names) else None


def places(channels: Mapping[str, Channel], card: Embodiment, role: str) -> Places:
    """Where this role's columns are."""
    found: dict[str, list[Place]] = {}
    strange: list[str] = []
    for channel in channels.values():
        if channel.role != role:
            continue
        for column, joint in enumerate(card.match(channel.names)):
            label = Dim(channel.key, column, channel.names[column], channel.role).label
            if joint is None:
                strange.append(label)
            else:
                found.setdefault(joint.name, []).append(Place(channel.key, column, label, joint))
    return Places(
        of={name: many[0] for name, many in found.items() if len(many) == 1},
        twice={name: tuple(p.label for p in many) for name, many in found.items() if len(many) > 1},
        strange=tuple(strange),
    )
