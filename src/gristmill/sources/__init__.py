"""Sources: one file a format, bytes -> Episode. Opening a corpus by path, by hub id, or by its locator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill import plugins
from gristmill.errors import CorpusError

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.episode import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """What reopens a corpus in another process; it pickles small."""

    source: str  # the plug-in's name
    path: str  # the folder
    key: str
    card: Embodiment | None = None
    hub: str = ""  # "owner/name@commit" when the folder is a snapshot of a hub's repository


def open_path(path: Path | str, key: str | None = None, card: Embodiment | None = None) -> Corpus:
    """Open the corpus in a folder, or the dataset of a hub by its id ("owner/name", "owner/name@revision").

    Args:
        path: the folder, or the id when there is no such folder.
        key: the corpus's key; by default the folder's or repository's name.
        card: the embodiment card; by default one that fits.

    Raises:
        CorpusError: nothing there can be opened.
        UnsafeCorpusError: opening it would read outside of it or run code.
    """
    folder = Path(path).expanduser()
    if not folder.exists():
        from gristmill.formats.lerobot.hub import is_repository

        if isinstance(path, str) and is_repository(path):
            return plugins.load("sources", "lerobot").open_hub(path, key=key or path.partition("@")[0], card=card)
        raise CorpusError(f"there is no folder {str(path)!r}; give a corpus's folder or a hub id such as owner/name")
    for name in plugins.names("sources"):
        source = plugins.load("sources", name)
        if source.recognizes(folder):
            return source.open(folder, key=key or folder.resolve().name, card=card)
    known = ", ".join(plugins.names("sources"))
    raise CorpusError(f"{folder} is no corpus that is known ({known}); a LeRobot dataset has meta/info.json")


def open_locator(locator: Locator) -> Corpus:
    """Open a corpus again, as a worker process does. Files that opening it checked once are not listed anew."""
    source = plugins.load("sources", locator.source)
    reopen = getattr(source, "reopen", None)
    if reopen is not None:
        return reopen(locator)
    return source.open(Path(locator.path), key=locator.key, card=locator.card)
