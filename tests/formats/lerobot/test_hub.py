"""Datasets of the hub, by a client that is made here: its cache of links, what is fetched when, and refusals."""

from __future__ import annotations

import fnmatch
import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import made_datasets as made
import pytest

from gristmill.errors import CorpusError
from gristmill.formats.lerobot import hub
from gristmill.sources import open_locator, open_path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/robot"


class TransportError(Exception):
    """As HTTP libraries have them: no OSError."""


class Remote:
    """A hub with one dataset, and the cache on this side."""

    def __init__(self, origin: Path, cache: Path) -> None:
        self.origin = origin
        self.folder = cache / "datasets--someone--robot"
        self.fetched: list[str] = []
        self.asked = 0
        self.reachable = True

    def _files(self) -> list[str]:
        return sorted(str(p.relative_to(self.origin)) for p in self.origin.rglob("*") if p.is_file())

    def _get(self, name: str) -> Path:
        data = (self.origin / name).read_bytes()
        blob = self.folder / "blobs" / hashlib.sha1(data).hexdigest()
        link = self.folder / "snapshots" / COMMIT / name
        if not link.exists():
            self.fetched.append(name)
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(data)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
        return link

    def repo_info(self, repo_id: str, *, repo_type: str, revision: str | None, files_metadata: bool) -> SimpleNamespace:
        self.asked += 1
        self._check(repo_id, repo_type)
        assert files_metadata
        siblings = [
            SimpleNamespace(
                rfilename=name,
                size=(self.origin / name).stat().st_size,
                blob_id=hashlib.sha1((self.origin / name).read_bytes()).hexdigest(),
            )
            for name in self._files()
        ]
        return SimpleNamespace(sha=COMMIT, siblings=siblings)

    def snapshot_download(self, repo_id: str, *, repo_type: str, revision: str, allow_patterns: list[str]) -> str:
        self._check(repo_id, repo_type)
        assert revision == COMMIT
        for name in self._files():
            if any(fnmatch.fnmatch(name, pattern) for pattern in allow_patterns):
                self._get(name)
        return str(self.folder / "snapshots" / COMMIT)

    def hf_hub_download(self, repo_id: str, filename: str, *, repo_type: str, revision: str) -> str:
        self._check(repo_id, repo_type)
        assert revision == COMMIT
        return str(self._get(filename))

    def _check(self, repo_id: str, repo_type: str) -> None:
        assert repo_type == "dataset"
        if not self.reachable:
            raise TransportError("no route to the hub\nand more")
        if repo_id != NAME:
            raise ValueError(f"no dataset {repo_id}")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    origin = made.make(tmp_path / "origin", cameras=[made.TOP, "observation.images.wrist"])
    for path in origin.rglob("*wrist/*/*.mp4"):
        path.unlink()
    found = Remote(origin, tmp_path / "cache")
    client, errors = ModuleType("huggingface_hub"), ModuleType("huggingface_hub.errors")
    members: dict[str, Callable | type] = {
        "HfApi": lambda: found,
        "snapshot_download": found.snapshot_download,
        "hf_hub_download": found.hf_hub_download,
    }
    vars(client).update(members)
    errors.HfHubHTTPError = type("HfHubHTTPError", (TransportError, OSError), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    monkeypatch.setattr(hub, "user_cache_path", lambda _: tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    return found


def test_metadata_and_tables_are_fetched_at_once_and_videos_when_needed(remote: Remote) -> None:
    corpus = open_path(NAME)
    assert corpus.facts.key == NAME
    assert corpus.facts.root == f"{NAME}@{COMMIT}"
    assert all(name.startswith(("meta/", "data/")) for name in remote.fetched)
    assert [e.frames for e in corpus.episodes(range(4))] == [5, 7, 6, 8]
    # Videos that lie on the hub are not missing, those that do not are.
    assert made.codes(corpus.issues) == [("files", "camera_absent", None)]
    assert all(corpus.table.camera_stamps[made.TOP])
    assert list(corpus.facts.cameras) == [made.TOP]
    episodes = list(corpus.episodes(range(4)))
    assert all(e.issues == () for e in episodes)
    assert not any(name.endswith(".mp4") for name in remote.fetched)
    path = episodes[3].cameras[made.TOP].path
    assert path is not None
    assert path.read_bytes() == b"no video"
    assert [n for n in remote.fetched if n.endswith(".mp4")] == [f"videos/{made.TOP}/chunk-000/file-001.mp4"]


def test_stamps_do_not_change_when_a_video_arrives(remote: Remote) -> None:
    before = open_path(NAME).table
    remote.hf_hub_download(NAME, f"videos/{made.TOP}/chunk-000/file-000.mp4", repo_type="dataset", revision=COMMIT)
    after = open_path(NAME).table
    assert before.camera_stamps == after.camera_stamps
    assert before.values_stamp == after.values_stamp


def test_workers_reopen_it_without_asking_the_hub(remote: Remote) -> None:
    corpus = open_path(f"{NAME}@main")
    data = pickle.dumps(corpus.locator)  # type: ignore[attr-defined]
    asked = remote.asked
    remote.reachable = False
    again = open_locator(pickle.loads(data))
    assert [e.frames for e in again.episodes([2])] == [6]
    assert remote.asked == asked
    assert open_path(corpus.facts.root.partition("@")[0] and remote.folder / "snapshots" / COMMIT).facts.cameras == {}
    # A video that cannot be fetched is missing.
    assert next(iter(again.episodes([0]))).cameras[made.TOP].path is None


def test_a_list_of_files_that_was_lost_is_asked_for_again(remote: Remote, tmp_path: Path) -> None:
    locator = open_path(NAME).locator  # type: ignore[attr-defined]
    for path in (tmp_path / "own").rglob("*.json"):
        path.write_text("{")
    assert [e.frames for e in open_locator(locator).episodes([1])] == [7]
    assert remote.asked == 2


def test_refusals_are_one_line(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    for repository, says in (
        ("someone/else", "no dataset someone/else"),
        ("Some where/x", "there is no file or folder"),
    ):
        with pytest.raises(CorpusError, match=says) as caught:
            open_path(repository)
        assert "\n" not in str(caught.value)
    remote.reachable = False
    with pytest.raises(CorpusError, match=r"cannot be fetched \(no route to the hub\)"):
        open_path(NAME)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(CorpusError, match=r"pip install \"gristmill\[hub\]\""):
        open_path(NAME)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("owner/name", True),
        ("owner/name@main", True),
        ("o-w.n_er/n.a-m_e@refs/convert", True),
        ("owner", False),
        ("a/b/c", False),
        ("../etc", False),
        ("owner/../x", False),
        ("/abs/path", False),
        ("owner/name@", False),
        ("owner/name@ main", False),
    ],
)
def test_what_can_be_an_id(text: str, holds: bool) -> None:
    assert hub.is_repository(text) is holds
