"""The table of episodes in memory: columns, so that a million episodes stay small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill.finding import Issue, Kind
from gristmill.types import FloatArray, IntArray, Mask

MAX_FRAMES = 1 << 31  # of one episode: more than two years at 30 frames a second


@dataclass(frozen=True, kw_only=True)
class CameraSlices:
    """Where each of n episodes lies in one camera's files."""

    paths: Sequence[str]  # "" where the metadata gives none
    start_s: FloatArray  # (n,) in the file
    stop_s: FloatArray  # (n,) as declared, NaN where nothing is
    next_s: FloatArray  # (n,) where another episode begins behind it in the same file, NaN where none does
    alone: Mask  # (n,) no other episode uses the file
    absent: tuple[str, ...] = ()  # columns without which the episodes table does not say where the frames lie

    @property
    def declared(self) -> bool:
        """Whether the metadata says where the frames lie."""
        return not self.absent


@dataclass(kw_only=True)
class EpisodeRows:
    """n episodes in the order of the metadata."""

    index: IntArray  # (n,) native index
    length: IntArray  # (n,) declared frames, 0 where the declaration makes no sense
    tasks: list[tuple[str, ...]]
    data: Sequence[str]  # path of each episode's table, "" where the metadata gives none
    first_row: IntArray  # (n,) dataset_from_index, -1 where none is declared
    stop_row: IntArray  # (n,) dataset_to_index
    cameras: Mapping[str, CameraSlices]  # of every declared video, depth included
    issues: list[Issue] = field(default_factory=list)  # of the corpus
    row_issues: dict[int, list[Issue]] = field(default_factory=dict)  # row -> issues that need no data to be seen
    absent: frozenset[str] = frozenset()  # columns that the episodes table of v3.0 should have and has not

    def __len__(self) -> int:
        return len(self.index)

    def accuse(self, row: int, code: str, message: str, fix: str, check: str = "schema", **more: object) -> None:
        """Note a defect of one episode."""
        episode = int(self.index[row])
        found = Issue(
            check=check,
            code=code,
            kind=Kind.DEFECT,
            message=f"episode {episode}: {message}",
            fix=fix,
            episode=episode,
            **more,  # type: ignore[arg-type]
        )
        self.row_issues.setdefault(row, []).append(found)


def whole_files(paths: Sequence[str]) -> CameraSlices:
    """A camera with a file an episode (v2.x)."""
    n = len(paths)
    nothing = np.full(n, np.nan)
    return CameraSlices(paths=paths, start_s=np.zeros(n), stop_s=nothing, next_s=nothing, alone=np.ones(n, bool))


def shared_files(paths: Sequence[str], ids: IntArray, start_s: FloatArray, stop_s: FloatArray) -> CameraSlices:
    """A camera with many episodes a file (v3.0); `ids` numbers the files, -1 where none is given."""
    n = len(ids)
    next_s = np.full(n, np.nan)
    order = np.lexsort((start_s, ids))
    here, behind = order[:-1], order[1:]
    follows = (ids[here] == ids[behind]) & (ids[here] >= 0) & (start_s[behind] > start_s[here])
    next_s[here[follows]] = start_s[behind[follows]]
    count = np.bincount(ids[ids >= 0], minlength=1)
    alone = np.zeros(n, bool)
    alone[ids >= 0] = count[ids[ids >= 0]] == 1
    return CameraSlices(paths=paths, start_s=start_s, stop_s=stop_s, next_s=next_s, alone=alone)


def check_order(rows: EpisodeRows, declared: object, where: str) -> None:
    """Compare numbering and number of the episodes with what LeRobot relies on."""
    n = len(rows)
    if type(declared) is int and declared != n:
        rows.issues.append(
            _issue(
                "files",
                "total_episodes",
                f"info.json counts {declared} episodes, {where} holds {n}",
                "Correct total_episodes, or restore the episodes that are missing.",
                measured=n,
                threshold=declared,
            )
        )
    if np.array_equal(rows.index, np.arange(n)):
        return
    missing = np.setdiff1d(np.arange(int(rows.index.max()) + 1 if rows.index.max() < 4 * n else n), rows.index)
    holes = f"numbers such as {int(missing[0])} are missing" if len(missing) else "they are out of order"
    rows.issues.append(
        _issue(
            "schema",
            "episode_numbers",
            f"the episodes in {where} are not numbered 0 to {n - 1} in order: {holes}; LeRobot takes the row number "
            "for the episode's and reads another episode's frames",
            "Export the dataset anew: episodes are renumbered.",
        )
    )


def distinct(numbers: Sequence[int], describe: Callable[[int], str]) -> tuple[list[int], list[Issue]]:
    """Positions of the episodes that are numbered for the first time, and an issue for each later one."""
    seen: set[int] = set()
    kept: list[int] = []
    issues: list[Issue] = []
    for position, number in enumerate(numbers):
        if number in seen:
            message = f"{describe(position)} describes episode {number} a second time; the first one counts"
            fix = "Remove the row that is wrong."
            issues.append(_issue("schema", "episode_twice", message, fix, episode=number))
        else:
            seen.add(number)
            kept.append(position)
    return kept, issues


def intern(tasks: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The same tuples, equal ones being one object."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [known.setdefault(t, t) for t in tasks]


def _issue(check: str, code: str, message: str, fix: str, **more: object) -> Issue:
    return Issue(check=check, code=code, kind=Kind.DEFECT, message=message, fix=fix, **more)  # type: ignore[arg-type]
