"""A last look at a dataset before it takes its place: its files hold what its metadata says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import SnapshotError
from gristmill.formats.lerobot.write_rows import Place


def check_written(folder: Path, cameras: list[str], episodes: int, frames: int) -> None:
    """Footers and counts of every file; nothing is decoded.

    Args:
        folder: the dataset.
        cameras: its video keys.
        episodes: episodes that were added.
        frames: their frames.

    Raises:
        SnapshotError: a file is missing or holds something else; the dataset must not be used.
    """
    rows = sum(_footer(path).num_rows for path in folder.glob("data/*/*.parquet"))
    _expect(folder, "rows in data", rows, frames)
    columns = [f"videos/{camera}/{name}" for camera in cameras for name in ("chunk_index", "file_index")]
    tables = [
        pq.read_table(path, columns=["length", *columns]) for path in sorted(folder.glob("meta/episodes/*/*.parquet"))
    ]
    table = pa.concat_tables(tables)
    _expect(folder, "rows in meta/episodes", len(table), episodes)
    lengths = table["length"].to_pylist()
    for camera in cameras:
        held: dict[Place, int] = {}
        chunks, files = (table[f"videos/{camera}/{name}"].to_pylist() for name in ("chunk_index", "file_index"))
        for chunk, file, length in zip(chunks, files, lengths, strict=True):
            held[Place(chunk, file)] = held.get(Place(chunk, file), 0) + length
        for place, wanted in held.items():
            path = folder / "videos" / camera / place.path(".mp4")
            _expect(folder, f"frames in {path.relative_to(folder)}", _frames(path), wanted)


def _footer(path: Path) -> pq.FileMetaData:
    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise SnapshotError(f"{path.name}: was not written whole ({error}); run again") from None


def _frames(path: Path) -> int:
    """Frames that the file's own index lists."""
    import av
    from av.error import FFmpegError

    try:
        with av.open(str(path), mode="r") as container:
            return container.streams.video[0].frames
    except (FFmpegError, OSError, IndexError) as error:
        raise SnapshotError(f"{path.name}: was not written whole ({error}); run again") from None


def _expect(folder: Path, what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SnapshotError(f"{folder.name}: {found} {what} where {wanted} were written; run again")
