"""The same footage used twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.errors import VideoError
from gristmill.finding import Finding, Kind
from gristmill.footage import per_camera
from gristmill.grouping import listed
from gristmill.manifest import Manifest, finding
from gristmill.types import FloatArray
from gristmill.video.packets import Packets

_SKETCH = 8
_EXACT_BITS = 52  # that a float64 cell holds exactly
_NAMED = 5  # episodes named in a finding about the corpus; more are counted


@dataclass(frozen=True, kw_only=True)
class Footage:
    """Does a video appear twice: in another episode, or in another view of the same one?

    Compressed packets are compared by their hashes, without decoding. No two recordings share packets, except
    of pictures without noise; so only packets that are large for their video and differ among themselves count.
    The eight smallest hashes of each video are kept as a sketch, whose overlap estimates how much two videos
    share: a cut or a part of a video is found as well as a copy. Copies whose numbers are equal too are told by
    `duplicates` alone.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(packets=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("distinct", "int", unit="packets", per="camera", about="large packets that differ from each other"),
        *(Column(f"hash_{i}", per="camera", about=f"hash number {i + 1} of those, by size") for i in range(_SKETCH)),
    )
    fix: ClassVar[str] = "Keep the episode whose numbers fit the video; check the recorder's or converter's file names."
    source: ClassVar[str] = (
        "Bottom-k sketch (Broder, On the resemblance and containment of documents, 1997). Among a million videos, no "
        "two share two of eight hashes of 52 bits by chance."
    )

    min_bytes: int = measuring(48)  # packets below hold little but headers
    min_distinct: int = 8  # packets; still or blank videos say nothing
    min_shared: float = 0.25  # of the sketch

    def measure(self, episode: Episode) -> Measured:
        """The number of distinct packets, and the smallest of their hashes."""
        values: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        unknown = []
        for key, camera in episode.cameras.items():
            try:
                hashes = self._hashes(camera.packets())
            except VideoError:
                unknown.append(key)
                continue
            values["distinct"][key] = len(hashes)
            for i, smallest in enumerate(hashes[:_SKETCH].tolist()):
                values[f"hash_{i}"][key] = smallest
        cells = {name: per_camera(episode, found) for name, found in values.items()}
        return Measured(cells, unknown=f"no readable video of {', '.join(unknown)}" if unknown else None)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Videos that equal or share much with an earlier one of the corpus, or one of another corpus."""
        # Views by episode: a video's number is row * cameras + camera.
        enough = manifest["distinct"] >= self.min_distinct
        if enough.any():
            yield from self._within(manifest, enough)
            yield from self._elsewhere(manifest, enough)

    def _within(self, manifest: Manifest, enough: np.ndarray) -> Iterator[Finding]:
        told = set()
        values, cameras = manifest.values_digest, manifest.cameras
        for video, original, share in self._meetings(manifest, enough):
            (row, camera), (first, other) = divmod(video, len(cameras)), divmod(original, len(cameras))
            all_equal = row != first and bool(values) and values[row] != "" and values[row] == values[first]
            if all_equal or video in told:
                continue
            told.add(video)
            key, whose = cameras[camera], cameras[other]
            digests = manifest.camera_digests
            same = share >= 1 and digests[key][row] == digests[whose][first]
            where = "the same episode" if row == first else manifest.where(first)
            what = "is the same video as" if same else "shares footage with"
            message = (
                f"{key} of {manifest.where(row)} {what} {whose} of {where}; one of them shows another moment than its "
                "numbers, and both sides of a split may show it"
            )
            if row == first:
                message = (
                    f"{key} of {manifest.where(row)} {what} its {whose}; which of the two views it is, nothing tells"
                )
            # Of two views of one episode either may be the wrong one.
            for suspect in (key, whose) if row == first else (key,):
                yield finding(
                    self,
                    Kind.DEFECT,
                    row,
                    message,
                    camera=suspect,
                    measured=share,
                    threshold=self.min_shared,
                    unit="share of the packets",
                    code="same_view" if row == first else "same_footage" if same else "shared_footage",
                )

    def _meetings(self, manifest: Manifest, enough: np.ndarray) -> Iterator[tuple[int, int, float]]:
        """(video, earlier video, share of the sketch in common), for each video its best match first."""
        sketches: FloatArray = np.stack([manifest[f"hash_{i}"] for i in range(_SKETCH)], axis=-1)
        sketches = np.where(enough[..., None], sketches, np.nan).reshape(-1, _SKETCH)
        size = np.count_nonzero(~np.isnan(sketches), axis=1)
        hashes, owner = sketches.reshape(-1), np.repeat(np.arange(len(sketches)), _SKETCH)
        known = ~np.isnan(hashes)
        order = np.lexsort((owner[known], hashes[known]))
        hashes, owner = hashes[known][order], owner[known][order]
        # Of all videos with a hash, the first is the original: many copies make as many meetings, not their square.
        begins = np.r_[True, hashes[1:] != hashes[:-1]]
        original = owner[np.maximum.accumulate(np.where(begins, np.arange(len(hashes)), 0))]
        met = original != owner
        pairs, counts = np.unique(np.stack([owner[met], original[met]], axis=1), axis=0, return_counts=True)
        share = counts / size[pairs[:, 0]]
        for i in np.lexsort((-share, pairs[:, 0])).tolist():
            if share[i] >= self.min_shared:
                yield int(pairs[i, 0]), int(pairs[i, 1]), float(share[i])

    def _elsewhere(self, manifest: Manifest, enough: np.ndarray) -> Iterator[Finding]:
        if not manifest.elsewhere:
            return
        shared: defaultdict[str, set[int]] = defaultdict(set)
        for camera, key in enumerate(manifest.cameras):
            for row, digest in enumerate(manifest.camera_digests[key]):
                where = manifest.elsewhere.get(digest) if digest and enough[row, camera] else None
                if where and not (manifest.values_digest and manifest.values_digest[row] in manifest.elsewhere):
                    shared[where.rsplit("/", 1)[0]].add(row)
        for corpus, rows in sorted(shared.items()):
            named = listed((str(int(manifest.index[r])) for r in sorted(rows)), _NAMED)
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"videos of {len(rows)} of {len(manifest)} episodes ({named}) are also in corpus {corpus}, with other "
                "numbers; training on both would count them twice",
                measured=len(rows),
                unit="episodes",
                code="footage_elsewhere",
                fix="Train on one of the two corpora, or find out which numbers belong to the videos.",
            )

    def _hashes(self, packets: Packets) -> np.ndarray:
        """Distinct hashes of the larger half of the packets, ascending, in as many bits as a cell holds."""
        if not len(packets):
            return np.zeros(0, np.uint64)
        large = packets.sizes >= max(self.min_bytes, float(np.median(packets.sizes)))
        return np.unique(packets.hashes[large] >> np.uint64(64 - _EXACT_BITS))
