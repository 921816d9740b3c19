"""What the sources of logs share: they differ in how their files begin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gristmill.formats.logs.finding import Kind, recognizes
from gristmill.formats.logs.options import LogOptions
from gristmill.sources import Locator

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.formats.logs.proposal import Proposal
    from gristmill.formats.recorded import RecordedCorpus


class LogSource:
    """Opens logs of one kind of storage; read in `gristmill.formats.logs`."""

    Options: ClassVar = LogOptions
    name: ClassVar[str]  # of the source
    storage: ClassVar[Kind]
    title: ClassVar[str]  # for people

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether it is such a file, or a folder that holds one, by its first bytes."""
        return recognizes(path, cls.storage)

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
        locator = Locator(source=cls.name, path=str(path), key=key, card=card, options=options)
        return open_logs(path, cls.storage, key=key, card=card, options=options, locator=locator, title=cls.title)

    @classmethod
    def propose(cls, path: Path) -> Proposal:
        """What each topic would become, for people to correct; see `gristmill.formats.logs.proposal`.

        Raises:
            CorpusError: nothing there can be opened at all.
        """
        from gristmill.formats.logs.proposal import proposal

        return proposal(path)
