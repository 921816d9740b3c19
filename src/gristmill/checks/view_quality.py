"""One view that is worse than usual while the others are well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.footage import blank, per_camera, traces_of
from gristmill.manifest import Manifest, finding
from gristmill.types import FloatArray

# What is compared, and what it means when it is far below or above the usual value.
_MEANINGS = {
    "level": ("dim", "glaring"),
    "contrast": ("flat, as through fog or dirt", None),
    "grain": (None, "noisy or torn into blocks"),
}


@dataclass(frozen=True, kw_only=True)
class ViewQuality:
    """Is one view dim, pale or noisy throughout an episode while the others look as usual?

    Brightness, contrast and fine grain of each view, in the episode's median frame, are compared with the same
    view in the rest of the corpus. When all views change together, the light or the scene did; when one changes
    alone, its lens, its settings or its encoder did.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("level", unit="levels", per="camera", about="mean grey level of the median frame", metric=True),
        Column("contrast", unit="levels", per="camera", about="standard deviation of the grey levels", metric=True),
        Column("grain", unit="levels", per="camera", about="variance of the Laplacian over the contrast", metric=True),
    )
    fix: ClassVar[str] = "Clean the lens and fix the camera's settings; drop the episode or train without this view."
    source: ClassVar[str] = (
        "Robust z-scores of logarithms (Iglewicz and Hoaglin 1993). A factor of two is one stop of exposure, beyond "
        "what automatic exposure leaves over between episodes."
    )

    max_factor: float = 2.0  # from the usual level, up or down; and of contrast, down
    max_grain_factor: float = 4.0
    min_deviations: float = 6.0  # robust standard deviations of the logarithm
    others_within: float = 1.4  # factor within which the other views have to stay
    min_episodes: int = 5

    def measure(self, episode: Episode) -> Measured:
        """Medians over the frames that show something."""
        if len(episode.cameras) < 2:
            return Measured(unknown="there is no second view to compare with")
        found, unknown = traces_of(episode)
        values: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        for key, traces in found.items():
            shown = ~blank(traces) & np.isfinite(traces.mean)
            if shown.any():
                level, contrast, sharp = (float(np.median(x[shown])) for x in (traces.mean, traces.std, traces.sharp))
                values["level"][key], values["contrast"][key] = level, contrast
                values["grain"][key] = sharp / max(contrast, 1.0)
        return Measured({name: per_camera(episode, cells) for name, cells in values.items()}, unknown=unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Views that differ from their usual selves by a factor, alone."""
        if len(manifest.cameras) < 2 or len(manifest) < self.min_episodes:
            return
        for name, (below, above) in _MEANINGS.items():
            factor = self.max_grain_factor if name == "grain" else self.max_factor
            off, limit = self._off(manifest[name], factor)
            well = np.abs(off) <= np.log(self.others_within)
            unknown = np.isnan(off)
            others_well = (well | unknown).sum(axis=1, keepdims=True) - (well | unknown) == off.shape[1] - 1
            others_known = well.sum(axis=1, keepdims=True) - well > 0
            for meaning, beyond in ((below, off < -limit), (above, off > limit)):
                if meaning is None:
                    continue
                for row, camera in np.argwhere(beyond & others_well & others_known).tolist():
                    yield self._finding(manifest, name, meaning, row, camera, float(off[row, camera]), limit[camera])

    def _off(self, values: FloatArray, factor: float) -> tuple[FloatArray, FloatArray]:
        """(n, cameras) logarithm of value over usual value, and (cameras,) how far it may be from 0."""
        logs = np.log(np.where(values > 0, values, np.nan))
        limit = np.fmax(np.log(factor), self.min_deviations * robust.deviation(logs))
        return logs - robust.median(logs), limit

    def _finding(
        self, manifest: Manifest, name: str, meaning: str, row: int, camera: int, off: float, limit: float
    ) -> Finding:
        key = manifest.cameras[camera]
        return finding(
            self,
            Kind.RISK,
            row,
            f"{key} of {manifest.where(row)} is {meaning}: its {name} is {np.exp(off):.2g} times the usual, beyond a "
            f"factor of {np.exp(limit):.2g}, while the other views are as always; a policy that leans on it is lost",
            camera=key,
            measured=float(np.exp(abs(off))),
            threshold=float(np.exp(limit)),
            unit="times",
            code=f"{name}_{'low' if off < 0 else 'high'}",
        )
