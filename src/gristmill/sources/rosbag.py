"""ROS 1 bags: one file or a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gristmill.formats.logs.finding import recognizes
from gristmill.formats.logs.options import LogOptions
from gristmill.sources import Locator

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.formats.logs.proposal import Proposal
    from gristmill.formats.recorded import RecordedCorpus


class Rosbag:
    """ROS 1 bags of format 2.0; read in `gristmill.formats.logs`."""

    Options: ClassVar = LogOptions

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether it is a ROS 1 bag, or a folder that holds one, by its first bytes."""
        return recognizes(path, "bag")

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: LogOptions | None = None
    ) -> RecordedCorpus:
        """Open logs: indexes are read, and a few messages of each topic.

        Args:
            path: a file or folder.
            key: the corpus's key in the store.
            card: the embodiment card; by default one that fits.
            options: topic map, clock, rate, task and cuts.

        Raises:
            CorpusError: nothing there can be read, or nothing is of use.
            RecipeError: an option names what the logs do not hold.
            UnsafeCorpusError: a link or name leads outside the corpus.
        """
        from gristmill.formats.logs.corpus import open_logs

        options = options or LogOptions()
        locator = Locator(source="rosbag", path=str(path), key=key, card=card, options=options)
        return open_logs(path, "bag", key=key, card=card, options=options, locator=locator, title="ROS 1 bag")

    @classmethod
    def propose(cls, path: Path) -> Proposal:
        """What each topic would become, for people to correct; see `gristmill.formats.logs.proposal`.

        Raises:
            CorpusError: nothing there can be opened at all.
        """
        from gristmill.formats.logs.proposal import proposal

        return proposal(path)
