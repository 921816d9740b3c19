"""Refuses to make a training set of rows that were not recorded together.

Statistics, cuts and exports take row k of every channel for frame k. Where channels have clocks of their own, that
pairs values of different moments, so such an episode has to be resampled first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gristmill.episode import Corpus, Episode
from gristmill.errors import RecordingError, UsageError, VideoError
from gristmill.select.plan import Plan
from gristmill.streams import in_step, own_clock
from gristmill.timeline import camera_times_s

_REMEDY = "add [resample] with rate_hz to the recipe, so that all streams share a timeline"


def require_one_clock(episode: Episode) -> None:
    """Raise when an episode's channels and pictures cannot be paired row by row.

    Raises:
        UsageError: the text names the channel or camera and what to add to the recipe.
        RecordingError: it cannot be read.
    """
    why = own_clock(episode) or next(filter(None, (_out_of_step(episode, key) for key in episode.cameras)), "")
    if why:
        raise UsageError(f"episode {episode.id}: {why}; {_REMEDY}")


def _out_of_step(episode: Episode, key: str) -> str:
    """Why a camera's pictures are not one a row, where they came when they came; "" for all others."""
    try:
        camera = episode.cameras[key]
        times_s = camera_times_s(camera) if camera.info.own_clock else None
    except VideoError:
        return ""  # an episode whose camera cannot be read goes without it
    if times_s is None or in_step(times_s, episode.times_s, episode.rate_hz):
        return ""
    return f"pictures of {key} have a clock of their own ({len(times_s)} for {episode.frames} frames)"


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
            try:
                require_one_clock(next(iter(open_corpus(plan.root).episodes([int(plan.rows[at])]))))
            except RecordingError:
                continue  # settling says what ails it, and drops it
