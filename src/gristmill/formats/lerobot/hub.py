"""Datasets of the Hugging Face hub: metadata and tables fetched at once, videos one by one when they are needed.

Needs `huggingface_hub` (`pip install "gristmill[hub]"`). Files stay in its cache, a folder of links into `blobs`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from platformdirs import user_cache_path

from gristmill.embodiment import Embodiment
from gristmill.errors import CorpusError
from gristmill.formats.files import CorpusFiles, FileStamp
from gristmill.formats.lerobot.corpus import LerobotCorpus

_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?:@([\w.-][\w./-]{0,127}))?")
_AT_ONCE = ["meta/*", "data/*"]


class HubSnapshot(NamedTuple):
    """A dataset at one commit: its folder in the cache, and its name "owner/name@commit"."""

    folder: Path
    name: str


class HubFiles(CorpusFiles):
    """The files of a snapshot: those that the repository has, whether or not they are here already."""

    def __init__(self, folder: Path, name: str, listing: Mapping[str, FileStamp]) -> None:
        super().__init__(folder)
        self._repository, _, self._commit = name.partition("@")
        self._listing = listing

    def stamp(self, relative: str) -> FileStamp | None:
        """The stamp of a file of the repository, which follows its content."""
        self.path(relative)
        return self._listing.get(relative)

    def under(self, folder: str) -> dict[str, FileStamp]:
        """All files of the repository below a folder."""
        found = {name: stamp for name, stamp in self._listing.items() if name.startswith(f"{folder}/")}
        for name in found:
            self.path(name)
        return found

    def fetch(self, relative: str) -> Path | None:
        """A local path of the file, fetched if need be; None when the hub does not give it."""
        path = self.path(relative)
        if path.exists() or relative not in self._listing:
            return path
        hub = _hub()
        try:
            hub.hf_hub_download(self._repository, relative, repo_type="dataset", revision=self._commit)
        except _failures():
            return None
        return path


def is_repository(text: str) -> bool:
    """Whether the text can be a dataset's id: "owner/name" or "owner/name@revision"."""
    return _NAME.fullmatch(text) is not None


def fetch(repository: str) -> HubSnapshot:
    """Fetch the metadata and tables of a dataset.

    Args:
        repository: "owner/name" or "owner/name@revision".

    Raises:
        CorpusError: there is no such dataset, the hub cannot be reached, or its client is not installed.
    """
    match = _NAME.fullmatch(repository)
    if match is None:
        raise CorpusError(f"{repository!r} is no dataset id; write owner/name")
    hub = _hub()
    try:
        name, listing = _listing(hub, match[1], match[2])
        folder = hub.snapshot_download(
            match[1], repo_type="dataset", revision=name.partition("@")[2], allow_patterns=_AT_ONCE
        )
    except _failures() as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise CorpusError(
            f"dataset {repository} cannot be fetched ({reason}); check its name and the network"
        ) from None
    _remember(name, listing)
    return HubSnapshot(Path(folder), name)


def open_snapshot(
    name: str, folder: Path, *, key: str, card: Embodiment | None = None, locator: Any = None
) -> LerobotCorpus:
    """Open a fetched snapshot.

    Raises:
        CorpusError: its metadata cannot be read.
        UnsafeCorpusError: a path leads outside it.
    """
    listing = _remembered(name)
    if listing is None:
        hub = _hub()
        repository, _, commit = name.partition("@")
        try:
            listing = _listing(hub, repository, commit)[1]
        except _failures():
            raise CorpusError(f"the files of dataset {name} cannot be listed; check the network") from None
        _remember(name, listing)
    return LerobotCorpus(HubFiles(folder, name, listing), key=key, card=card, locator=locator, root=name)


def _listing(hub: Any, repository: str, revision: str | None) -> tuple[str, dict[str, FileStamp]]:
    """The dataset's name with its commit, and the stamps of its files."""
    info = hub.HfApi().repo_info(repository, repo_type="dataset", revision=revision, files_metadata=True)
    stamps = {s.rfilename: FileStamp(int(s.size or 0), 0, str(s.blob_id or "")) for s in info.siblings or ()}
    return f"{repository}@{info.sha}", stamps


def _list_path(name: str) -> Path:
    return user_cache_path("gristmill") / "hub" / f"{name.replace('/', '--')}.json"


def _remember(name: str, listing: Mapping[str, FileStamp]) -> None:
    """Keep the list of a commit's files, so that worker processes need not ask the hub again."""
    path = _list_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(orjson.dumps({k: list(v) for k, v in listing.items()}))
    partial.replace(path)


def _remembered(name: str) -> dict[str, FileStamp] | None:
    try:
        raw = orjson.loads(_list_path(name).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return {k: FileStamp(*v) for k, v in raw.items()}


def _hub() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError:
        raise CorpusError('a dataset of the hub needs its client; run pip install "gristmill[hub]"') from None


def _failures() -> tuple[type[BaseException], ...]:
    """What the client raises when the hub refuses or cannot be reached.

    Its error for refusals also derives from the error of the HTTP library of its version, which is the only common
    base of failed connections.
    """
    refusal = importlib.import_module("huggingface_hub.errors").HfHubHTTPError
    return (OSError, ValueError, *(base for base in refusal.__bases__ if base is not Exception))
