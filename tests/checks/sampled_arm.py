"""Episodes of the sample with poses, contact and a card that claims everything: what checks of conventions look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from gristmill.episode import Episode
from gristmill.sources import open_path
from gristmill.synth import generate
from gristmill.synth.convention_errors import EXTRA, plant, true_card, truly
from gristmill.testing import CheckContract

CARD = true_card()
COUNT = 8


@cache
def recorded() -> tuple[Episode, ...]:
    """Eight demonstrations of grasping, read into memory."""
    with TemporaryDirectory() as folder:
        place = generate(
            Path(folder) / "arm", episodes=COUNT, seed=2, tasks=["pick_place"], video=False, jobs=1, extra=EXTRA
        )
        episodes = tuple(open_path(place, card=CARD).episodes(range(COUNT)))
        for episode in episodes:
            assert episode.channels and episode.index_columns  # read before the folder goes
    return episodes


class ConventionContract(CheckContract):
    """The contract over the sample: an error planted into one episode of a corpus whose card is true."""

    error: str
    as_told: str = "as recorded"  # the convention of the clean corpus

    def clean_episode(self, index: int) -> Episode:
        return truly(self.as_told, recorded()[index % COUNT])

    def broken_episode(self, index: int) -> Episode:
        return plant(self.error, recorded()[index % COUNT])


def spoiled(error: str, change: Callable[[Episode], Episode] = lambda e: e) -> list[Episode]:
    """The whole sample with one error."""
    return [change(plant(error, episode)) for episode in recorded()]
