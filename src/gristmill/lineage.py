"""How a training set came about, in plain values: what its lineage hash covers besides the recipe.

Two runs with equal lineage and recipe over equal recordings choose the same frames for the same reasons. Times
and places do not enter, nor does the order in which anything was named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gristmill.check import Check
from gristmill.embodiment import Embodiment, card_digest
from gristmill.stage_keys import key_of


def lineage(
    *,
    version: str,
    checks: Mapping[str, Check],
    cards: Iterable[Embodiment],
    waivers: Mapping[tuple[str, str], str],
    annotators: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The lineage of a training set.

    Args:
        version: of this program; how findings are judged belongs to it.
        checks: name -> check.
        cards: the embodiment cards in force.
        waivers: (episode id, check) -> reason, those that had an effect.
        annotators: labeler -> its version, where labels decided anything.

    Returns:
        Values that JSON can hold, in an order of their own.
    """
    return {
        "gristmill": version,
        "checks": {name: key_of(name, check) for name, check in sorted(checks.items())},
        "cards": sorted({f"{card.key}:{card_digest(card)}" for card in cards}),
        "waivers": [[episode, check, reason] for (episode, check), reason in sorted(waivers.items())],
        "annotators": dict(sorted((annotators or {}).items())),
    }
