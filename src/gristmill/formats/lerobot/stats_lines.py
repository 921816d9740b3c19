"""Statistics of single episodes in v2.1: `meta/episodes_stats.jsonl`, found by the place of their lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gristmill.formats.lerobot.documents import MAX_LINE_BYTES, parse
from gristmill.formats.lerobot.stats import Stats, arrays
from gristmill.types import IntArray

NAME = "meta/episodes_stats.jsonl"
_NUMBER = re.compile(rb'^\s*\{\s*"episode_index"\s*:\s*(\d{1,12})\s*[,}]')


class StatsLines:
    """Implements `EpisodeStats` on a file that is scanned once and never held.

    Raises:
        OSError: the file cannot be read.
    """

    def __init__(self, path: Path, index: IntArray) -> None:
        self._path = path
        self._offset = np.full(len(index), -1, np.int64)
        self._digest = [""] * len(index)
        rows = {int(number): row for row, number in enumerate(index)}
        with path.open("rb") as file:
            offset = 0
            while line := file.readline(MAX_LINE_BYTES):
                row = rows.get(_number(line), -1)
                if row >= 0 and self._offset[row] < 0:
                    self._offset[row] = offset
                    self._digest[row] = hashlib.blake2b(line.strip(), digest_size=8).hexdigest()
                offset += len(line)
        self._last: tuple[int, Stats, str] = (-1, {}, "")

    def of(self, row: int) -> Stats:
        """Feature -> statistic -> values; empty where none can be read."""
        return self._read(row)[1]

    def problem(self, row: int) -> str:
        """Why there are none for this episode, or ""."""
        return self._read(row)[2]

    def digests(self) -> Sequence[str]:
        """For each row, a digest of its line."""
        return self._digest

    def _read(self, row: int) -> tuple[int, Stats, str]:
        if self._last[0] != row:
            self._last = (row, *self._parsed(row))
        return self._last

    def _parsed(self, row: int) -> tuple[Stats, str]:
        offset = int(self._offset[row])
        if offset < 0:
            return {}, f"{NAME} has no line for it"
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                value, problem, _ = parse(file.readline(MAX_LINE_BYTES))
        except OSError as error:
            return {}, f"{NAME} cannot be read ({error.strerror})"
        if problem or not isinstance(value, dict) or not isinstance(value.get("stats"), dict):
            return {}, f"its line in {NAME} cannot be read ({problem or 'it has no stats'})"
        found, broken = arrays(value["stats"])
        return found, f"{NAME} gives no numbers for {', '.join(broken[:3])}" if broken else ""


def _number(line: bytes) -> int:
    """The line's episode, or -1. Parsing every line in full would take most of the time that opening takes."""
    if match := _NUMBER.match(line):
        return int(match[1])
    value = parse(line)[0]
    number = value.get("episode_index") if isinstance(value, dict) else None
    return number if type(number) is int else -1
