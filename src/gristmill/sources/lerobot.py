"""LeRobot datasets of versions 2.0, 2.1 and 3.0, in a folder or on a hub."""

from __future__ import annotations

from pathlib import Path

from gristmill.embodiment import Embodiment
from gristmill.formats.lerobot.corpus import LerobotCorpus, open_folder
from gristmill.sources import Locator


class Lerobot:
    """The layout that LeRobot records and trains on; what is read of it is in `gristmill.formats.lerobot`."""

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether the folder has a `meta/info.json`."""
        return (path / "meta" / "info.json").exists()

    @classmethod
    def open(cls, path: Path, *, key: str, card: Embodiment | None = None) -> LerobotCorpus:
        """Open a dataset: metadata is read, files are listed and stamped.

        Args:
            path: the folder that holds `meta/info.json`.
            key: the corpus's key in the store; episode ids begin with it.
            card: the embodiment card; by default one that fits.

        Raises:
            CorpusError: the metadata cannot be read.
            UnsafeCorpusError: a path, link or type leads outside the corpus or would run code.
        """
        corpus = cls.reopen(Locator(source="lerobot", path=str(path), key=key, card=card))
        corpus.survey()
        return corpus

    @classmethod
    def open_hub(cls, repository: str, *, key: str, card: Embodiment | None = None) -> LerobotCorpus:
        """Open a dataset of the Hugging Face hub: metadata and tables are fetched, videos when a check needs them.

        Args:
            repository: "owner/name" or "owner/name@revision".
            key: the corpus's key in the store.
            card: the embodiment card; by default one that fits.

        Raises:
            CorpusError: it cannot be fetched or read.
            UnsafeCorpusError: as for `open`.
        """
        from gristmill.formats.lerobot.hub import fetch

        snapshot = fetch(repository)
        locator = Locator(source="lerobot", path=str(snapshot.folder), key=key, card=card, hub=snapshot.name)
        corpus = cls.reopen(locator)
        corpus.survey()
        return corpus

    @classmethod
    def reopen(cls, locator: Locator) -> LerobotCorpus:
        """Open a corpus that `open` has checked, as worker processes do: metadata only."""
        if locator.hub:
            from gristmill.formats.lerobot.hub import open_snapshot

            return open_snapshot(locator.hub, Path(locator.path), key=locator.key, card=locator.card, locator=locator)
        return open_folder(Path(locator.path), key=locator.key, card=locator.card, locator=locator)
