"""Video pointers of v3.0 that contradict each other: seen in the metadata alone, blamed on the episode that is wrong.

Many episodes share a file, each in a window that begins at `from_timestamp`. Ends are running sums of probed
durations that drift from frames over rate, and readers never use them, so windows are measured by frame counts
with a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.layout import PackedPaths
from gristmill.formats.lerobot.rows import CameraSlices, EpisodeRows
from gristmill.types import FloatArray, IntArray, Mask

_TOLERANCE_FRAMES = 2.5  # real files are off by one or two
_MAX_S = 1e12  # a window beyond is no time
_FIX = "Correct the episode's from_timestamp and file_index, or export the dataset anew."


def check_pointers(rows: EpisodeRows, rate_hz: float) -> None:
    """Note what is wrong with the pointers of the episodes in `rows`."""
    for key, slices in rows.cameras.items():
        if isinstance(slices.paths, PackedPaths):
            if slices.declared:
                _check_camera(rows, key, slices, np.asarray(slices.paths.ids), rate_hz)
            else:
                rows.issues.append(_no_columns(key, slices.absent))
    if (rows.first_row >= 0).any() and not (rows.first_row == _expected_starts(rows)).any():
        first = int(rows.first_row[0])
        rows.issues.append(
            Issue(
                check="pointers",
                code="wrong_pointer",
                kind=Kind.DEFECT,
                message=f"dataset_from_index fits the lengths of no episode; the first one begins at {first}, not at 0",
                fix="Export the dataset anew: rows are counted again.",
                subject="meta/episodes",
            )
        )


def _expected_starts(rows: EpisodeRows) -> IntArray:
    return np.cumsum(rows.length) - rows.length


def _check_camera(rows: EpisodeRows, key: str, slices: CameraSlices, ids: IntArray, rate_hz: float) -> None:
    senseless = (ids < 0) | ~np.isfinite(slices.start_s) | (slices.start_s < 0) | (slices.stop_s <= slices.start_s)
    # Sums of numbers that are no times overflow, or are none; those windows are told of, and not compared.
    start_s = np.where(np.abs(slices.start_s) < _MAX_S, slices.start_s, np.nan)
    stop_s = np.where(np.abs(slices.stop_s) < _MAX_S, slices.stop_s, np.nan)
    senseless |= np.isnan(start_s)
    for row in np.flatnonzero(senseless).tolist():
        message = (
            f"the metadata gives no window in a file of camera {key} "
            f"({_shown('from_timestamp', slices.start_s[row])}, {_shown('to_timestamp', slices.stop_s[row])})"
        )
        rows.accuse(row, "wrong_pointer", message, _FIX, check="pointers", camera=key)
    tolerance_s = _TOLERANCE_FRAMES / rate_hz
    # A length that lies makes a window look longer; the declared end contradicts it then.
    need_s = np.fmin(rows.length / rate_hz, stop_s - start_s)
    clash, partner = _clashes(ids, start_s, start_s + need_s, ~senseless, tolerance_s)
    joined = _joined(ids, start_s, stop_s, tolerance_s)
    blamed = _blame(clash, partner, _displaced(start_s, stop_s, ids, rows.length / rate_hz, tolerance_s), ~joined)
    # A window of its own, wherever it lies, is no fault: tools that replace one episode's video leave a gap behind.
    for row in np.flatnonzero(blamed & ~senseless).tolist():
        path, other = slices.paths[row], int(rows.index[partner[row]])
        message = (
            f"camera {key} points to the window from {start_s[row]:.2f} s of {path}, that overlaps the one of "
            f"episode {other}; frames of another episode would be shown"
        )
        rows.accuse(row, "wrong_pointer", message, _FIX, check="pointers", camera=key, subject=path)


def _clashes(
    ids: IntArray, start_s: FloatArray, stop_s: FloatArray, use: Mask, tolerance_s: float
) -> tuple[Mask, IntArray]:
    """Which windows overlap another one of their file, and which one that is (the row itself where none does)."""
    n = len(ids)
    clash, partner = np.zeros(n, bool), np.arange(n)
    order = np.flatnonzero(use)
    order = order[np.lexsort((start_s[order], ids[order]))]
    here, behind = order[:-1], order[1:]
    over = (ids[here] == ids[behind]) & (stop_s[here] > start_s[behind] + tolerance_s)
    clash[here[over]] = clash[behind[over]] = True
    partner[here[over]], partner[behind[over]] = behind[over], here[over]
    return clash, partner


def _joined(ids: IntArray, start_s: FloatArray, stop_s: FloatArray, tolerance_s: float) -> Mask:
    """Which windows follow the one of the episode before, or are followed by that of the episode behind."""
    follows = (ids[1:] == ids[:-1]) & (np.abs(start_s[1:] - stop_s[:-1]) <= tolerance_s)
    joined = np.zeros(len(ids), bool)
    joined[1:] |= follows
    joined[:-1] |= follows
    return joined


def _displaced(
    start_s: FloatArray, stop_s: FloatArray, ids: IntArray, length_s: FloatArray, tolerance_s: float
) -> Mask:
    """Which episodes stand elsewhere although their neighbours leave a gap of their length."""
    displaced = np.zeros(len(ids), bool)
    gap_s = start_s[2:] - stop_s[:-2]
    displaced[1:-1] = (ids[2:] == ids[:-2]) & (np.abs(gap_s - length_s[1:-1]) <= tolerance_s)
    displaced[1:-1] &= np.abs(start_s[1:-1] - stop_s[:-2]) > tolerance_s
    return displaced


def _blame(clash: Mask, partner: IntArray, *signs: Mask) -> Mask:
    """Which of the episodes that overlap are wrong: those with the first sign that only some of them have."""
    blamed = np.zeros(len(clash), bool)
    settled = ~clash
    for sign in signs:
        apart = ~settled & (sign | sign[partner])
        blamed |= apart & sign
        settled |= apart
    # Where nothing tells them apart, all of them are in doubt.
    return blamed | ~settled


def _shown(name: str, value: float) -> str:
    return f"{name} {value:g} s" if value == value else f"no {name}"


def _no_columns(key: str, absent: Sequence[str]) -> Issue:
    columns = f"columns videos/{key}/..." if len(absent) > 2 else " and no ".join(absent)
    return Issue(
        check="pointers",
        code="camera_without_pointers",
        kind=Kind.DEFECT,
        message=f"camera {key} is declared, but the episodes table has no {columns}; it cannot be read",
        fix="Restore the columns or remove the camera from info.json.",
        camera=key,
        subject="meta/episodes",
    )
