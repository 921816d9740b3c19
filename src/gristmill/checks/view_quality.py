"""One view that is worse than usual while the others are well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.footage import blank, per_camera, quantile, traces_of
from gristmill.manifest import Manifest, finding
from gristmill.types import FloatArray


class _Trouble(NamedTuple):
    """A column that is far below (-1) or above (+1) its usual value, and what that means."""

    column: str
    side: int
    means: str
    code: str


_TROUBLES = (
    _Trouble("brightest", -1, "dim", "dim"),
    _Trouble("darkest", 1, "glaring", "glaring"),
    _Trouble("contrast", -1, "pale, as through fog or dirt", "pale"),
    _Trouble("grain", 1, "noisy or torn into blocks", "noisy"),
)


@dataclass(frozen=True, kw_only=True)
class ViewQuality:
    """Is one view dim, pale or noisy throughout an episode while the others look as usual?

    Brightness, contrast and fine grain of each view are compared with the same view in the rest of the corpus,
    by what nine tenths of the frames keep to, so that a passing trouble is left to other checks. When all views
    change together, the light or the scene did; when one changes alone, its lens, settings or encoder did.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("darkest", unit="levels", per="camera", about="mean grey level, 10th percentile of the frames"),
        Column("brightest", unit="levels", per="camera", about="mean grey level, 90th percentile", metric=True),
        Column(
            "contrast", unit="levels", per="camera", about="deviation of the grey levels, 90th percentile", metric=True
        ),
        Column("grain", unit="levels", per="camera", about="variance of the Laplacian over contrast, 10th percentile"),
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
        """Quantiles over the frames that show something."""
        if len(episode.cameras) < 2:
            return Measured(unknown="there is no second view to compare with")
        found, unknown = traces_of(episode)
        values: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        for key, traces in found.items():
            shown = ~blank(traces) & np.isfinite(traces.mean)
            if not shown.any():
                continue
            level, contrast = traces.mean[shown], traces.std[shown]
            values["darkest"][key], values["brightest"][key] = quantile(level, 0.1), quantile(level, 0.9)
            values["contrast"][key] = quantile(contrast, 0.9)
            values["grain"][key] = quantile(traces.sharp[shown] / np.maximum(contrast, 1.0), 0.1)
        return Measured({name: per_camera(episode, cells) for name, cells in values.items()}, unknown=unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Views that differ from their usual selves by a factor, alone."""
        if len(manifest.cameras) < 2 or len(manifest) < self.min_episodes:
            return
        for trouble in _TROUBLES:
            factor = self.max_grain_factor if trouble.column == "grain" else self.max_factor
            off, limit = self._off(manifest[trouble.column], factor)
            well = np.abs(off) <= np.log(self.others_within)
            fine = well | np.isnan(off)
            others_well = fine.sum(axis=1, keepdims=True) - fine == off.shape[1] - 1
            others_known = well.sum(axis=1, keepdims=True) - well > 0
            guilty = (trouble.side * off > limit) & others_well & others_known
            for row, camera in np.argwhere(guilty).tolist():
                yield self._finding(manifest, trouble, row, camera, float(off[row, camera]), float(limit[camera]))

    def _off(self, values: FloatArray, factor: float) -> tuple[FloatArray, FloatArray]:
        """(n, cameras) logarithm of value over usual value, and (cameras,) how far it may be from 0."""
        logs = np.log(np.where(values > 0, values, np.nan))
        limit = np.fmax(np.log(factor), self.min_deviations * robust.deviation(logs))
        return logs - robust.median(logs), limit

    def _finding(
        self, manifest: Manifest, trouble: _Trouble, row: int, camera: int, off: float, limit: float
    ) -> Finding:
        key = manifest.cameras[camera]
        what = {"grain": "grain", "contrast": "contrast"}.get(trouble.column, "brightness")
        return finding(
            self,
            Kind.RISK,
            row,
            f"{key} of {manifest.where(row)} is {trouble.means} throughout: its {what} is {np.exp(off):.2g} times the "
            f"usual, beyond a factor of {np.exp(limit):.2g}, while the other views are as always; a policy that leans "
            "on this view is lost",
            camera=key,
            spans_s=[(0.0, manifest.duration_s[row])],
            measured=float(np.exp(abs(off))),
            threshold=float(np.exp(limit)),
            unit="times",
            code=trouble.code,
        )
