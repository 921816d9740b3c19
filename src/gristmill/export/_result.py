"""What an export wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDataset:
    """One dataset: recordings of one schema."""

    group: str
    path: Path
    episodes: int
    frames: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """The outcome of an export. `notes` says what could not go along as it was, one sentence each."""

    out: Path
    datasets: tuple[ExportedDataset, ...]
    copied_frames: int = 0  # camera frames whose packets were copied
    encoded_frames: int = 0
    notes: tuple[str, ...] = ()
