"""Write docs/performance.md from the last lines of the benchmarks' logs.

python benchmarks/write_performance.py bench-out
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def last_line(log: Path) -> dict[str, Any]:
    """The JSON object on the last line."""
    return json.loads(log.read_text(encoding="utf-8").strip().splitlines()[-1])


def page(audit: dict[str, Any], export: dict[str, Any]) -> str:
    """docs/performance.md."""
    large = max(int(k.rsplit("_", 1)[1]) for k in audit if k.startswith("peak_mb_"))
    lowdim = audit["lowdim"]
    lines = [
        "# How fast and how frugal",
        "",
        f"Measured on {audit['machine']}. Ratios are within one run; absolute figures are this machine's. Corpora are",
        "generated: 200 frames an episode, 6 state and 6 action dimensions. This page is written by `make bench`.",
        "",
        "| what | figure |",
        "|---|---|",
        f"| {lowdim['checks']} low-dimensional checks, arrays to findings | "
        f"{lowdim['dims_12']['frames_per_cpu_s']:,} frames a CPU-second |",
        f"| whole audit of 500 episodes, new store | {audit['audit_500_wall_s']:.2f} s |",
        f"| whole audit of 5,000 episodes, new store | {audit['audit_5000_wall_s']:.2f} s |",
        f"| CPU growth from 500 to 5,000 episodes | {audit['audit_cpu_growth_s']:.2f} s |",
        f"| the same of `rrc score` (robot-report-card) | {audit['rrc_cpu_growth_s']:.2f} s |",
        f"| ratio to `rrc score` | {audit['growth_ratio_to_rrc']:.2f} |",
        f"| 10,000 episodes, nothing changed | {audit['unchanged_10000_wall_s']:.2f} s, "
        f"{audit['unchanged_10000_measurements']} measurements |",
        f"| one threshold changed | {audit['threshold_measurements']} measurements, "
        f"{audit['threshold_frames_decoded']} frames decoded |",
        f"| 100 new episodes among 10,100 | {audit['one_percent_new_episodes_measured']:.0f} episodes measured |",
        f"| peak memory, 2,000 episodes, JSON and report | {audit['peak_mb_2000']:.0f} MB |",
        f"| peak memory, {large:,} episodes | {audit[f'peak_mb_{large}']:.0f} MB, "
        f"{audit['memory_growth']:.2f} times as much |",
        f"| `gristmill --help` | {audit['help_s']:.2f} s |",
        "",
        "## Cameras: every frame measured, against bare luma decoding",
        "",
        "```json",
        json.dumps(audit["cameras"], indent=2),
        "```",
        "",
        "## Export, against LeRobot's own deletion of the same episodes",
        "",
        "```json",
        json.dumps(export, indent=2),
        "```",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Read the logs and write the page."""
    logs = Path(sys.argv[1])
    PAGE.write_text(page(last_line(logs / "audit.log"), last_line(logs / "export.log")), encoding="utf-8")


if __name__ == "__main__":
    main()
