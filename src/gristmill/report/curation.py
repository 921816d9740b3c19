"""What a curation did with the recordings, as the report shows it. The pipeline fills it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["keep", "trim", "quarantine", "drop", "edit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """One rule of the recipe and what it decided."""

    rule: str  # as the recipe and `why` name it, "gate.spike"
    action: Action
    episodes: int  # that it decided
    removed_s: float = 0.0  # recording time that it took out
    about: str = ""  # one plain sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """From the corpus to the training set: how much went in, how much came out, and by which rules."""

    episodes_in: int
    episodes_out: int  # kept spans; one recording may give several
    seconds_in: float
    seconds_out: float
    rules: Sequence[RuleOutcome] = ()
    data_hash: str = ""
    lineage_hash: str = ""
    dataset: str = ""  # where the export went
