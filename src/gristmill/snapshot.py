"""The immutable training set: which frames of which recordings, with what weight, on which side, and why.

A snapshot is a folder of plain files, `snapshots/<id>/`:

    snapshot.json     format, both hashes, recipe, lineage, digests of the other files
    episodes.parquet  every episode that was looked at: content digests, verdict, rules that decided
    spans.parquet     every kept stretch: frames, split, weight, edits, cameras, cameras to encode anew
    stats.json        statistics of exactly the kept frames, by schema group

`data_hash` covers content digests, spans, edits, weights and splits; it does not depend on where recordings lie, on
their numbers or their order. `lineage_hash` covers recipe, versions, cards, waivers and annotators. Neither covers
a time or a path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import SnapshotError
from gristmill.kept import Fill, Kept
from gristmill.staging import Staged
from gristmill.statistics import Described

FORMAT = 1

_CAMERA_DIGESTS = pa.list_(pa.struct([("camera", pa.string()), ("digest", pa.string())]))
_FILLS = pa.list_(pa.struct([("frame", pa.int64()), ("missing", pa.int64())]))

EPISODES = pa.schema(
    [
        ("corpus", pa.string()),
        ("root", pa.string()),  # where the recordings lay; no hash covers it
        ("rate_hz", pa.float64()),
        ("episode_index", pa.int64()),
        ("episode_id", pa.string()),
        ("length", pa.int64()),
        ("verdict", pa.string()),
        ("usable_for", pa.list_(pa.string())),
        ("rules", pa.list_(pa.string())),  # that decided, in order
        ("values_digest", pa.string()),  # "" for an episode that was not kept and not read
        ("task_digest", pa.string()),
        ("camera_digests", _CAMERA_DIGESTS),
    ]
)
SPANS = pa.schema(
    [
        ("corpus", pa.string()),
        ("episode_index", pa.int64()),
        ("episode_id", pa.string()),
        ("group", pa.string()),  # spans of one group share features, rate and robot: one dataset
        ("start_frame", pa.int64()),
        ("stop_frame", pa.int64()),  # exclusive
        ("split", pa.string()),
        ("weight", pa.float64()),
        ("fills", _FILLS),
        ("cameras", pa.list_(pa.string())),  # that go along
        ("reencode", pa.list_(pa.string())),  # those of them whose packets cannot be cut here
        ("rules", pa.list_(pa.string())),
    ]
)
_FILES = {"episodes.parquet": EPISODES, "spans.parquet": SPANS}


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A frozen training set. Build one with `gristmill.select.freeze.freeze`, or `read` one."""

    episodes: pa.Table  # EPISODES
    spans: pa.Table  # SPANS
    stats: Mapping[str, Described]  # group -> feature -> statistic
    recipe: Mapping[str, Any]  # canonical, plain values
    lineage: Mapping[str, Any]  # versions, cards, waivers, annotators; plain values

    def __post_init__(self) -> None:
        for name, layout in (("episodes", EPISODES), ("spans", SPANS)):
            table: pa.Table = getattr(self, name)
            if not table.schema.equals(layout):
                raise SnapshotError(f"{name}: expected columns {layout.names}, got {table.schema.names}")

    @cached_property
    def data_hash(self) -> str:
        """Hash of the frames, spans, edits, weights and splits, whatever corpus and order they came in."""
        content = {
            (e["corpus"], e["episode_index"]): (
                e["values_digest"],
                e["task_digest"],
                sorted((c["camera"], c["digest"]) for c in e["camera_digests"]),
            )
            for e in self.episodes.to_pylist()
        }
        lines = []
        for row in self.spans.to_pylist():
            values, task, cameras = content[row["corpus"], row["episode_index"]]
            used = [c for c in cameras if c[0] in row["cameras"]]
            what = ("start_frame", "stop_frame", "split", "weight", "fills", "reencode")
            lines.append(_canonical([values, task, used, *(row[k] for k in what)]))
        return _digest("\n".join(sorted(lines)))

    @cached_property
    def lineage_hash(self) -> str:
        """Hash of how the set came about."""
        return _digest(_canonical({"recipe": self.recipe, "lineage": self.lineage}))

    @property
    def id(self) -> str:
        """The folder's name: 16 hexadecimal digits that stand for both hashes."""
        return _digest(self.data_hash + self.lineage_hash)[:16]

    def kept(self) -> list[Kept]:
        """The kept stretches in the order in which they are exported: by split, then as they came."""
        spans = [
            Kept(
                corpus=r["corpus"],
                episode_index=r["episode_index"],
                episode_id=r["episode_id"],
                group=r["group"],
                start=r["start_frame"],
                stop=r["stop_frame"],
                split=r["split"],
                weight=r["weight"],
                fills=tuple(Fill(f["frame"], f["missing"]) for f in r["fills"]),
                cameras=tuple(r["cameras"]),
                reencode=tuple(r["reencode"]),
                rules=tuple(r["rules"]),
            )
            for r in self.spans.to_pylist()
        ]
        order = {"train": 0, "val": 1, "validation": 1, "test": 2}
        return sorted(spans, key=lambda s: (order.get(s.split, 3), s.split))

    @property
    def roots(self) -> dict[str, str]:
        """Corpus key -> where its recordings lay when the snapshot was frozen."""
        return dict(zip(self.episodes["corpus"].to_pylist(), self.episodes["root"].to_pylist(), strict=True))

    @property
    def rates_hz(self) -> dict[str, float]:
        """Corpus key -> declared rate."""
        return dict(zip(self.episodes["corpus"].to_pylist(), self.episodes["rate_hz"].to_pylist(), strict=True))

    def write(self, snapshots: Path) -> Path:
        """Write `snapshots/<id>/`, whole or not at all; a snapshot that is there already stays untouched."""
        out = snapshots / self.id
        if out.is_dir() and (out / "snapshot.json").is_file():
            return out
        with Staged(out) as staged:
            folder = staged.payload
            pq.write_table(self.episodes, folder / "episodes.parquet", compression="zstd")
            pq.write_table(self.spans, folder / "spans.parquet", compression="zstd")
            stats = {g: {f: {k: v.tolist() for k, v in s.items()} for f, s in d.items()} for g, d in self.stats.items()}
            (folder / "stats.json").write_text(_canonical(_finite(stats)) + "\n", encoding="utf-8")
            head = {
                "format": FORMAT,
                "data_hash": self.data_hash,
                "lineage_hash": self.lineage_hash,
                "recipe": self.recipe,
                "lineage": self.lineage,
                "files": {name: _file_digest(folder / name) for name in (*_FILES, "stats.json")},
            }
            text = json.dumps(head, indent=2, sort_keys=True, ensure_ascii=False)
            (folder / "snapshot.json").write_text(text + "\n", encoding="utf-8")
            return staged.commit()

    @classmethod
    def read(cls, folder: Path) -> Snapshot:
        """Read and verify a snapshot.

        Raises:
            SnapshotError: a file is missing, was changed, or comes from a newer version.
        """
        try:
            head = json.loads((folder / "snapshot.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{folder}: no snapshot ({error}); make it again with `gristmill curate`") from None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise SnapshotError(f"{folder}: not of format {FORMAT}, which this version reads; upgrade gristmill")
        for name, digest in head["files"].items():
            path = folder / name
            if not path.is_file() or _file_digest(path) != digest:
                raise SnapshotError(f"{path}: missing or changed since it was frozen; make the snapshot again")
        stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
        snapshot = cls(
            episodes=pq.read_table(folder / "episodes.parquet").cast(EPISODES),
            spans=pq.read_table(folder / "spans.parquet").cast(SPANS),
            stats={g: {f: {k: _numbers(v) for k, v in s.items()} for f, s in d.items()} for g, d in stats.items()},
            recipe=head["recipe"],
            lineage=head["lineage"],
        )
        if (snapshot.data_hash, snapshot.lineage_hash) != (head["data_hash"], head["lineage_hash"]):
            raise SnapshotError(f"{folder}: content and hashes disagree; make the snapshot again")
        return snapshot


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _finite(value: Any) -> Any:
    """NaN as null: JSON has no NaN."""
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and value != value else value


def _numbers(values: list) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values])
