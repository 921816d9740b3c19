"""Sources: one file a format, bytes -> Episode. Opening a corpus by path, by hub id, or by its locator.

A source is a class with `recognizes(path)` and `open(path, key=, card=, options=)`; see `SourceContract`. What a
format leaves unsaid (a rate, a task, which topic is the state) the user states as options: the class's `Options`, a
frozen dataclass, says which there are. A source without `Options` takes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import plugins, settings
from gristmill.errors import CorpusError, RecipeError

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.episode import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """What reopens a corpus in another process; it pickles small."""

    source: str  # the plug-in's name
    path: str  # the file or folder
    key: str
    card: Embodiment | None = None
    hub: str = ""  # "owner/name@commit" when the folder is a snapshot of a hub's repository
    options: Any = None  # the source's `Options`


def open_path(
    path: Path | str,
    key: str | None = None,
    card: Embodiment | None = None,
    options: Mapping[str, Any] | None = None,
) -> Corpus:
    """Open the corpus in a file or folder, or the dataset of a hub by its id ("owner/name", "owner/name@revision").

    Args:
        path: the file or folder, or the id when there is no such folder.
        key: the corpus's key; by default the file's, folder's or repository's name.
        card: the embodiment card; by default one that fits.
        options: what the user states of it, by the names of the source's `Options`.

    Raises:
        CorpusError: nothing there can be opened.
        RecipeError: the source has no such option.
        UnsafeCorpusError: opening it would read outside of it or run code.
    """
    place = Path(path).expanduser()
    if not place.exists():
        from gristmill.formats.lerobot.hub import is_repository

        if isinstance(path, str) and is_repository(path):
            return plugins.load("sources", "lerobot").open_hub(path, key=key or path.partition("@")[0], card=card)
        raise CorpusError(
            f"there is no file or folder {str(path)!r}; give a corpus's place or a hub id such as owner/name"
        )
    name = source_of(place)
    source = plugins.load("sources", name)
    more = _options(name, source, options)
    return source.open(place, key=key or default_key(place), card=card, **more)


def source_of(path: Path) -> str:
    """The name of the source that knows this file or folder, by its content.

    Raises:
        CorpusError: none does.
    """
    for name in plugins.names("sources"):
        if plugins.load("sources", name).recognizes(path):
            return name
    known = ", ".join(plugins.names("sources"))
    raise CorpusError(f"{path} is no corpus that is known ({known}); a LeRobot dataset has meta/info.json")


def default_key(path: Path) -> str:
    """A corpus is called like its folder, or like its file without the ending."""
    resolved = path.resolve()
    return resolved.stem if path.is_file() else resolved.name


def open_locator(locator: Locator) -> Corpus:
    """Open a corpus again, as a worker process does. Files that opening it checked once are not listed anew."""
    source = plugins.load("sources", locator.source)
    reopen = getattr(source, "reopen", None)
    if reopen is not None:
        return reopen(locator)
    more = {} if locator.options is None else {"options": locator.options}
    return source.open(Path(locator.path), key=locator.key, card=locator.card, **more)


def _options(name: str, source: Any, options: Mapping[str, Any] | None) -> dict[str, Any]:
    cls = getattr(source, "Options", None)
    if cls is not None:
        return {"options": settings.build(cls, options or {}, f"options of a {name} corpus")}
    if options:
        raise RecipeError(f"options.{next(iter(options))}: a {name} corpus takes no options")
    return {}
