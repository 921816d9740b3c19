"""Refuses to make a training set of rows that were not recorded together.

Statistics, cuts and exports take row k of every channel for frame k. Where channels have clocks of their own, that
pairs values of different moments, so such an episode has to be resampled first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gristmill.episode import Corpus, Episode
from gristmill.errors import RecordingError, UsageError
from gristmill.select.plan import Plan
from gristmill.streams import own_clock

_REMEDY = "add [resample] with rate_hz to the recipe, so that all streams share a timeline"


def require_one_clock(episode: Episode) -> None:
    """Raise when an episode's channels cannot be paired row by row.

    Raises:
        UsageError: the text names the channel and what to add to the recipe.
        RecordingError: it cannot be read.
    """
    why = own_clock(episode)
    if why:
        raise UsageError(f"episode {episode.id}: {why}; {_REMEDY}")


def look_ahead(plans: Sequence[Plan], open_corpus: Callable[[str], Corpus]) -> None:
    """The same for the first episode that each corpus keeps, before anything long is begun.

    Args:
        plans: what would be kept.
        open_corpus: opens the corpus at a plan's `root`.

    Raises:
        UsageError: as above.
    """
    for plan in plans:
        for at in plan.kept[:1]:
            corpus = open_corpus(plan.root)
            own = [key for key, camera in corpus.facts.cameras.items() if camera.own_clock]
            if own:
                raise UsageError(f"{plan.corpus}: pictures of {own[0]} have a clock of their own; {_REMEDY}")
            try:
                require_one_clock(next(iter(corpus.episodes([int(plan.rows[at])]))))
            except RecordingError:
                continue  # settling says what ails it, and drops it
